/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kubelet: its device manager, both registration methods, its checkpoint and podresources
 *
 * It knows only what rdmad reports, and runs on its own loop.  Its behaviour is that of
 * tests/kubelet/behaviour.trace, and in older versions that of tests/kubelet/fake.
 */
#pragma once

#include <rdmad/grpc.h>

#include "base/loop.h"
#include "decisions.h"
#include "pods.h"

typedef struct {
	gboolean has_registry; /* kubelet has the plugins_registry directory */
	/* It connects to the plugin before it responds to Register (1.25 and later). */
	gboolean dials_inside;
	gboolean lists_completed; /* podresources lists pods that have ended (before 1.34) */
	gboolean pre_lists;	  /* it lists pods without devices while it starts */
	/* At its start it rejects the pods of which a container that has devices does not run,
	 * because no plugin is registered yet (1.25 and later). */
	gboolean readmits;
} KubeletEra;

typedef struct {
	/* Allocate has ended; `error` NULL: with a grant, which the pod has now. */
	void (*answered)(const Pod *pod, const Grant *grant, const char *error, gint64 took_us);
	/* The pending Allocate is abandoned; answered() follows. */
	void (*given_up)(void);
	/* PreStartContainer has ended; not called if the connection was lost. */
	void (*pre_started)(const Pod *pod, const char *error, gint64 took_us);
	/* Returns whether the pod has its network; otherwise starts making it. */
	gboolean (*makes_network)(const Pod *pod);
	/* A new list of devices was received. */
	void (*listed)(const char *resource);
} KubeletOps;

void kubelet_begin(const char *dir, const KubeletEra *era, const KubeletOps *ops,
		   Decisions *decisions);
void kubelet_end(void);
/* Returns the loop of kubelet and of the runtime. */
RdmadLoop *kubelet_loop(void);

gboolean kubelet_is_up(void);
/* Returns the ID of its process; 0: it does not run. */
guint kubelet_pid(void);
void kubelet_start(void);
/* `forgets`: the checkpoint is lost. */
void kubelet_stop(gboolean forgets);
/* While it hangs, podresources responds late or not at all. */
void kubelet_set_hung(gboolean hung);
/* Removes the sockets of plugins, as a cleanup of the node or an upgrade does. */
void kubelet_wipe_sockets(void);
/* Admits waiting pods, and starts the containers of admitted pods. */
void kubelet_sync_pods(void);

/* ---- kubelet-endpoints.c ---- */

typedef struct {
	char *slot;
	gboolean healthy;
} ListedSlot;

/* A connection to a plugin. */
typedef struct Endpoint Endpoint;

/* The calls that a plugin wants. */
typedef struct {
	gboolean pre_start, preferred;
} EndpointOptions;

/* Returns an array of ListedSlot; NULL: the resource is not registered. */
const GPtrArray *kubelet_list(const char *resource);
/* Returns whether kubelet has removed the devices of an endpoint that it stopped, with any list
 * since. */
gboolean kubelet_has_removed(const char *resource);
/* Returns whether a list came after kubelet had stopped the endpoint: podresources shows its
 * devices. */
gboolean kubelet_hides_stop(const char *resource);
/* Returns whether the plugin requires PreStartContainer; sets `*channel` to NULL if it is away. */
gboolean kubelet_pre_start(const char *resource, RdmadGrpcChannel **channel);
/* Returns the number of the endpoint to which kubelet sends Allocate; 0: there is none. */
guint kubelet_endpoint(const char *resource);
/* Returns the number of endpoints with an open stream. */
guint kubelet_endpoints(const char *resource);

/* Returns the endpoint to which kubelet sends Allocate, or NULL. */
const Endpoint *kubelet_endpoint_find(const char *resource);
RdmadGrpcChannel *kubelet_endpoint_channel(const Endpoint *endpoint);
/* Returns whether its plugin offers GetPreferredAllocation. */
gboolean kubelet_endpoint_prefers(const Endpoint *endpoint);
/* Connects to a plugin that registers.  `registering` is the call to respond to; NULL:
 * kubelet_registry_connected() follows. */
void kubelet_endpoint_connect(const char *resource, const char *path,
			      const EndpointOptions *options, RdmadGrpcCall *registering);
/* Call when a socket was removed: closes the connection to it. */
void kubelet_endpoint_lose(const char *path);
/* Closes the connections whose ListAndWatch has ended. */
void kubelet_endpoints_sweep(void);
void kubelet_endpoints_start(const KubeletEra *era, Decisions *decisions);
void kubelet_endpoints_stop(void);
/* Of kubelet.c: a list of devices was received. */
void kubelet_has_listed(const char *resource);

/* ---- kubelet-registry.c ---- */

/* `dir` stays until the stop. */
void kubelet_registry_start(const char *dir);
void kubelet_registry_stop(void);
/* The plugin of this socket was connected to; `error` NULL: it is registered. */
void kubelet_registry_connected(const char *path, const char *error);

/* ---- kubelet-admission.c ---- */

void kubelet_admission_begin(const KubeletOps *ops, Decisions *decisions);
/* Rejects pods of which a container does not run; kubelet starts. */
void kubelet_admission_start(const KubeletEra *era);
/* Returns whether an Allocate is pending. */
gboolean kubelet_is_admitting(void);
void kubelet_admit_pods(void);
/* Call when a connection is closed: rejects the pod that is admitted by it. */
void kubelet_admission_lose(const Endpoint *endpoint);
/* Pods whose admission was interrupted are admitted again, and so are forgotten pods that do not
 * run.  The checkpoint has what an init container was given before the interruption. */
void kubelet_admission_stop(gboolean forgets);
