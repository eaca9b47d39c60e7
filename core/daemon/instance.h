/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Instance: what makes an rdmad the next version of another one, to which that one gives over
 *
 * Two rdmads are of one instance if they have the same name: `instance` of the configuration, which
 * the chart sets to the release and its namespace.  Without it the name is the path of the
 * configuration and the modules of
 * --module.  Nothing else counts: a new version, other contents of the configuration and other
 * modules in it are an update.
 */
#pragma once

#include <jansson.h>

#include "daemon/lock.h"

typedef struct {
	char *name;
	char *config;		/* path; NULL: no file */
	RdmadLockHolder holder; /* its process; another in each life of it */
} RdmadInstance;

/* Accepts 1 to 255 bytes of printable ASCII without space.  RDMAD_ERROR_CONFIG. */
gboolean rdmad_instance_name_check(const char *name, GError **error);
/* Returns the name without one in the configuration.  `config` and `modules` may be NULL. */
char *rdmad_instance_default_name(const char *config, char *const *modules);

RdmadInstance *rdmad_instance_new(const char *name, const char *config,
				  const RdmadLockHolder *holder);
void rdmad_instance_free(RdmadInstance *instance);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RdmadInstance, rdmad_instance_free)

gboolean rdmad_instance_equal(const RdmadInstance *a, const RdmadInstance *b);
/* Returns "instance NAME (process 1, configuration PATH)", g_free(). */
char *rdmad_instance_text(const RdmadInstance *instance);

/* ---- in messages (succession.h) ---- */

json_t *rdmad_instance_to_json(const RdmadInstance *instance);
/* Returns NULL if `object` is not one. */
RdmadInstance *rdmad_instance_from_json(const json_t *object);
