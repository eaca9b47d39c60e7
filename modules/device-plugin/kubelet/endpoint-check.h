/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Endpoint check: whether kubelet takes devices from the stream that it has begun
 *
 * When a stream of a resource ends, kubelet marks all devices of the resource unhealthy and stops the
 * endpoint that is current.  That may be a newer one: of an rdmad that was started before kubelet
 * noticed the end of the one before.  The newer stream stays open and no call comes, but podresources
 * (GetAllocatableResources) lists no device of the resource any more.
 */
#pragma once

#include "kubelet/kubelet.h"

typedef struct EndpointCheck EndpointCheck;

/* `stopped` is called when two looks in a row, while `offers` was TRUE, found no device.  Once only: it is
 * called again after a look that found one. */
typedef struct {
	gboolean (*offers)(gpointer data); /* a healthy device was listed */
	void (*stopped)(gpointer data);
} EndpointCheckOps;

EndpointCheck *endpoint_check_new(RdmadModule *self, Kubelet *kubelet, const char *resource,
				  const EndpointCheckOps *ops, gpointer data);
void endpoint_check_free(EndpointCheck *check);
/* A stream began: kubelet is asked some times over the next seconds. */
void endpoint_check_begin(EndpointCheck *check);
void endpoint_check_end(EndpointCheck *check);
