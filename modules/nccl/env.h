/* SPDX-License-Identifier: Apache-2.0 */
/* Environment: variables with their values, in the order in which they were set, and why. */
#pragma once

#include <glib.h>

typedef struct {
	char *name;
	char *value;
	char *why; /* a few words */
} NcclVariable;

typedef struct {
	GPtrArray *variables; /* NcclVariable */
} NcclEnv;

NcclEnv *nccl_env_new(void);
void nccl_env_free(NcclEnv *env);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(NcclEnv, nccl_env_free)

/* Adds or replaces a variable.  `value` is taken over. */
void nccl_env_take(NcclEnv *env, const char *name, char *value, const char *why);
void nccl_env_set(NcclEnv *env, const char *name, const char *value, const char *why);
void nccl_env_set_int(NcclEnv *env, const char *name, gint64 value, const char *why);
/* NULL where it is not set. */
const char *nccl_env_get(const NcclEnv *env, const char *name);
const NcclVariable *nccl_env_nth(const NcclEnv *env, guint index);
NcclEnv *nccl_env_copy(const NcclEnv *env);
/* The same variables with the same values. */
gboolean nccl_env_equal(const NcclEnv *a, const NcclEnv *b);
/* Letters, digits and "=^:,./_+-", which mean the same in a shell, in nccl.conf and in JSON. */
gboolean nccl_env_value_is_plain(const char *value);
