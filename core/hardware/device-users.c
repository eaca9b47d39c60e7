/* SPDX-License-Identifier: Apache-2.0 */
#include "hardware/device-users.h"

#include <errno.h>

struct RdmadDeviceUsers {
	const RdmadSysroot *root;
	const RdmadDevice *dev;
};

RdmadDeviceUsers *rdmad_device_users_new(const RdmadSysroot *root, const RdmadDevice *dev)
{
	RdmadDeviceUsers *users = g_new0(RdmadDeviceUsers, 1);

	users->root = root;
	users->dev = dev;
	return users;
}

void rdmad_device_users_free(RdmadDeviceUsers *users)
{
	g_free(users);
}

void rdmad_device_users_read(RdmadDeviceUsers *users, RdmadDraft *draft)
{
	draft->users_errnum = EOPNOTSUPP;
}
