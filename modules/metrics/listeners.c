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
} Place;

struct Listeners {
	RdmadModule *self;
	GPtrArray *open; /* Place */
};

static Place *place_new(const char *address, const char *web_config)
{
	Place *place = g_new0(Place, 1);

	place->address = g_strdup(address);
	place->web_config = g_strdup(web_config);
	return place;
}

static void place_free(gpointer data)
{
	Place *place = data;

	g_free(place->address);
	g_free(place->web_config);
	g_free(place);
}

Listeners *listeners_new(RdmadModule *self)
{
	Listeners *listeners = g_new0(Listeners, 1);

	listeners->self = self;
	listeners->open = g_ptr_array_new_with_free_func(place_free);
	return listeners;
}

static void places_close(Listeners *listeners, const GPtrArray *places)
{
	for (guint i = 0; i < places->len; i++) {
		const Place *place = places->pdata[i];

		rdmad_http_unlisten(rdmad_module_http(listeners->self), place->address);
	}
}

void listeners_free(Listeners *listeners)
{
	if (!listeners)
		return;
	places_close(listeners, listeners->open);
	g_ptr_array_unref(listeners->open);
	g_free(listeners);
}

/* All of them or none. */
static gboolean places_open(Listeners *listeners, const GPtrArray *places, GError **error)
{
	RdmadHttp *http = rdmad_module_http(listeners->self);

	for (guint i = 0; i < places->len; i++) {
		const Place *place = places->pdata[i];

		if (rdmad_http_listen(http, listeners->self, place->address, place->web_config,
				      error))
			continue;
		while (i--)
			rdmad_http_unlisten(http, ((Place *)places->pdata[i])->address);
		return FALSE;
	}
	return TRUE;
}

static gboolean places_have(const GPtrArray *places, const Place *wanted)
{
	for (guint i = 0; i < places->len; i++) {
		const Place *place = places->pdata[i];

		if (g_str_equal(place->address, wanted->address) &&
		    !g_strcmp0(place->web_config, wanted->web_config))
			return TRUE;
	}
	return FALSE;
}

/* Those of `places` that `others` has not; borrowed. */
static GPtrArray *places_without(const GPtrArray *places, const GPtrArray *others)
{
	GPtrArray *rest = g_ptr_array_new();

	for (guint i = 0; i < places->len; i++)
		if (!places_have(others, places->pdata[i]))
			g_ptr_array_add(rest, places->pdata[i]);
	return rest;
}

static gboolean any_address_again(const GPtrArray *coming, const GPtrArray *leaving)
{
	for (guint i = 0; i < coming->len; i++)
		for (guint j = 0; j < leaving->len; j++)
			if (g_str_equal(((Place *)coming->pdata[i])->address,
					((Place *)leaving->pdata[j])->address))
				return TRUE;
	return FALSE;
}

/* An address that a leaving listener has (":9889" has "127.0.0.1:9889", too) is free only after it. */
static gboolean places_exchange(Listeners *listeners, const GPtrArray *leaving,
				const GPtrArray *coming, GError **error)
{
	g_autoptr(GError) again = NULL;

	if (!any_address_again(coming, leaving) && places_open(listeners, coming, NULL)) {
		places_close(listeners, leaving);
		return TRUE;
	}
	places_close(listeners, leaving);
	if (places_open(listeners, coming, error))
		return TRUE;
	if (places_open(listeners, leaving, &again))
		return FALSE;
	rdmad_err("cannot restore the previous listeners: %s", again->message);
	/* Else the next configuration that wants them would take them for open. */
	for (guint i = 0; i < leaving->len; i++)
		g_ptr_array_remove(listeners->open, leaving->pdata[i]);
	return FALSE;
}

gboolean listeners_follow(Listeners *listeners, const char *const *addresses,
			  const char *web_config, GError **error)
{
	g_autoptr(GPtrArray) wanted = g_ptr_array_new_with_free_func(place_free);
	g_autoptr(GPtrArray) coming = NULL, leaving = NULL;

	for (guint i = 0; addresses && addresses[i]; i++)
		g_ptr_array_add(wanted, place_new(addresses[i], web_config));
	coming = places_without(wanted, listeners->open);
	leaving = places_without(listeners->open, wanted);
	if (!places_exchange(listeners, leaving, coming, error))
		return FALSE;
	g_ptr_array_unref(listeners->open);
	listeners->open = g_steal_pointer(&wanted);
	return TRUE;
}
