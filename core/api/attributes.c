/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GET /api/v1/attributes
 * POST /api/v1/attributes?name=NAME&value=VALUE	without `value`: there is no such attribute any more
 */
#include "api/json.h"
#include "service/attributes-private.h"

static void add_attribute(const char *name, const char *value, gpointer data)
{
	json_t *object = json_object();

	api_set(object, "name", api_json_string(name));
	api_set(object, "value", api_json_string(value));
	json_array_append_new(data, object);
}

void api_get_attributes(RdmadHttpRequest *request, gpointer data)
{
	const RdmadServices *services = data;
	json_t *attributes = json_array();

	rdmad_attributes_foreach(services->attributes, add_attribute, attributes);
	rdmad_http_reply_json(request, json_pack("{s:o}", "attributes", attributes));
}

void api_post_attributes(RdmadHttpRequest *request, gpointer data)
{
	const RdmadServices *services = data;
	const char *name = rdmad_http_request_query(request, "name");
	const char *value = rdmad_http_request_query(request, "value");
	g_autoptr(GError) error = NULL;
	json_t *object;

	if (!name) {
		rdmad_http_fail(request, 400, "which attribute? \"name\" is missing");
		return;
	}
	if (!rdmad_attributes_set(services->attributes, NULL, name, value, &error)) {
		rdmad_http_fail(request, 400, "%s", error->message);
		return;
	}
	object = json_object();
	api_set(object, "name", api_json_string(name));
	api_set(object, "value", api_json_string(value));
	rdmad_http_reply_json(request, object);
}
