/* SPDX-License-Identifier: Apache-2.0 */
#include "driver/program.h"

#include <rdmad/child.h>
#include <rdmad/error.h>
#include <rdmad/module.h>
#include <rdmad/sysroot.h>
#include <string.h>

struct ErdmaProgram {
	RdmadChild *child;
	char *name; /* argv[0], as it is configured */
	guint64 timeout_ms;
	ErdmaProgramDone done;
	gpointer data;
};

static void program_free(ErdmaProgram *program)
{
	g_free(program->name);
	g_free(program);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ErdmaProgram, program_free)

/* Lines stay; all else that a terminal might take for a command goes. */
static void tail_append(GString *tail, const RdmadChildOutput *output)
{
	g_autofree char *text = g_utf8_make_valid(output->bytes, (gssize)output->size);

	for (char *at = text; *at; at++)
		if ((guchar)*at < ' ' && *at != '\n')
			*at = ' ';
	g_string_append(tail, g_strchomp(text));
	if (text[0] != '\0')
		g_string_append_c(tail, '\n');
}

static char *tail_of(const RdmadChildResult *result)
{
	GString *tail = g_string_new(NULL);

	tail_append(tail, &result->output);
	tail_append(tail, &result->errors);
	return g_strchomp(g_string_free(tail, FALSE));
}

/* Where a program says why it has failed. */
static const char *last_line(const char *tail)
{
	const char *end = strrchr(tail, '\n');

	return end ? end + 1 : tail;
}

static void result_check(const ErdmaProgram *program, const RdmadChildResult *result,
			 const char *tail, GError **error)
{
	const char *line = last_line(tail);
	const char *colon = line[0] ? ": " : "";

	if (result->timed_out)
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_TIMEOUT,
			    "%s did not end within %" G_GUINT64_FORMAT " s and was killed%s%s",
			    program->name, program->timeout_ms / 1000, colon, line);
	else if (result->signal)
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_FAILED, "%s was ended by signal %d%s%s",
			    program->name, result->signal, colon, line);
	else if (result->exit_status != 0)
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_FAILED,
			    "%s failed with exit status %d%s%s", program->name, result->exit_status,
			    colon, line);
}

static void program_done(const RdmadChildResult *result, const GError *error, gpointer data)
{
	g_autoptr(ErdmaProgram) program = data;
	g_autofree char *tail = result ? tail_of(result) : g_strdup("");
	g_autoptr(GError) problem = error ? g_error_copy(error) : NULL;

	if (result)
		result_check(program, result, tail, &problem);
	program->done(tail, problem, program->data);
}

static char **environment_of(const ErdmaProgramSpec *spec)
{
	GPtrArray *all = g_ptr_array_new();

	g_ptr_array_add(all, g_strdup("PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:"
				      "/sbin:/bin"));
	g_ptr_array_add(all, g_strdup("HOME=/root"));
	g_ptr_array_add(all, g_strdup("LC_ALL=C"));
	for (guint i = 0; spec->environment && spec->environment[i]; i++)
		g_ptr_array_add(all, g_strdup(spec->environment[i]));
	g_ptr_array_add(all, NULL);
	return (char **)g_ptr_array_free(all, FALSE);
}

ErdmaProgram *erdma_program_start(RdmadModule *self, const ErdmaProgramSpec *spec,
				  ErdmaProgramDone done, gpointer data, GError **error)
{
	const RdmadSysroot *root = rdmad_module_sysroot(self);
	g_autoptr(ErdmaProgram) program = g_new0(ErdmaProgram, 1);
	g_autofree char *path = rdmad_sysroot_program(root, spec->argv[0], error);
	g_autofree const char **argv = NULL;
	g_auto(GStrv) environment = environment_of(spec);
	const guint n = g_strv_length((char **)spec->argv);
	const gboolean live = rdmad_sysroot_is_live(root);

	if (!path)
		return NULL;
	argv = g_new0(const char *, n + 1);
	memcpy(argv, spec->argv, n * sizeof(*argv));
	argv[0] = path;
	program->name = g_strdup(spec->argv[0]);
	program->timeout_ms = spec->timeout_ms;
	program->done = done;
	program->data = data;
	program->child = rdmad_child_start(
		rdmad_module_loop(self), self,
		&(RdmadChildSpec){
			.argv = argv,
			.envp = (const char *const *)environment,
			.input = spec->input ? g_bytes_get_data(spec->input, NULL) : NULL,
			.input_size = spec->input ? g_bytes_get_size(spec->input) : 0,
			.on_host = live,
			.cgroup = live ? spec->cgroup : NULL,
			.deadline_ms = (guint)MIN(spec->timeout_ms, G_MAXUINT),
			.output_max = ERDMA_PROGRAM_TAIL / 2,
		},
		program_done, program, error);
	return program->child ? g_steal_pointer(&program) : NULL;
}

void erdma_program_cancel(ErdmaProgram *program)
{
	if (!program)
		return;
	rdmad_child_cancel(program->child);
	program_free(program);
}
