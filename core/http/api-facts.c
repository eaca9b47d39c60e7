/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GET /api/v1/facts
 * POST /api/v1/facts?name=NAME&value=VALUE	without `value`: there is no such fact any more
 */
#include "http/api-private.h"
#include "service/facts-private.h"

static void add_fact(const char *name, const char *value, gpointer data)
{
	json_t *object = json_object();

	api_set(object, "name", api_json_string(name));
	api_set(object, "value", api_json_string(value));
	json_array_append_new(data, object);
}

void api_get_facts(RdmadHttpRequest *request, gpointer data)
{
	const RdmadServices *services = data;
	json_t *facts = json_array();

	rdmad_facts_foreach(services->facts, add_fact, facts);
	rdmad_http_reply_json(request, json_pack("{s:o}", "facts", facts));
}

void api_post_facts(RdmadHttpRequest *request, gpointer data)
{
	const RdmadServices *services = data;
	const char *name = rdmad_http_request_query(request, "name");
	const char *value = rdmad_http_request_query(request, "value");
	g_autoptr(GError) error = NULL;
	json_t *object;

	if (!name) {
		rdmad_http_fail(request, 400, "which fact? \"name\" is missing");
		return;
	}
	if (!rdmad_facts_set(services->facts, NULL, name, value, &error)) {
		rdmad_http_fail(request, 400, "%s", error->message);
		return;
	}
	object = json_object();
	api_set(object, "name", api_json_string(name));
	api_set(object, "value", api_json_string(value));
	rdmad_http_reply_json(request, object);
}
