/* SPDX-License-Identifier: Apache-2.0 */
#include "env.h"

#include <string.h>

static void variable_free(gpointer data)
{
	NcclVariable *variable = data;

	g_free(variable->name);
	g_free(variable->value);
	g_free(variable->why);
	g_free(variable);
}

NcclEnv *nccl_env_new(void)
{
	NcclEnv *env = g_new0(NcclEnv, 1);

	env->variables = g_ptr_array_new_with_free_func(variable_free);
	return env;
}

void nccl_env_free(NcclEnv *env)
{
	g_ptr_array_unref(env->variables);
	g_free(env);
}

const NcclVariable *nccl_env_nth(const NcclEnv *env, guint index)
{
	return env->variables->pdata[index];
}

static NcclVariable *env_lookup(const NcclEnv *env, const char *name)
{
	for (guint i = 0; i < env->variables->len; i++) {
		NcclVariable *variable = env->variables->pdata[i];

		if (g_str_equal(variable->name, name))
			return variable;
	}
	return NULL;
}

void nccl_env_take(NcclEnv *env, const char *name, char *value, const char *why)
{
	NcclVariable *variable = env_lookup(env, name);

	if (!variable) {
		variable = g_new0(NcclVariable, 1);
		variable->name = g_strdup(name);
		g_ptr_array_add(env->variables, variable);
	}
	g_free(variable->value);
	g_free(variable->why);
	variable->value = value;
	variable->why = g_strdup(why);
}

void nccl_env_set(NcclEnv *env, const char *name, const char *value, const char *why)
{
	nccl_env_take(env, name, g_strdup(value), why);
}

void nccl_env_set_int(NcclEnv *env, const char *name, gint64 value, const char *why)
{
	nccl_env_take(env, name, g_strdup_printf("%" G_GINT64_FORMAT, value), why);
}

const char *nccl_env_get(const NcclEnv *env, const char *name)
{
	const NcclVariable *variable = env_lookup(env, name);

	return variable ? variable->value : NULL;
}

NcclEnv *nccl_env_copy(const NcclEnv *env)
{
	NcclEnv *copy = nccl_env_new();

	for (guint i = 0; i < env->variables->len; i++) {
		const NcclVariable *variable = nccl_env_nth(env, i);

		nccl_env_set(copy, variable->name, variable->value, variable->why);
	}
	return copy;
}

gboolean nccl_env_equal(const NcclEnv *a, const NcclEnv *b)
{
	if (a->variables->len != b->variables->len)
		return FALSE;
	for (guint i = 0; i < a->variables->len; i++) {
		const NcclVariable *variable = nccl_env_nth(a, i);

		if (g_strcmp0(variable->value, nccl_env_get(b, variable->name)) != 0)
			return FALSE;
	}
	return TRUE;
}

gboolean nccl_env_value_is_plain(const char *value)
{
	return value[strspn(value, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				   "0123456789=^:,./_+-")] == '\0';
}
