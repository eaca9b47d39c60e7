/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Endpoint check: detects that kubelet stopped the endpoint of an open stream
 *
 * When a stream of a resource ends, kubelet marks all devices of the resource unhealthy and
 * stops the current endpoint.  That may be a newer one, if rdmad was restarted before kubelet
 * noticed the end of the old stream.  The newer stream stays open and gets no call, but
 * podresources (GetAllocatableResources) no longer lists devices of the resource.
 */
#pragma once

#include "kubelet/kubelet.h"

typedef struct EndpointCheck EndpointCheck;

/* Calls `stopped` when two consecutive queries found no device while `offers` returned TRUE, and
 * again only after a query has found a device.  Calls it also when sockets of an earlier rdmad are
 * found dead. */
typedef struct {
	gboolean (*offers)(gpointer data); /* whether the list has a healthy device */
	void (*stopped)(const char *why, gpointer data);
} EndpointCheckOps;

EndpointCheck *endpoint_check_new(RdmadModule *self, Kubelet *kubelet, const char *resource,
				  const EndpointCheckOps *ops, gpointer data);
void endpoint_check_free(EndpointCheck *check);
/* Starts the check of a new stream: several queries within 15 seconds, and one after six minutes.
 * A query that fails or finds no device is repeated. */
void endpoint_check_begin(EndpointCheck *check);
void endpoint_check_end(EndpointCheck *check);
/* Begins again if a healthy device is offered, and the last query could not tell without one. */
void endpoint_check_list_changed(EndpointCheck *check);
