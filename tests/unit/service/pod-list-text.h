/* SPDX-License-Identifier: Apache-2.0 */
/* Responses of podresources from short texts */
#pragma once

#include <glib.h>

/* "pod=a,b other=c": pods of the namespace "ns", container "main", resource "rdma/hca", as the
 * bytes that kubelet sends: one ContainerDevices a device id.  "pod=": without devices. */
GBytes *pod_list_text_pack(const char *text);
/* The same for another resource. */
GBytes *pod_list_text_pack_of(const char *resource, const char *text);
