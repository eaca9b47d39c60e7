/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libnccl-env.so: NCCL's environment plugin, versions 1 and 2 of its interface (NCCL 2.28, 2.30.7)
 *
 * NCCL queries the plugin for each variable.  The plugin returns the variable of the
 * environment, or else what rdmad planned for the running version, from
 * /run/rdmad/nccl-versions.conf:
 *
 *	[18-20]
 *	NCCL_IB_HCA==mlx5_0:1
 *
 * The plugin depends only on the C library.  Without the file, or without a section for the
 * version, only the environment counts.  The file is read once at init, so returned values stay
 * valid.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PLAN_FILE "/run/rdmad/nccl-versions.conf"
#define PLAN_MAX  (256u * 1024)

/* Copies of the declarations in nccl.h and nccl_common.h. */
typedef enum { NCCL_SUCCESS = 0 } Result;
typedef void (*Logger)(int level, unsigned long flags, const char *file, int line,
		       const char *format, ...);
#define LOG_INFO 3
#define LOG_INIT 0x1ul

/* ---- the plan ---- */

/* The interface has no argument for the plugin's state, so there is one plan for each process. */
static char *plan;    /* the file, NUL-terminated lines in the section; NULL: none */
static char *section; /* the lines of the running version */
static char *section_end;

static const char *plan_path(void)
{
	const char *path = secure_getenv("RDMAD_NCCL_PLAN");

	return path && path[0] ? path : PLAN_FILE;
}

/* Returns NULL with errno. */
static char *file_read(const char *path)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	char *text = fd >= 0 ? malloc(PLAN_MAX + 1) : NULL;
	size_t length = 0;
	ssize_t n = 0;

	while (text && length < PLAN_MAX) {
		n = read(fd, text + length, PLAN_MAX - length);
		if (n == 0 || (n < 0 && errno != EINTR))
			break;
		length += n > 0 ? (size_t)n : 0;
	}
	if (fd >= 0)
		close(fd);
	if (text && (n < 0 || length == PLAN_MAX || memchr(text, '\0', length))) {
		free(text);
		errno = EINVAL;
		return NULL;
	}
	if (text)
		text[length] = '\0';
	return text;
}

/* A version of NCCL newer than those of the file uses the last section, an older one the first. */
static void section_find(unsigned minor)
{
	unsigned from, to;

	section = section_end = NULL;
	for (char *line = plan; line && *line;) {
		char *end = strchrnul(line, '\n');

		if (line[0] == '[') {
			if (section && !section_end)
				section_end = line;
			if (sscanf(line, "[%u-%u]", &from, &to) == 2 &&
			    (!section || minor >= from)) {
				section = end;
				section_end = NULL;
			}
		}
		line = *end ? end + 1 : end;
	}
	if (section && !section_end)
		section_end = section + strlen(section);
}

/* NUL-terminates the lines, so that their values can be returned as strings. */
static void section_terminate(void)
{
	for (char *c = section; c && c < section_end; c++)
		if (*c == '\n')
			*c = '\0';
}

static const char *section_get(const char *name)
{
	const size_t length = strlen(name);

	for (const char *line = section; line && line < section_end; line += strlen(line) + 1)
		if (!strncmp(line, name, length) && line[length] == '=')
			return line + length + 1;
	return NULL;
}

/* ---- the interface ---- */

static Result plugin_finalize(void)
{
	free(plan);
	plan = section = section_end = NULL;
	return NCCL_SUCCESS;
}

static Result plugin_init_v2(uint8_t major, uint8_t minor, uint8_t patch, const char *suffix,
			     Logger logger)
{
	plugin_finalize();
	plan = file_read(plan_path());
	if (plan && major == 2)
		section_find(minor);
	section_terminate();
	if (logger)
		logger(LOG_INFO, LOG_INIT, __FILE__, __LINE__, "rdmad: %s: %s", plan_path(),
		       section ? "settings for this version" : "no settings");
	return NCCL_SUCCESS;
}

static Result plugin_init_v1(uint8_t major, uint8_t minor, uint8_t patch, const char *suffix)
{
	return plugin_init_v2(major, minor, patch, suffix, NULL);
}

/* An empty variable counts as set, like in NCCL. */
static const char *plugin_get(const char *name)
{
	const char *value = getenv(name);

	return value ? value : section_get(name);
}

typedef struct {
	const char *name;
	Result (*init)(uint8_t major, uint8_t minor, uint8_t patch, const char *suffix);
	Result (*finalize)(void);
	const char *(*get)(const char *name);
} PluginV1;

typedef struct {
	const char *name;
	Result (*init)(uint8_t major, uint8_t minor, uint8_t patch, const char *suffix,
		       Logger logger);
	Result (*finalize)(void);
	const char *(*get)(const char *name);
} PluginV2;

#define EXPORT __attribute__((visibility("default")))

EXPORT extern const PluginV1 ncclEnvPlugin_v1;
EXPORT extern const PluginV2 ncclEnvPlugin_v2;

const PluginV1 ncclEnvPlugin_v1 = { "rdmad", plugin_init_v1, plugin_finalize, plugin_get };
const PluginV2 ncclEnvPlugin_v2 = { "rdmad", plugin_init_v2, plugin_finalize, plugin_get };
