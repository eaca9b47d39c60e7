/* SPDX-License-Identifier: Apache-2.0 */
/* The client commands, one file each (command-<name>.c), and what they share. */
#pragma once

#include <getopt.h>
#include <jansson.h>
#include <rdmad/types.h>

#include "cli/table.h"

#define COMMAND_TIMEOUT_S 30u
#define COMMAND_ASKS	  "josHwv" /* the options of every command that queries the daemon */

typedef enum { OUTPUT_TABLE, OUTPUT_JSON, OUTPUT_YAML } CommandOutput;

typedef struct {
	const char *socket;
	CommandOutput output;
	RdmadTableStyle style;
	gboolean watch;
	gboolean verbose;
	gboolean follow;	/* events */
	guint lines;		/* events: the last ones; 0: all */
	gint64 since_us;	/* events: wall clock; 0: all */
	const char *device;	/* events: name or id, or NULL */
	const char *pod;	/* events: "namespace/name" or a part, or NULL */
	gboolean refresh;	/* allocations */
	const char *key;	/* import-config */
	const char *prefix;	/* import-config */
	const char *bundle;	/* doctor: a file to make; NULL: none */
	const char *sysroot;	/* doctor: the machine to record; NULL: this one */
	const char *argument;	/* the first word behind the options; may be NULL */
	char *const *arguments; /* all of them, NULL-terminated */
} CommandOptions;

typedef struct {
	const char *name;
	const char *argument;			   /* "", " [NAME]", or one it needs: " FILE" */
	const char *summary;			   /* for `rdmad --help` */
	const char *usage;			   /* its own options, for `rdmad <name> --help` */
	const char *flags;			   /* short options; COMMAND_ASKS and its own */
	int (*run)(const CommandOptions *options); /* the exit status */
	int max_arguments;			   /* 0: one, when it has an `argument` */
} Command;

int command_status(const CommandOptions *options);
int command_devices(const CommandOptions *options);
int command_allocations(const CommandOptions *options);
int command_topology(const CommandOptions *options);
int command_events(const CommandOptions *options);
int command_doctor(const CommandOptions *options);
int command_attributes(const CommandOptions *options);
int command_import(const CommandOptions *options);
int command_version(const CommandOptions *options);
int command_help(const CommandOptions *options);

/* GETs (or POSTs) and gives the answer; NULL: the reason is on stderr. */
json_t *command_ask(const CommandOptions *options, const char *method, const char *path);
/* The same of a PUT, which takes the body over. */
json_t *command_put(const CommandOptions *options, const char *path, json_t *body);
/* The same of a GET; `refusal`: see client.h. */
json_t *command_ask_refusable(const CommandOptions *options, const char *path, json_t **refusal);
/* Writes the text, or the value as JSON; the exit status. */
int command_print(const GString *text);
/* As JSON or YAML, by the options. */
int command_print_json(const CommandOptions *options, const json_t *value);
/* An option of COMMAND_ASKS with the value that getopt has; FALSE: the reason is on stderr. */
gboolean command_option_set(CommandOptions *options, int letter, const char *value);
/* One line, and 2, the exit status. */
int command_usage_error(const char *command, const char *format, ...) G_GNUC_PRINTF(2, 3);
/* The same of the option that getopt has just refused.  The command has the options of `known`
 * with one of the letters; NULL: all. */
int command_option_unknown(const char *command, const struct option *known, const char *letters,
			   char *const *argv);
/* With --watch, after `status`: waits, clears the screen, TRUE. */
gboolean command_watches(const CommandOptions *options, int status);
/* --output and the others of COMMAND_ASKS; ends with an empty one. */
extern const struct option command_common_options[];
/* Their lines of a --help text. */
extern const char command_common_usage[];
/* YAML of a value, in blocks. */
void command_write_yaml(const json_t *value, GString *out);

/* command-format.c: values as people read them; g_free() what is not a const. */
const char *format_text(const json_t *object, const char *key); /* NULL: null or no string */
char *format_number(const json_t *object, const char *key);	/* NULL: null */
char *format_pod(const json_t *object);				/* "namespace/pod"; NULL: null */
char *format_list(const json_t *array, const char *separator);	/* "a, b" */
char *format_rate(const json_t *object, const char *key);	/* megabits: "400G" */
char *format_bytes(guint64 bytes);				/* exact: "8 MiB", "1025" */
char *format_duration(gint64 seconds);				/* "3d 4h", "12m" */
char *format_age(const char *rfc3339, gint64 now_us);		/* since then */
char *format_local_time(const char *rfc3339);			/* "2026-01-31T12:00:00+0100" */
char *format_scalar(const json_t *value); /* any number, string, truth; NULL: null, or none */

/* Output of the commands, from the API's responses; golden texts in the tests. */
void devices_write(const json_t *devices, const RdmadTableStyle *style, GString *out);
void device_write(const json_t *device, GString *out);
void topology_write(const json_t *topology, const RdmadTableStyle *style, GString *out);
void allocations_write(const json_t *allocations, gint64 now_us, const RdmadTableStyle *style,
		       GString *out);
/* `verbose`: with the internals of modules. */
void status_write(const json_t *status, gint64 now_us, gboolean verbose, GString *out);
/* TRUE when there was a problem; `verbose`: also checks that passed. */
gboolean doctor_write(const json_t *findings, gboolean verbose, const RdmadTableStyle *style,
		      GString *out);
void attributes_write(const json_t *attributes, const RdmadTableStyle *style, GString *out);
/* `now_us` 0: absolute times. */
void events_write(const json_t *events, gint64 now_us, const RdmadTableStyle *style, GString *out);

/* module-command.c: commands that modules of the running daemon have (rdmad/module.h).  A new
 * reference to the response of /api/v1/commands.  `argv`: the words behind the command, of which
 * one may name the socket. */
json_t *module_commands_ask(CommandOptions *options, char **argv, GError **error);
/* Returns the entry of that response, or NULL. */
const json_t *module_command_find(const json_t *commands, const char *name);
/* argv[1] is the first word behind the command.  The exit status. */
int module_command_run(const json_t *command, CommandOptions *options, int argc, char **argv);
/* rdmad commands */
int module_command_list(const CommandOptions *options);
/* The printed form of a response; `command` is an entry of /api/v1/commands. */
void module_command_write(const json_t *command, const json_t *answer, const RdmadTableStyle *style,
			  GString *out);
