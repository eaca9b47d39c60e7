/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GET /api/v1/attributes
 * GET, PUT {"value": "VALUE"}, DELETE /api/v1/attributes/NAME
 */
#include <rdmad/attributes.h>
#include <rdmad/json.h>

#include "api/json.h"
#include "service/attributes-private.h"

#define BODY_DEPTH 2

static json_t *attribute_json(const char *name, const char *value)
{
	json_t *object = json_object();

	api_set(object, "name", rdmad_json_string(name));
	api_set(object, "value", rdmad_json_string(value));
	return object;
}

static void add_attribute(const char *name, const char *value, gpointer data)
{
	json_array_append_new(data, attribute_json(name, value));
}

void api_get_attributes(RdmadHttpRequest *request, gpointer data)
{
	const RdmadServices *services = data;
	json_t *attributes = json_array();

	rdmad_attributes_foreach(services->attributes, add_attribute, attributes);
	rdmad_http_reply_json(request, json_pack("{s:o}", "attributes", attributes));
}

/* Returns NULL after an error response if there is no such attribute. */
static const char *attribute_find(RdmadHttpRequest *request, const RdmadServices *services)
{
	const char *name = rdmad_http_request_tail(request);
	const char *value = rdmad_attributes_get(services->attributes, name);

	if (!value)
		rdmad_http_fail(request, 404, "no attribute \"%s\"; `rdmad attributes` lists all",
				name);
	return value;
}

void api_get_attribute(RdmadHttpRequest *request, gpointer data)
{
	const char *value = attribute_find(request, data);

	if (value)
		rdmad_http_reply_json(request,
				      attribute_json(rdmad_http_request_tail(request), value));
}

/* `value` NULL removes the attribute. */
static void attribute_set(RdmadHttpRequest *request, const RdmadServices *services,
			  const char *value)
{
	const char *name = rdmad_http_request_tail(request);
	g_autoptr(GError) error = NULL;

	if (rdmad_attributes_set(services->attributes, NULL, name, value, &error))
		rdmad_http_reply_json(request, attribute_json(name, value));
	else
		rdmad_http_fail(request, 400, "%s", error->message);
}

void api_put_attribute(RdmadHttpRequest *request, gpointer data)
{
	gsize size;
	const guint8 *body = rdmad_http_request_body(request, &size);
	g_autoptr(GError) error = NULL;
	json_t *json = rdmad_json_parse((const char *)body, size, BODY_DEPTH, &error);
	const char *value = json_string_value(json_object_get(json, "value"));

	if (value)
		attribute_set(request, data, value);
	else
		rdmad_http_fail(request, 400, "the body must be {\"value\": \"TEXT\"}%s%s",
				error ? ": " : "", error ? error->message : "");
	json_decref(json);
}

void api_delete_attribute(RdmadHttpRequest *request, gpointer data)
{
	if (attribute_find(request, data))
		attribute_set(request, data, NULL);
}
