/* SPDX-License-Identifier: Apache-2.0 */
/* Environment: variables, in the order in which they were set, with a reason for each value. */
#pragma once

#include <glib.h>

typedef struct {
	char *name;
	char *value;
	char *why; /* short reason */
} NcclVariable;

typedef struct {
	GPtrArray *variables; /* NcclVariable */
} NcclEnv;

NcclEnv *nccl_env_new(void);
void nccl_env_free(NcclEnv *env);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(NcclEnv, nccl_env_free)

/* Adds or replaces a variable.  Takes ownership of `value`. */
void nccl_env_take(NcclEnv *env, const char *name, char *value, const char *why);
void nccl_env_set(NcclEnv *env, const char *name, const char *value, const char *why);
void nccl_env_set_int(NcclEnv *env, const char *name, gint64 value, const char *why);
/* Returns NULL if the variable is not set. */
const char *nccl_env_get(const NcclEnv *env, const char *name);
const NcclVariable *nccl_env_nth(const NcclEnv *env, guint index);
NcclEnv *nccl_env_copy(const NcclEnv *env);
/* Returns whether both have the same variables and values. */
gboolean nccl_env_equal(const NcclEnv *a, const NcclEnv *b);
/* Returns whether a value has only letters, digits and "=^:,./_+-", which need no quoting in a
 * shell, in nccl.conf and in JSON. */
gboolean nccl_env_value_is_plain(const char *value);
