/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pool: the devices of one resource, and the tokens that stand for them
 *
 * It knows no clock, no loop and no kubelet: what it is told goes in, a list of tokens comes out,
 * always the same one for the same facts.
 *
 * - The tokens of `count` are spread over the devices, the first ones getting one more.
 * - A token that is held is listed as long as it is held and keeps its device; others make room for
 *   it.  So nothing that kubelet gave away vanishes when a device joins or the configuration changes.
 * - A device that leaves stays listed as unhealthy for `forget_us`, and its share is not handed to
 *   the others in that time: reloading a driver moves no token.  After that only what is held stays.
 */
#pragma once

#include "health.h"
#include "settings.h"

typedef struct {
	char *id; /* stable id of the device */
	char *stem;
	const RdmadDevice *dev; /* NULL: gone, or no longer selected */
	int numa_node;		/* last known, or RDMAD_UNKNOWN */
	gint64 gone_us;		/* since when */
	RdmadHealth health;
	const char *told_problem; /* see rdmad_pool_take_news() */
	guint share;		  /* how many tokens of its own it has */
	guint n_tokens;		  /* listed */
	GPtrArray *held;	  /* token ids, of the last update */
} RdmadPoolDevice;

typedef struct {
	char *id;
	RdmadPoolDevice *device;
} RdmadToken;

/* A device for this resource, as the selectors gave it. */
typedef struct {
	const RdmadDevice *dev;
	gboolean marked; /* it stands in an earlier resource, too */
} RdmadPoolMember;

/* A token that a claim holds. */
typedef struct {
	const char *token;
	const char *device;
} RdmadHeldToken;

typedef struct {
	gint64 now_us; /* monotonic */
	gint64 health_delay_us, forget_us;
	const RdmadPoolMember *members;
	guint n_members;
	const RdmadHeldToken *held;
	guint n_held;
} RdmadPoolFacts;

typedef struct RdmadPool RdmadPool;

RdmadPool *rdmad_pool_new(RdmadResourceSettings *settings);
void rdmad_pool_free(RdmadPool *pool);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RdmadPool, rdmad_pool_free)

/* Other settings of the same name; the next update follows them. */
void rdmad_pool_configure(RdmadPool *pool, RdmadResourceSettings *settings);
RdmadResourceSettings *rdmad_pool_settings(const RdmadPool *pool);

/* Works out devices and tokens anew.  When to come again though nothing changed, in microseconds
 * from now; 0: never. */
gint64 rdmad_pool_update(RdmadPool *pool, const RdmadPoolFacts *facts);

/* Calls `fn` for each device whose health is not what it was at the last call; a device begins as a
 * healthy one. */
void rdmad_pool_take_news(RdmadPool *pool, void (*fn)(const RdmadPoolDevice *device, gpointer data),
			  gpointer data);

/* All borrowed until the next update. */
guint rdmad_pool_device_count(const RdmadPool *pool);
const RdmadPoolDevice *rdmad_pool_device(const RdmadPool *pool, guint index);
guint rdmad_pool_token_count(const RdmadPool *pool);
const RdmadToken *rdmad_pool_token(const RdmadPool *pool, guint index);
/* Also by what other plugins call it, "<pci>@7" or "<name>/7". */
const RdmadToken *rdmad_pool_find(const RdmadPool *pool, const char *token);
/* TRUE when `count` tokens a device would not have fitted into one message. */
gboolean rdmad_pool_is_cut(const RdmadPool *pool);
