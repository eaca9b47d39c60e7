/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Module interface
 *
 *	create -> start -> (reload)* -> stop -> destroy
 *
 * create reads the configuration and touches nothing outside the process; `rdmad --check` ends
 * here. start opens sockets, adds events and watches.  On failure destroy follows, not stop. reload
 * optional; on failure the module goes on with what it had. stop gives back everything that start
 * and the callbacks took.  Modules are stopped in the
 *          reverse of the order in which they started.
 * destroy frees the state.  Everything that the module still has in the core after this is freed
 * and logged.  The shared object itself stays mapped until the process ends.
 *
 * A module keeps all that changes in its state: nothing static.
 */
#pragma once

#include <rdmad/types.h>

#define RDMAD_MODULE_ABI 1u /* raised whenever a header in this directory changes incompatibly */

/* ---- commands ---- */

/* A network namespace by its path.  The client enters it, as rdmad may not, and the parameter is its own:
 * /proc/PID/ns/net. */
#define RDMAD_COMMAND_NETNS "NETNS"

/* --NAME ARGUMENT, which becomes the parameter NAME of the query. */
typedef struct {
	const char *name;
	const char *argument; /* "ID", or RDMAD_COMMAND_NETNS; NULL: none, the parameter is "1" */
	const char *help;
} RdmadCommandOption;

typedef struct {
	const char *title; /* "RESOURCE" */
	const char *key;   /* of each row: a text, a number, a truth value (yes or no) or a list */
	gboolean wide;	   /* only with -o wide: 80 columns have no room for it */
} RdmadCommandColumn;

/*
 * A command of `rdmad`: GET `path` with the options as its query, a route of the module on the
 * control socket (http.h).  The answer is a JSON object; --json prints it as it is.  The body of an
 * answer with the status 409 is printed beside its error, and the exit status is 1.
 */
typedef struct {
	const char *name;      /* [a-z0-9-]{1,32}, as `rdmad NAME`; the core's own come first */
	const char *argument;  /* "DEVICE"; "[DEVICE]" may be left out; NULL: there is none */
	const char *parameter; /* of the query, which the argument becomes */
	const char *summary;   /* a line */
	const char *path;      /* "/api/v1/explain" */
	const RdmadCommandOption *options; /* up to one without a name; may be NULL */
	/* The answer's member that is the list of rows, and what is shown of each, up to one
	 * without a title.  NULL: the answer's member "text" is printed. */
	const char *rows;
	const RdmadCommandColumn *columns;
} RdmadCommand;

/* ---- capabilities ---- */

/* One that a module needs: capabilities(7).  `rdmad --privileges` prints them. */
typedef struct {
	int capability;	 /* CAP_* of linux/capability.h */
	const char *why; /* "moves network devices"; NULL: the end of the list */
} RdmadCapability;

/* ---- the module ---- */

typedef void (*RdmadCheckFunc)(const char *text, gpointer data);

typedef struct {
	guint32 abi; /* these two stay first for ever: they are read before all else */
	guint32 struct_size;
	const char *name; /* [a-z0-9-]{1,32}; the file's name and the key below modules = { } */
	const char *description;
	/* `config` is NULL where the file has no group for the module. */
	gpointer (*create)(RdmadModule *self, const RdmadConfigNode *config, GError **error);
	gboolean (*start)(gpointer state, GError **error);
	gboolean (*reload)(gpointer state, const RdmadConfigNode *config, GError **error);
	/* Finish what is in flight; call rdmad_module_drained() when done, at most 10 s later.
	 * NULL: nothing to wait for.  stop follows in either case. */
	void (*drain)(gpointer state);
	void (*stop)(gpointer state);
	void (*destroy)(gpointer state);
	/* FALSE: it cannot do its work now; `why` (not NULL) is set to a line for people, owned by
	 * the caller.  For /readyz; NULL: ready once started. */
	gboolean (*ready)(gpointer state, char **why);
	/* The module's part of `rdmad status`: a JSON object, owned by the caller; may be NULL. */
	struct json_t *(*status)(gpointer state);
	/* Lines for `rdmad doctor`, by way of rdmad_doctor_*(); may be NULL. */
	void (*doctor)(gpointer state, struct json_t *findings);
	/* `rdmad --check` on a machine with devices, after create, with the inventory filled: warns of what
	 * the configuration names and the machine does not have.  May be NULL. */
	void (*check)(gpointer state, RdmadCheckFunc warn, gpointer data);
	/* After create, of a start that will take the place of a running rdmad: returns FALSE if start would
	 * fail.  It changes nothing, and the running rdmad serves on.  May be NULL. */
	gboolean (*rehearse)(gpointer state, GError **error);
	/* Whether the module offers the device to pods; then `problem` is why it reports it as
	 * unhealthy (static text), NULL for a healthy one.  May be NULL. */
	gboolean (*device_health)(gpointer state, const RdmadDevice *dev, const char **problem);
	/* Up to one without a name; may be NULL. */
	const RdmadCommand *commands;
	/* Capabilities that the daemon keeps for the module; NULL: none. */
	const RdmadCapability *capabilities;
	/* Those of the module's executor (executor.h); NULL: the module needs no executor. */
	const RdmadCapability *executor_capabilities;
	/* Programs are run as children of the daemon (child.h), which seccomp does not let it do otherwise. */
	gboolean runs_programs;
} RdmadModuleClass;

#define RDMAD_MODULE_DEFINE(module_name, ...)                                                      \
	RDMAD_API extern const RdmadModuleClass rdmad_module_class;                                \
	const RdmadModuleClass rdmad_module_class = { .abi = RDMAD_MODULE_ABI,                     \
						      .struct_size = sizeof(RdmadModuleClass),     \
						      .name = (module_name),                       \
						      __VA_ARGS__ }

/* The core's services; all borrowed, all there from create to destroy. */
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
/* NULL: no module needed an executor when rdmad started. */
RDMAD_API RdmadKeeper *rdmad_module_keeper(RdmadModule *self);

/* Directories, absolute, without a trailing slash. */
RDMAD_API const char *rdmad_module_run_dir(const RdmadModule *self); /* /run/rdmad */
RDMAD_API const char *
rdmad_module_state_dir(const RdmadModule *self); /* /var/lib/rdmad; NULL: nothing lasts */
RDMAD_API const char *rdmad_module_kubelet_dir(const RdmadModule *self); /* /var/lib/kubelet */

/* Reports the end of a drain. */
RDMAD_API void rdmad_module_drained(RdmadModule *self);
