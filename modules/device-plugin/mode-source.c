/* SPDX-License-Identifier: Apache-2.0 */
#include "mode-source.h"

#include <rdmad/attributes.h>
#include <rdmad/inventory.h>
#include <rdmad/event-log.h>

struct ModeSource {
	RdmadModule *self;
	RdmadWatch *watch;
	GHashTable *refused; /* resource -> the value that was reported */
	const GPtrArray *resources;
	void (*changed)(gpointer data);
	gpointer data;
};

/* Sets the attribute "mode:rdma/hca", which module kube reads, or removes it. */
static void mode_publish(const ModeSource *source, const ResourceSettings *resource,
			 gboolean removed)
{
	g_autofree char *name = g_strconcat("mode:", resource->name, NULL);

	rdmad_attributes_set(rdmad_module_attributes(source->self), source->self, name,
			     removed ? NULL : resource_modes[resource->mode], NULL);
}

static int mode_parse(const char *text)
{
	for (int mode = 0; resource_modes[mode]; mode++)
		if (g_str_equal(resource_modes[mode], text))
			return mode;
	return -1;
}

static void report_refusal(ModeSource *source, const ResourceSettings *resource, const char *value)
{
	const RdmadLogFields about = { .resource = resource->name };

	if (g_strcmp0(g_hash_table_lookup(source->refused, resource->name), value) == 0)
		return;
	g_hash_table_insert(source->refused, g_strdup(resource->name), g_strdup(value));
	rdmad_event_log_post(
		rdmad_module_event_log(source->self), RDMAD_LOG_WARNING, "mode-unknown", &about,
		"%s: %s is \"%s\", not a mode (shared, exclusive, shared-multi); "
		"it stays %s",
		resource->name, resource->mode_from, value, resource_modes[resource->mode]);
}

/* Returns TRUE if the mode changed. */
static gboolean resource_take(ModeSource *source, ResourceSettings *resource, const char *value)
{
	const int mode = value ? mode_parse(value) : resource->mode;
	const RdmadLogFields about = { .resource = resource->name };

	if (mode < 0) {
		report_refusal(source, resource, value);
		return FALSE;
	}
	g_hash_table_remove(source->refused, resource->name);
	if (mode == resource->mode)
		return FALSE;
	resource->mode = mode;
	mode_publish(source, resource, FALSE);
	rdmad_event_log_post(rdmad_module_event_log(source->self), RDMAD_LOG_NOTICE, "mode-changed",
			     &about, "%s: %s by %s", resource->name, resource_modes[mode],
			     resource->mode_from);
	return TRUE;
}

static void attribute_changed(const char *name, const char *value, gpointer data)
{
	ModeSource *source = data;
	gboolean changed = FALSE;

	for (guint i = 0; source->resources && i < source->resources->len; i++) {
		ResourceSettings *resource = source->resources->pdata[i];

		if (g_strcmp0(resource->mode_from, name) == 0)
			changed |= resource_take(source, resource, value);
	}
	if (changed)
		source->changed(source->data);
}

ModeSource *mode_source_new(RdmadModule *self, void (*changed)(gpointer data), gpointer data)
{
	ModeSource *source = g_new0(ModeSource, 1);

	source->self = self;
	source->changed = changed;
	source->data = data;
	source->refused = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	source->watch = rdmad_attributes_watch(rdmad_module_attributes(self), self, NULL,
					       attribute_changed, source);
	return source;
}

void mode_source_free(ModeSource *source)
{
	rdmad_watch_free(source->watch);
	g_hash_table_unref(source->refused);
	g_free(source);
}

static gboolean has_resource(const GPtrArray *resources, const ResourceSettings *resource)
{
	for (guint i = 0; i < resources->len; i++)
		if (g_str_equal(((ResourceSettings *)resources->pdata[i])->name, resource->name))
			return TRUE;
	return FALSE;
}

static void modes_publish(const ModeSource *source, const GPtrArray *resources,
			  const GPtrArray *before)
{
	for (guint i = 0; i < resources->len; i++)
		mode_publish(source, resources->pdata[i], FALSE);
	for (guint i = 0; before && i < before->len; i++)
		if (!has_resource(resources, before->pdata[i]))
			mode_publish(source, before->pdata[i], TRUE);
}

static void resource_inherit(ResourceSettings *resource, const GPtrArray *before)
{
	for (guint i = 0; before && i < before->len; i++) {
		const ResourceSettings *old = before->pdata[i];

		if (g_str_equal(old->name, resource->name) &&
		    g_strcmp0(old->mode_from, resource->mode_from) == 0)
			resource->mode = old->mode;
	}
}

void mode_source_follow(ModeSource *source, const GPtrArray *resources, const GPtrArray *before)
{
	RdmadAttributes *attributes = rdmad_module_attributes(source->self);

	source->resources = resources;
	for (guint i = 0; i < resources->len; i++) {
		ResourceSettings *resource = resources->pdata[i];

		if (!resource->mode_from)
			continue;
		resource_inherit(resource, before);
		resource_take(source, resource,
			      rdmad_attributes_get(attributes, resource->mode_from));
	}
	modes_publish(source, resources, before);
}
