/* SPDX-License-Identifier: Apache-2.0 */
/* The resources of the API, one file each (<resource>.c), and their JSON functions */
#pragma once

#include <jansson.h>
#include <rdmad/device.h>
#include <rdmad/http.h>
#include <rdmad/json.h>
#include <rdmad/work.h>

#include "module/services.h"
#include "hardware/verbs/limits.h"

/* Handlers; `data` is the RdmadServices. */
void api_get_status(RdmadHttpRequest *request, gpointer data);
void api_get_devices(RdmadHttpRequest *request, gpointer data);
void api_get_device(RdmadHttpRequest *request, gpointer data);
void api_get_allocations(RdmadHttpRequest *request, gpointer data);
void api_get_topology(RdmadHttpRequest *request, gpointer data);
void api_get_events(RdmadHttpRequest *request, gpointer data);
void api_get_attributes(RdmadHttpRequest *request, gpointer data);
void api_get_attribute(RdmadHttpRequest *request, gpointer data);
void api_put_attribute(RdmadHttpRequest *request, gpointer data);
void api_delete_attribute(RdmadHttpRequest *request, gpointer data);
void api_get_commands(RdmadHttpRequest *request, gpointer data);
void api_get_doctor(RdmadHttpRequest *request, gpointer data);
void api_get_livez(RdmadHttpRequest *request, gpointer data);
void api_get_readyz(RdmadHttpRequest *request, gpointer data);
void api_post_rescan(RdmadHttpRequest *request, gpointer data);
void api_post_refresh(RdmadHttpRequest *request, gpointer data);

/* shared.c: resources with the same response for all clients. */
typedef enum {
	API_SHARED_STATUS,
	API_SHARED_DEVICES,
	API_SHARED_ALLOCATIONS,
	API_SHARED_TOPOLOGY,
	API_SHARED_EVENTS,
	API_SHARED_DOCTOR,
	N_API_SHARED
} ApiShared;

typedef struct {
	/* Builds the response on the loop from the core's objects and the files that `read`
	 * returned (NULL: no files, or not in time).  Returns NULL if it cannot be written as
	 * JSON. */
	GBytes *(*build)(const RdmadServices *services, gconstpointer read);
	/* Reads files on a worker; its `done` is api_resource_read().  NULL: no files. */
	const RdmadJobClass *read;
	gpointer (*input)(const RdmadServices *services); /* makes the input of `read` */
} ApiResource;

void api_reply_shared(RdmadHttpRequest *request, const RdmadServices *services, ApiShared which,
		      const ApiResource *resource);
/* An `input` that returns the sysroot, which outlives the workers. */
gpointer api_sysroot_input(const RdmadServices *services);
void api_resource_read(gpointer result, const GError *error, gpointer data);
/* Takes the value over. */
GBytes *api_json_bytes(json_t *value);

/* Return the cached texts of the event log's entries, and of allocations with these device
 * names. */
struct ApiTexts *api_event_texts(const RdmadServices *services);
struct ApiTexts *api_allocation_texts(const RdmadServices *services, const char *device_names);
struct ApiTexts *api_allocation_texts_new(void);

/* Returns the devices on the host in the natural order of their names; borrowed. */
GPtrArray *api_devices_by_name(const RdmadServices *services);
/* What is reported of a device, each text borrowed until the turn of the loop ends, or NULL. */
typedef struct {
	const char *problem; /* why it is unhealthy */
	const char *rest;    /* why it is healthy and at rest */
	gboolean offered;    /* a module offers it to pods */
} ApiHealth;

/* A device that is not offered is judged by itself; one that is no NIC only by its driver. */
ApiHealth api_device_health(const RdmadServices *services, const RdmadDevice *dev);
/* Returns a device by its id or its current name, or NULL. */
const RdmadDevice *api_find_device(const RdmadServices *services, const char *name);
/* Returns the JSON object of a device. */
json_t *api_device_json(const RdmadServices *services, const RdmadDevice *dev);
/* limits.c: return the limits of a device, or of port `number`, from verbs; null if unknown. */
json_t *api_limits_json(const RdmadVerbsLimits *limits);
json_t *api_port_limits_json(const RdmadVerbsLimits *limits, guint number);
/* Returns the transport of a device's first port: "RoCE", "InfiniBand", "iWARP". */
const char *api_device_transport(const RdmadDevice *dev);
/* Returns the nearest accelerator of a device and its distance, or NULL. */
const RdmadGpu *api_nearest_gpu(const RdmadServices *services, const RdmadDevice *dev,
				RdmadDistance *distance, guint *index);

/* json.c: values of the core as JSON.  Absent values are null.  Texts: rdmad_json_string(). */
/* Takes the value over. */
void api_set(json_t *object, const char *key, json_t *value);
/* Sets `namespace` and `pod` from "NAMESPACE/NAME", or from NULL. */
void api_set_pod(json_t *object, const char *pod);
json_t *api_json_strings(char *const *strings); /* NULL: an empty array */
json_t *api_json_number(gint64 value);		/* RDMAD_UNKNOWN: null */
json_t *api_json_hex(int value);		/* "0x15b3" */
json_t *api_json_wide(guint64 value);		/* "0xfffffffffffff000" */
json_t *api_json_time(gint64 wall_us);		/* RFC 3339 in UTC; 0: null */
