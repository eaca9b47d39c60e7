/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The container runtime and rdmad-cni: sandboxes of pods, and the requests that come of them
 *
 *	namespace made -> ADD -> the pod starts ... the pod ends -> DEL -> namespace removed
 *
 * A failed ADD is followed by a DEL and another sandbox.  Replies are lost, requests repeated; a DEL overtakes its ADD,
 * comes after the end of the namespace, twice, or lands in the spool while nobody listens.
 */
#pragma once

#include "base/loop.h"
#include "network.h"
#include "pods.h"

typedef struct {
	char *id, *pod_name, *pod_uid;
	const char *resource;
	guint slots;
	Netns *netns;	/* NULL: gone */
	gboolean ready; /* ADD was answered, and DEL has not begun */
	GStrv names;	/* of the links that ADD has promised */
} Sandbox;

typedef struct {
	void (*attached)(const Sandbox *sandbox);
	/* ADD was answered with an error; what it did is undone. */
	void (*refused)(const Sandbox *sandbox, const char *error);
	/* A CHECK of one that is ready. */
	void (*checked)(const Sandbox *sandbox, const char *error);
	/* STATUS was answered with an error. */
	void (*unready)(const char *error);
	void (*changed)(void); /* kubelet looks */
} RuntimeOps;

/* Borrows `boot_id`: a file. */
void runtime_begin(RdmadLoop *loop, const RuntimeOps *ops, Decisions *decisions);
void runtime_end(void);
void runtime_reboot(void);

/* TRUE: the network of the pod is made; else it is begun, or goes on. */
gboolean runtime_makes_network(const Pod *pod);
void runtime_pod_ended(const Pod *pod);
void runtime_collect(void);
/* STATUS: whether the network is ready. */
void runtime_ask_status(void);
/* CHECK of one, or (`which` G_MAXUINT) of all. */
void runtime_check(guint which);
/* Requests come one after the other without a fault of their own. */
void runtime_calm(void);
/* Of Sandbox. */
const GPtrArray *runtime_sandboxes(void);
