/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Module interface
 *
 *	create -> start -> (reload)* -> stop -> destroy
 *
 * create reads the configuration, and touches nothing outside the process; `rdmad --check` ends
 * here.
 *
 * start opens sockets, and adds events and watches.  On failure destroy follows, not stop.
 *
 * reload is optional.  On failure the module keeps its previous settings.
 *
 * stop frees everything that start and the callbacks took.  Modules are stopped in the reverse
 * order of their start.
 *
 * destroy frees the state.  Objects that the module then still has in the core are freed and
 * logged.  The shared object stays mapped until the process ends.
 *
 * A module has no static variables: its state has everything that changes.
 */
#pragma once

#include <rdmad/types.h>

#define RDMAD_MODULE_ABI 1u /* raised whenever a header in this directory changes incompatibly */

/* ---- commands ---- */

/* The path of a network namespace.  The client enters the namespace, which rdmad may not, and
 * passes the path of its own: /proc/PID/ns/net. */
#define RDMAD_COMMAND_NETNS "NETNS"

/* The option --NAME ARGUMENT, which becomes the parameter NAME of the query. */
typedef struct {
	const char *name;
	const char
		*argument; /* "ID", or RDMAD_COMMAND_NETNS; NULL: none, and the parameter is "1" */
	const char *help;
} RdmadCommandOption;

typedef struct {
	const char *title; /* "RESOURCE" */
	const char *key;   /* member of each row: a string, number, boolean (yes, no) or list */
	gboolean wide;	   /* shown only with -o wide: 80 columns have no room for it */
} RdmadCommandColumn;

/*
 * A command of `rdmad`.  It sends GET `path` with the options as the query to a route of the module
 * on the control socket (http.h).  The response is a JSON object; --json prints it unchanged.  The
 * body of a response with the status 409 is printed in addition to its error, and the exit status
 * is 1.
 */
typedef struct {
	const char
		*name; /* [a-z0-9-]{1,32}, for `rdmad NAME`; the core's commands take precedence */
	const char *argument;		   /* "DEVICE"; "[DEVICE]" if optional; NULL: none */
	const char *parameter;		   /* parameter of the query for the argument */
	const char *summary;		   /* one line */
	const char *path;		   /* "/api/v1/explain" */
	const RdmadCommandOption *options; /* ends with one without a name; may be NULL */
	/* The member of the response that is the list of rows, and the columns, which end with one
	 * without a title.  `rows` NULL: the member "text" is printed. */
	const char *rows;
	const RdmadCommandColumn *columns;
} RdmadCommand;

/* ---- capabilities ---- */

/* A capability that a module needs (capabilities(7)), for `rdmad --privileges`. */
typedef struct {
	int capability;	 /* CAP_* of linux/capability.h */
	const char *why; /* "moves network devices"; NULL: the end of the list */
} RdmadCapability;

/* ---- the module ---- */

typedef void (*RdmadCheckFunc)(const char *text, gpointer data);

typedef struct {
	guint32 abi; /* always the first two members, which are read first */
	guint32 struct_size;
	const char *name; /* [a-z0-9-]{1,32}; also of the file, and of the key in modules = { } */
	const char *description;
	/* `config` is NULL if the file has no group for the module. */
	gpointer (*create)(RdmadModule *self, const RdmadConfigNode *config, GError **error);
	gboolean (*start)(gpointer state, GError **error);
	gboolean (*reload)(gpointer state, const RdmadConfigNode *config, GError **error);
	/* Completes requests in flight, then calls rdmad_module_drained(), after 10 s at the
	 * latest. stop follows in any case.  NULL: nothing to complete. */
	void (*drain)(gpointer state);
	void (*stop)(gpointer state);
	void (*destroy)(gpointer state);
	/* Returns whether the module can work now, for /readyz; if not, sets `*why` to a line for
	 * people, owned by the caller.  NULL: ready once started. */
	gboolean (*ready)(gpointer state, char **why);
	/* Returns the module's part of `rdmad status`, a JSON object, owned by the caller.  May be
	 * NULL. */
	struct json_t *(*status)(gpointer state);
	/* Adds findings for `rdmad doctor` (rdmad_doctor_add()).  May be NULL. */
	void (*doctor)(gpointer state, struct json_t *findings);
	/* Warns of names in the configuration that the machine does not have.  Called by `rdmad
	 * --check` on a machine with devices, after create and the first scan.  May be NULL. */
	void (*check)(gpointer state, RdmadCheckFunc warn, gpointer data);
	/* Returns FALSE if start would fail in place of a running rdmad, which keeps serving.
	 * Called after create; changes nothing.  May be NULL. */
	gboolean (*rehearse)(gpointer state, GError **error);
	/* Returns whether the module offers the device to pods, and then sets `*problem` to the
	 * reason why it is reported as unhealthy, and `*rest` to the reason why it is healthy and
	 * at rest, each borrowed until the turn of the loop ends, or NULL.  May be NULL. */
	gboolean (*device_health)(gpointer state, const RdmadDevice *dev, const char **problem,
				  const char **rest);
	/* Commands; the list ends with one without a name.  May be NULL. */
	const RdmadCommand *commands;
	/* Capabilities that the daemon keeps for the module; NULL: none. */
	const RdmadCapability *capabilities;
	/* Capabilities of the module's executor (executor.h); NULL: the module needs no
	 * executor. */
	const RdmadCapability *executor_capabilities;
	/* Set if the module runs programs as children of the daemon (child.h); otherwise seccomp
	 * forbids it. */
	gboolean runs_programs;
} RdmadModuleClass;

#define RDMAD_MODULE_DEFINE(module_name, ...)                                                      \
	RDMAD_API extern const RdmadModuleClass rdmad_module_class;                                \
	const RdmadModuleClass rdmad_module_class = { .abi = RDMAD_MODULE_ABI,                     \
						      .struct_size = sizeof(RdmadModuleClass),     \
						      .name = (module_name),                       \
						      __VA_ARGS__ }

/* Return the core's services, borrowed and valid from create to destroy. */
RDMAD_API const char *rdmad_module_name(const RdmadModule *self);
RDMAD_API RdmadLoop *rdmad_module_loop(RdmadModule *self);
RDMAD_API RdmadWorkers *rdmad_module_workers(RdmadModule *self);
RDMAD_API RdmadInventory *rdmad_module_inventory(RdmadModule *self);
RDMAD_API RdmadAllocations *rdmad_module_allocations(RdmadModule *self);
RDMAD_API RdmadPods *rdmad_module_pods(RdmadModule *self);
RDMAD_API RdmadPreparations *rdmad_module_preparations(RdmadModule *self);
RDMAD_API RdmadPodMetadata *rdmad_module_pod_metadata(RdmadModule *self);
RDMAD_API RdmadState *rdmad_module_state(RdmadModule *self);
RDMAD_API RdmadAttributes *rdmad_module_attributes(RdmadModule *self);
RDMAD_API RdmadEventLog *rdmad_module_event_log(RdmadModule *self);
RDMAD_API RdmadHttp *rdmad_module_http(RdmadModule *self);
RDMAD_API RdmadHandOver *rdmad_module_hand_over(RdmadModule *self);
RDMAD_API RdmadStats *rdmad_module_stats(RdmadModule *self);
RDMAD_API const RdmadSysroot *rdmad_module_sysroot(RdmadModule *self);
/* Returns NULL if no module needed an executor when rdmad started. */
RDMAD_API RdmadKeeper *rdmad_module_keeper(RdmadModule *self);

/* Return directories: absolute paths without a trailing slash. */
RDMAD_API const char *rdmad_module_run_dir(const RdmadModule *self); /* /run/rdmad */
RDMAD_API const char *
rdmad_module_state_dir(const RdmadModule *self); /* /var/lib/rdmad; NULL: no state is kept */
RDMAD_API const char *rdmad_module_kubelet_dir(const RdmadModule *self); /* /var/lib/kubelet */

/* Reports the end of a drain. */
RDMAD_API void rdmad_module_drained(RdmadModule *self);
