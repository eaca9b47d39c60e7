/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The container runtime and rdmad-cni: sandboxes of pods, and their requests
 *
 *	namespace made -> ADD -> the pod starts ... the pod ends -> DEL -> namespace removed
 *
 * A failed ADD is followed by a DEL and another sandbox.  Responses are lost and requests repeated;
 * a DEL may overtake its ADD, follow the end of the namespace, come twice, or be spooled while
 * rdmad does not listen.
 */
#pragma once

#include "base/loop.h"
#include "network.h"
#include "pods.h"

typedef struct {
	char *id, *pod_name, *pod_uid;
	const char *resource;
	guint slots;
	Netns *netns;	    /* NULL: removed */
	gboolean ready;	    /* ADD has succeeded, and DEL has not begun */
	GStrv names;	    /* names of the links in the response of ADD */
	gboolean is_leased; /* its network has an IPAM plugin */
} Sandbox;

typedef struct {
	void (*attached)(const Sandbox *sandbox);
	/* ADD has failed; its effects are undone. */
	void (*refused)(const Sandbox *sandbox, const char *error);
	/* DEL has succeeded. */
	void (*deleted)(const Sandbox *sandbox);
	/* GC has succeeded, for a container that had no sandbox when it began. */
	void (*collected)(const char *container);
	/* A CHECK of a ready sandbox has ended. */
	void (*checked)(const Sandbox *sandbox, const char *error);
	/* STATUS has ended with an error. */
	void (*unready)(const char *error);
	void (*changed)(void); /* for kubelet */
} RuntimeOps;

/* `boot_id` is the path of a file, borrowed. */
void runtime_begin(RdmadLoop *loop, const RuntimeOps *ops, Decisions *decisions);
void runtime_end(void);
void runtime_reboot(void);

/* Returns TRUE if the network of the pod is ready; otherwise starts or continues it. */
gboolean runtime_makes_network(const Pod *pod);
void runtime_pod_ended(const Pod *pod);
void runtime_collect(void);
/* Queries STATUS. */
void runtime_ask_status(void);
/* Checks one sandbox, or all (`which` G_MAXUINT). */
void runtime_check(guint which);
/* Ends the deviations of the runtime: requests come in order. */
void runtime_end_deviations(void);
/* Returns an array of Sandbox. */
const GPtrArray *runtime_sandboxes(void);
