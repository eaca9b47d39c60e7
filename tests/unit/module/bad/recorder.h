/* SPDX-License-Identifier: Apache-2.0 */
/* A module for tests that records its calls in the event log. */
#pragma once

#include <rdmad/config.h>
#include <rdmad/error.h>
#include <rdmad/event-log.h>
#include <rdmad/module.h>
#include <string.h>

typedef struct {
	RdmadModule *self;
	char *value;	       /* key "value" */
	gboolean refuse_start; /* key "refuse_start" */
} Recorder;

static const RdmadConfigField recorder_fields[] = {
	RDMAD_CONFIG_STRING_FIELD("value", Recorder, value),
	RDMAD_CONFIG_BOOL_FIELD("refuse_start", Recorder, refuse_start),
	RDMAD_CONFIG_FIELDS_END,
};

static inline void recorder_say(Recorder *r, const char *what)
{
	rdmad_event_log_post(rdmad_module_event_log(r->self), RDMAD_LOG_DEBUG, "recorder", NULL,
			     "%s %s %s", rdmad_module_name(r->self), what, r->value);
}

static inline void recorder_destroy(gpointer state)
{
	Recorder *r = state;

	recorder_say(r, "destroy");
	g_free(r->value);
	g_free(r);
}

static inline gpointer recorder_create(RdmadModule *self, const RdmadConfigNode *config,
				       GError **error)
{
	Recorder *r = g_new0(Recorder, 1);

	r->self = self;
	r->value = g_strdup("none");
	if (rdmad_config_parse(config, recorder_fields, r, error)) {
		recorder_say(r, "create");
		return r;
	}
	g_free(r->value);
	g_free(r);
	return NULL;
}

static inline gboolean recorder_start(gpointer state, GError **error)
{
	Recorder *r = state;

	recorder_say(r, "start");
	if (r->refuse_start)
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_FAILED, "told to refuse");
	return !r->refuse_start;
}

/* Rejects the value "refuse". */
static inline gboolean recorder_reload(gpointer state, const RdmadConfigNode *config,
				       GError **error)
{
	Recorder *r = state;
	Recorder now = { .value = g_strdup("none") };
	gboolean ok = rdmad_config_parse(config, recorder_fields, &now, error);

	if (ok && !strcmp(now.value, "refuse"))
		ok = rdmad_config_error(config, "value", error, "told to refuse");
	if (!ok) {
		g_free(now.value);
		return FALSE;
	}
	g_free(r->value);
	r->value = now.value;
	recorder_say(r, "reload");
	return TRUE;
}

static inline void recorder_stop(gpointer state)
{
	recorder_say(state, "stop");
}
