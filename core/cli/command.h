/* SPDX-License-Identifier: Apache-2.0 */
/* The client commands, one file each (command-<name>.c), and shared functions */
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
	guint lines;		/* events: number of the newest; 0: all */
	gint64 since_us;	/* events: wall clock time; 0: all */
	const char *device;	/* events: name or id, or NULL */
	const char *pod;	/* events: "namespace/name" or a part, or NULL */
	gboolean refresh;	/* allocations */
	const char *key;	/* import-config */
	const char *prefix;	/* import-config */
	const char *instance;	/* status: the expected one, or NULL */
	const char *bundle;	/* doctor: the file to create; NULL: none */
	const char *sysroot;	/* doctor: the machine to record; NULL: this one */
	const char *argument;	/* the first argument after the options, or NULL */
	char *const *arguments; /* all arguments, NULL-terminated */
} CommandOptions;

typedef struct {
	const char *name;
	const char *argument;			   /* "", " [NAME]", or a required one: " FILE" */
	const char *summary;			   /* for `rdmad --help` */
	const char *usage;			   /* its own options, for `rdmad <name> --help` */
	const char *flags;			   /* short options; COMMAND_ASKS and its own */
	int (*run)(const CommandOptions *options); /* returns the exit status */
	int max_arguments;			   /* 0: one if `argument` is set, else none */
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

/* Sends GET (or POST) and returns the response; NULL after an error, which was printed. */
json_t *command_ask(const CommandOptions *options, const char *method, const char *path);
/* The same with PUT.  Takes the body over. */
json_t *command_put(const CommandOptions *options, const char *path, json_t *body);
/* The same with GET; see client.h about `refusal`. */
json_t *command_ask_refusable(const CommandOptions *options, const char *path, json_t **refusal);
/* Writes the text and returns the exit status. */
int command_print(const GString *text);
/* Writes the text of a table.  Without rows, writes "rdmad: no WHAT" to stderr instead. */
int command_print_rows(const json_t *rows, const char *what, const GString *text);
/* Writes the value as JSON or YAML, and returns the exit status. */
int command_print_json(const CommandOptions *options, const json_t *value);
/* Sets an option of COMMAND_ASKS from getopt's optarg.  Returns FALSE after an error, which was
 * printed. */
gboolean command_option_set(CommandOptions *options, int letter, const char *value);
/* Prints one line and returns the exit status 2. */
int command_usage_error(const char *command, const char *format, ...) G_GNUC_PRINTF(2, 3);
/* The same for the option that getopt has rejected.  The command has the options of `known` with
 * one of the letters; NULL: all. */
int command_option_unknown(const char *command, const struct option *known, const char *letters,
			   char *const *argv);
/* With --watch, if `status` is 0: waits, clears the screen and returns TRUE. */
gboolean command_watches(const CommandOptions *options, int status);
/* --output and the other options of COMMAND_ASKS, terminated by an empty entry. */
extern const struct option command_common_options[];
/* The lines of these options in a --help text. */
extern const char command_common_usage[];
/* Writes the value as YAML blocks. */
void command_write_yaml(const json_t *value, GString *out);

/* command-format.c: values in the form for people; g_free() unless const. */
const char *format_text(const json_t *object, const char *key); /* NULL: null or no string */
char *format_number(const json_t *object, const char *key);	/* NULL: null */
char *format_pod(const json_t *object);				/* "namespace/pod"; NULL: null */
char *format_list(const json_t *array, const char *separator);	/* "a, b" */
char *format_rate(const json_t *object, const char *key);	/* megabits: "400G" */
char *format_bytes(guint64 bytes);				/* exact: "8 MiB", "1025" */
char *format_duration(gint64 seconds);				/* "3d 4h", "12m" */
char *format_age(const char *rfc3339, gint64 now_us);		/* the time since then */
char *format_local_time(const char *rfc3339);			/* "2026-01-31T12:00:00+0100" */
char *format_scalar(const json_t *value);			/* NULL: null or not a scalar */

/* command-devices.c: returns whether the name or the id of an entry of /api/v1/devices is
 * `name`. */
gboolean device_is_called(const json_t *device, const char *name);

/* Write the output of the commands from the API's responses. */
void devices_write(const json_t *devices, const RdmadTableStyle *style, GString *out);
void device_write(const json_t *device, GString *out);
void topology_write(const json_t *topology, const RdmadTableStyle *style, GString *out);
void allocations_write(const json_t *allocations, gint64 now_us, const RdmadTableStyle *style,
		       GString *out);
/* `verbose` includes the internals of modules. */
void status_write(const json_t *status, gint64 now_us, gboolean verbose, GString *out);
/* Returns TRUE if there was a problem.  `verbose` includes passed checks. */
gboolean doctor_write(const json_t *findings, gboolean verbose, const RdmadTableStyle *style,
		      GString *out);
void attributes_write(const json_t *attributes, const RdmadTableStyle *style, GString *out);
/* `now_us` 0: shows absolute times. */
void events_write(const json_t *events, gint64 now_us, const RdmadTableStyle *style, GString *out);

/* module-command.c: commands of modules of the running daemon (rdmad/module.h).  Returns a new
 * reference to the response of /api/v1/commands.  argv[1] is the first word after the command;
 * one may be --socket. */
json_t *module_commands_ask(CommandOptions *options, int argc, char **argv, GError **error);
/* Returns the entry of that response, or NULL. */
const json_t *module_command_find(const json_t *commands, const char *name);
/* Runs the command; argv[1] is the first word after its name.  Returns the exit status. */
int module_command_run(const json_t *command, CommandOptions *options, int argc, char **argv);
/* rdmad commands */
int module_command_list(const CommandOptions *options);
/* Writes a response; `command` is an entry of /api/v1/commands. */
void module_command_write(const json_t *command, const json_t *answer, const RdmadTableStyle *style,
			  GString *out);
