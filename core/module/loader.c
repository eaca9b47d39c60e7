/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The only file that includes GModule.
 *
 * The linker is given the descriptor that was judged ("/proc/self/fd/N"), so the file cannot change
 * between the check and the load.  This is the one place that opens a file of /proc outside the
 * sysroot: it belongs to this process, not to the machine that the sysroot shows.
 */
#include "module/loader.h"

#include <errno.h>
#include <gmodule.h>
#include <link.h>
#include <rdmad/error.h>
#include <rdmad/fd.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/nearest.h"
#include "base/trusted-file.h"
#include "build-info.h"

#define NOT_SHARED   "not a shared object; install the module again"
#define NATIVE_CLASS (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32)

typedef struct {
	const char *name;
	char *path; /* for messages */
	int fd;
	guint64 size;
	char *link; /* "/proc/self/fd/N" */
} ModuleFile;

static gboolean module_error(const ModuleFile *file, RdmadError code, GError **error,
			     const char *format, ...) G_GNUC_PRINTF(4, 5);

static gboolean module_error(const ModuleFile *file, RdmadError code, GError **error,
			     const char *format, ...)
{
	g_autofree char *text = NULL;
	va_list args;

	va_start(args, format);
	text = g_strdup_vprintf(format, args);
	va_end(args);
	g_set_error(error, RDMAD_ERROR, code, "%s: %s", file->path, text);
	return FALSE;
}

/* Reads `bytes` of the file at `offset`.  Returns FALSE if the file is too short, or cannot be read
 * now. */
static gboolean module_read(const ModuleFile *file, gpointer bytes, gsize size, guint64 offset,
			    GError **error)
{
	ssize_t n;

	do
		n = pread(file->fd, bytes, size, (off_t)offset);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return rdmad_error_errno(error, errno, "%s", file->path);
	return (gsize)n == size || module_error(file, RDMAD_ERROR_INVALID, error,
						"ends in the middle; install the module again");
}

static gboolean module_has(const ModuleFile *file, guint64 offset, guint64 size, GError **error)
{
	if (offset <= file->size && size <= file->size - offset)
		return TRUE;
	return module_error(file, RDMAD_ERROR_INVALID, error,
			    "only %" G_GUINT64_FORMAT
			    " bytes of it are there; install the module again",
			    file->size);
}

/* The linker maps what the program headers describe, and touching a page behind the end of the file
 * raises SIGBUS.  The section headers are not mapped, but are usually last, so they show whether
 * the file is complete. */
static gboolean module_is_complete(const ModuleFile *file, const ElfW(Ehdr) * head, GError **error)
{
	if (!module_has(file, head->e_shoff, (guint64)head->e_shnum * head->e_shentsize, error))
		return FALSE;
	for (guint i = 0; i < head->e_phnum; i++) {
		ElfW(Phdr) part;

		if (!module_read(file, &part, sizeof(part), head->e_phoff + i * sizeof(part),
				 error) ||
		    !module_has(file, part.p_offset, part.p_filesz, error))
			return FALSE;
	}
	return TRUE;
}

/* Leaves objects for other machines to the linker, which reads only the first header of them. */
static gboolean module_is_elf(const ModuleFile *file, GError **error)
{
	ElfW(Ehdr) head;

	if (file->size < sizeof(head))
		return module_error(file, RDMAD_ERROR_INVALID, error, NOT_SHARED);
	if (!module_read(file, &head, sizeof(head), 0, error))
		return FALSE;
	if (memcmp(head.e_ident, ELFMAG, SELFMAG) != 0)
		return module_error(file, RDMAD_ERROR_INVALID, error, NOT_SHARED);
	if (head.e_ident[EI_CLASS] != NATIVE_CLASS || head.e_phentsize != sizeof(ElfW(Phdr)))
		return TRUE;
	return module_is_complete(file, &head, error);
}

/* Returns the linker's message without the name of the descriptor. */
static const char *linker_message(const ModuleFile *file)
{
	const char *text = g_module_error();
	const gsize prefix = strlen(file->link);

	if (g_str_has_prefix(text, file->link) && g_str_has_prefix(text + prefix, ": "))
		return text + prefix + 2;
	return text;
}

static gboolean module_is_whole(const ModuleFile *file, const RdmadModuleClass *klass,
				GError **error)
{
	if (klass->create && klass->start && klass->stop && klass->destroy)
		return TRUE;
	return module_error(file, RDMAD_ERROR_ABI, error,
			    "lacks one of create, start, stop and destroy");
}

/* Called before any code of the module runs; `abi` and `struct_size` have the same place in every
 * ABI. */
static gboolean module_fits(const ModuleFile *file, const RdmadModuleClass *klass, GError **error)
{
	if (klass->abi != RDMAD_MODULE_ABI)
		return module_error(file, RDMAD_ERROR_ABI, error,
				    "made for module ABI %u, this rdmad " RDMAD_VERSION
				    " has %u; install the module that came with this rdmad",
				    klass->abi, RDMAD_MODULE_ABI);
	if (klass->struct_size != sizeof(RdmadModuleClass))
		return module_error(file, RDMAD_ERROR_ABI, error,
				    "its class has %u bytes instead of %zu; build it again with "
				    "the headers of rdmad " RDMAD_VERSION,
				    klass->struct_size, sizeof(RdmadModuleClass));
	if (g_strcmp0(klass->name, file->name))
		return module_error(file, RDMAD_ERROR_ABI, error,
				    "its name is \"%s\"; name the file after it",
				    klass->name ?: "");
	return module_is_whole(file, klass, error);
}

typedef gconstpointer (*ModuleFind)(const ModuleFile *file, GModule *so, const char *symbol,
				    GError **error);

static gconstpointer module_find_class(const ModuleFile *file, GModule *so, const char *symbol,
				       GError **error)
{
	gpointer klass = NULL;

	if (!g_module_symbol(so, symbol, &klass) || !klass) {
		module_error(file, RDMAD_ERROR_ABI, error,
			     "not a module of rdmad: it does not export rdmad_module_class");
		return NULL;
	}
	return module_fits(file, klass, error) ? klass : NULL;
}

/* Classifies the linker's error, which is only a text: permanent errors of the file or its
 * dependencies, as opposed to a lack of memory or descriptors and failures of the disk. */
static RdmadError linker_error_code(const char *message)
{
	static const char *const lasting[] = { "undefined symbol", "No such file or directory",
					       "ELF", "' not found" };

	for (guint i = 0; i < G_N_ELEMENTS(lasting); i++)
		if (strstr(message, lasting[i]))
			return RDMAD_ERROR_ABI;
	return RDMAD_ERROR_FAILED;
}

static GModule *module_open(const ModuleFile *file, GError **error)
{
	GModule *so;

	if (!module_is_elf(file, error))
		return NULL;
	/* Not lazy, so that a missing symbol is detected now. */
	so = g_module_open(file->link, G_MODULE_BIND_LOCAL);
	if (!so)
		module_error(file, linker_error_code(linker_message(file)), error,
			     "cannot be loaded: %s; was it built for another rdmad?",
			     linker_message(file));
	return so;
}

static gboolean module_measure(ModuleFile *file, GError **error)
{
	struct stat st;

	if (fstat(file->fd, &st) < 0)
		return rdmad_error_errno(error, errno, "%s", file->path);
	file->size = (guint64)st.st_size;
	return TRUE;
}

/* Returns the result of `find` in the object, which then stays loaded. */
static gconstpointer module_take(ModuleFile *file, const char *symbol, ModuleFind find,
				 GError **error)
{
	GModule *so = module_open(file, error);
	gconstpointer found = so ? find(file, so, symbol, error) : NULL;

	if (!found) {
		if (so)
			g_module_close(so);
		return NULL;
	}
	g_module_make_resident(so);
	/* Stays open: the linker identifies the object by the descriptor's number, and would
	 * mistake the next module with the same number for this one. */
	rdmad_steal_fd(&file->fd);
	return found;
}

static gconstpointer module_load(const char *directory, const char *name, const char *symbol,
				 ModuleFind find, GError **error)
{
	g_autofree char *base = g_strconcat(name, ".so", NULL);
	ModuleFile file = { .name = name };
	gconstpointer found = NULL;

	file.path = g_build_filename(directory, base, NULL);
	file.fd = rdmad_trusted_file_open(directory, base, error);
	file.link = g_strdup_printf("/proc/self/fd/%d", file.fd);
	if (file.fd >= 0 && module_measure(&file, error))
		found = module_take(&file, symbol, find, error);
	rdmad_clear_fd(&file.fd);
	g_free(file.link);
	g_free(file.path);
	return found;
}

/* "a.so" to "a"; libraries of core begin with "rdmad-". */
static void module_names_add(GPtrArray *names, const char *file)
{
	if (g_str_has_suffix(file, ".so") && !g_str_has_prefix(file, "rdmad-"))
		g_ptr_array_add(names, g_strndup(file, strlen(file) - strlen(".so")));
}

static gint name_compare(gconstpointer a, gconstpointer b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Returns the modules of the directory, sorted; NULL-terminated. */
static char **module_names(const char *directory)
{
	g_autoptr(GPtrArray) names = g_ptr_array_new();
	GDir *dir = g_dir_open(directory, 0, NULL);
	const char *file;

	while (dir && (file = g_dir_read_name(dir)))
		module_names_add(names, file);
	g_clear_pointer(&dir, g_dir_close);
	g_ptr_array_sort(names, name_compare);
	g_ptr_array_add(names, NULL);
	return (char **)g_ptr_array_steal(names, NULL);
}

/* Appends "; did you mean `metrics`?" to the error. */
static void module_suggest(const char *directory, const char *name, GError *error)
{
	g_auto(GStrv) names = module_names(directory);
	const char *meant = rdmad_nearest(name, (const char *const *)names);
	g_autofree char *all = g_strjoinv(", ", names), *before = error->message;

	if (meant)
		error->message = g_strdup_printf("%s; did you mean `%s`?", before, meant);
	else
		error->message =
			g_strdup_printf("%s; modules there: %s", before, *all ? all : "none");
}

const RdmadModuleClass *rdmad_module_load(const char *directory, const char *name, GError **error)
{
	const RdmadModuleClass *klass =
		module_load(directory, name, "rdmad_module_class", module_find_class, error);

	if (!klass && error && g_error_matches(*error, RDMAD_ERROR, RDMAD_ERROR_NOT_FOUND))
		module_suggest(directory, name, *error);
	if (!klass)
		g_prefix_error(error, "module %s: ", name);
	return klass;
}

static gconstpointer module_find_part(const ModuleFile *file, GModule *so, const char *symbol,
				      GError **error)
{
	gpointer found = NULL;
	const RdmadPart *part;

	if (!g_module_symbol(so, symbol, &found) || !found) {
		module_error(file, RDMAD_ERROR_ABI, error, "does not export %s", symbol);
		return NULL;
	}
	part = found;
	if (g_strcmp0(part->version, RDMAD_VERSION) == 0)
		return part;
	module_error(file, RDMAD_ERROR_ABI, error,
		     "of another rdmad than " RDMAD_VERSION "; install the one that came with it");
	return NULL;
}

const RdmadPart *rdmad_module_load_part(const char *directory, const char *name, const char *symbol,
					GError **error)
{
	return module_load(directory, name, symbol, module_find_part, error);
}
