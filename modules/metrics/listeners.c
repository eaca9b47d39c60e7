/* SPDX-License-Identifier: Apache-2.0 */
#include "listeners.h"

#include <rdmad/error.h>
#include <rdmad/http.h>
#include <rdmad/log.h>
#include <rdmad/module.h>
#include <string.h>

typedef struct {
	char *address;
	char *web_config; /* or NULL */
} Endpoint;

struct Listeners {
	RdmadModule *self;
	GPtrArray *open; /* Endpoint */
};

static Endpoint *endpoint_new(const char *address, const char *web_config)
{
	Endpoint *endpoint = g_new0(Endpoint, 1);

	endpoint->address = g_strdup(address);
	endpoint->web_config = g_strdup(web_config);
	return endpoint;
}

static void endpoint_free(gpointer data)
{
	Endpoint *endpoint = data;

	g_free(endpoint->address);
	g_free(endpoint->web_config);
	g_free(endpoint);
}

Listeners *listeners_new(RdmadModule *self)
{
	Listeners *listeners = g_new0(Listeners, 1);

	listeners->self = self;
	listeners->open = g_ptr_array_new_with_free_func(endpoint_free);
	return listeners;
}

static void endpoints_close(Listeners *listeners, const GPtrArray *endpoints)
{
	for (guint i = 0; i < endpoints->len; i++) {
		const Endpoint *endpoint = endpoints->pdata[i];

		rdmad_http_unlisten(rdmad_module_http(listeners->self), endpoint->address);
	}
}

void listeners_free(Listeners *listeners)
{
	if (!listeners)
		return;
	endpoints_close(listeners, listeners->open);
	g_ptr_array_unref(listeners->open);
	g_free(listeners);
}

/* Opens all endpoints or none. */
static gboolean endpoints_open(Listeners *listeners, const GPtrArray *endpoints, GError **error)
{
	RdmadHttp *http = rdmad_module_http(listeners->self);

	for (guint i = 0; i < endpoints->len; i++) {
		const Endpoint *endpoint = endpoints->pdata[i];

		if (rdmad_http_listen(http, listeners->self, endpoint->address,
				      endpoint->web_config, error))
			continue;
		while (i--)
			rdmad_http_unlisten(http, ((Endpoint *)endpoints->pdata[i])->address);
		return FALSE;
	}
	return TRUE;
}

static gboolean endpoints_have(const GPtrArray *endpoints, const Endpoint *wanted)
{
	for (guint i = 0; i < endpoints->len; i++) {
		const Endpoint *endpoint = endpoints->pdata[i];

		if (g_str_equal(endpoint->address, wanted->address) &&
		    !g_strcmp0(endpoint->web_config, wanted->web_config))
			return TRUE;
	}
	return FALSE;
}

/* Returns the endpoints that `others` lacks; borrowed. */
static GPtrArray *endpoints_without(const GPtrArray *endpoints, const GPtrArray *others)
{
	GPtrArray *rest = g_ptr_array_new();

	for (guint i = 0; i < endpoints->len; i++)
		if (!endpoints_have(others, endpoints->pdata[i]))
			g_ptr_array_add(rest, endpoints->pdata[i]);
	return rest;
}

static gboolean share_address(const GPtrArray *added, const GPtrArray *removed)
{
	for (guint i = 0; i < added->len; i++)
		for (guint j = 0; j < removed->len; j++)
			if (g_str_equal(((Endpoint *)added->pdata[i])->address,
					((Endpoint *)removed->pdata[j])->address))
				return TRUE;
	return FALSE;
}

/* A removed endpoint occupies its address until it is closed; ":9889" covers "127.0.0.1:9889". */
static gboolean endpoints_replace(Listeners *listeners, const GPtrArray *removed,
				  const GPtrArray *added, GError **error)
{
	g_autoptr(GError) restore_error = NULL;

	if (!share_address(added, removed) && endpoints_open(listeners, added, NULL)) {
		endpoints_close(listeners, removed);
		return TRUE;
	}
	endpoints_close(listeners, removed);
	if (endpoints_open(listeners, added, error))
		return TRUE;
	if (endpoints_open(listeners, removed, &restore_error))
		return FALSE;
	rdmad_err("cannot restore the previous listeners: %s", restore_error->message);
	/* Forgets the closed endpoints, so that a later configuration opens them again. */
	for (guint i = 0; i < removed->len; i++)
		g_ptr_array_remove(listeners->open, removed->pdata[i]);
	return FALSE;
}

gboolean listeners_follow(Listeners *listeners, const char *const *addresses,
			  const char *web_config, GError **error)
{
	g_autoptr(GPtrArray) wanted = g_ptr_array_new_with_free_func(endpoint_free);
	g_autoptr(GPtrArray) added = NULL, removed = NULL;

	for (guint i = 0; addresses && addresses[i]; i++)
		g_ptr_array_add(wanted, endpoint_new(addresses[i], web_config));
	added = endpoints_without(wanted, listeners->open);
	removed = endpoints_without(listeners->open, wanted);
	if (!endpoints_replace(listeners, removed, added, error))
		return FALSE;
	g_ptr_array_unref(listeners->open);
	listeners->open = g_steal_pointer(&wanted);
	return TRUE;
}
