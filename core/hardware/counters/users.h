/* SPDX-License-Identifier: Apache-2.0 */
/* The users of a device, as part of a reading */
#pragma once

#include "hardware/counters/reading.h"

/* The time limit of the query, which is shorter than a scrape, and the pause after it was
 * exceeded. */
#define RDMAD_DEVICE_USERS_MAX_US   (1500 * 1000)
#define RDMAD_DEVICE_USERS_AGAIN_US (60 * G_USEC_PER_SEC)

/* State between the readings of one device. */
typedef struct RdmadDeviceUsers RdmadDeviceUsers;

/* `dev` and `root` must outlive the object. */
RdmadDeviceUsers *rdmad_device_users_new(const RdmadSysroot *root, const RdmadDevice *dev);
void rdmad_device_users_free(RdmadDeviceUsers *users);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RdmadDeviceUsers, rdmad_device_users_free)
/* Sets the builder's `users` (with strings in `strings`) and `users_errnum`.  Runs on a worker. */
void rdmad_device_users_read(RdmadDeviceUsers *users, RdmadReadingBuilder *builder);
