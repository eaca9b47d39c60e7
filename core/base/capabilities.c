/* SPDX-License-Identifier: Apache-2.0 */
#include "base/capabilities.h"

#include <errno.h>
#include <linux/capability.h>
#include <rdmad/error.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static const char *const names[] = {
	[CAP_CHOWN] = "CAP_CHOWN",
	[CAP_DAC_OVERRIDE] = "CAP_DAC_OVERRIDE",
	[CAP_DAC_READ_SEARCH] = "CAP_DAC_READ_SEARCH",
	[CAP_FOWNER] = "CAP_FOWNER",
	[CAP_KILL] = "CAP_KILL",
	[CAP_NET_BIND_SERVICE] = "CAP_NET_BIND_SERVICE",
	[CAP_NET_ADMIN] = "CAP_NET_ADMIN",
	[CAP_NET_RAW] = "CAP_NET_RAW",
	[CAP_IPC_LOCK] = "CAP_IPC_LOCK",
	[CAP_SYS_MODULE] = "CAP_SYS_MODULE",
	[CAP_SYS_CHROOT] = "CAP_SYS_CHROOT",
	[CAP_SYS_RAWIO] = "CAP_SYS_RAWIO",
	[CAP_SYS_PTRACE] = "CAP_SYS_PTRACE",
	[CAP_SYS_ADMIN] = "CAP_SYS_ADMIN",
	[CAP_SYS_RESOURCE] = "CAP_SYS_RESOURCE",
};

#define WORDS VFS_CAP_U32 /* 32-bit words of a set in version 3 */

char *rdmad_capabilities_text(guint64 mask)
{
	GString *text = g_string_new(NULL);

	for (guint n = 0; n < 64; n++) {
		if (!(mask >> n & 1))
			continue;
		g_string_append(text, text->len ? ", " : "");
		if (n < G_N_ELEMENTS(names) && names[n])
			g_string_append(text, names[n]);
		else
			g_string_append_printf(text, "%u", n);
	}
	return g_string_free(text, FALSE);
}

static gboolean sets_read(struct __user_cap_data_struct sets[WORDS])
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };

	return syscall(SYS_capget, &head, sets) == 0;
}

guint64 rdmad_capabilities_permitted(void)
{
	struct __user_cap_data_struct sets[WORDS] = { 0 };

	return sets_read(sets) ? (guint64)sets[1].permitted << 32 | sets[0].permitted : 0;
}

/* Without CAP_SETPCAP the bounding set stays unchanged, which is harmless: PR_SET_NO_NEW_PRIVS is
 * set. */
static gboolean bounding_limit(guint64 kept, GError **error)
{
	for (int n = 0; n < 64; n++) {
		const int is_there = prctl(PR_CAPBSET_READ, n, 0, 0, 0);

		if (is_there < 0)
			return TRUE;
		if (is_there && !(kept >> n & 1) && prctl(PR_CAPBSET_DROP, n, 0, 0, 0) < 0 &&
		    errno != EPERM)
			return rdmad_error_errno(error, errno, "cannot drop capability %d", n);
	}
	return TRUE;
}

/* Skips capset() if nothing changes, because the service manager may forbid the call. */
static gboolean sets_limit(guint64 kept, GError **error)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct sets[WORDS] = { 0 }, limited[WORDS];

	if (!sets_read(sets))
		return rdmad_error_errno(error, errno, "cannot read the capabilities");
	for (guint i = 0; i < WORDS; i++) {
		limited[i].permitted = sets[i].permitted & (guint32)(kept >> (32 * i));
		limited[i].effective = limited[i].permitted;
		limited[i].inheritable = 0;
	}
	return memcmp(limited, sets, sizeof(sets)) == 0 ||
	       syscall(SYS_capset, &head, limited) == 0 ||
	       rdmad_error_errno(error, errno, "cannot drop capabilities");
}

gboolean rdmad_capabilities_limit(guint64 kept, GError **error)
{
	/* Kernels before 4.3 have no ambient set. */
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0 && errno != EINVAL)
		return rdmad_error_errno(error, errno, "cannot drop the ambient capabilities");
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return rdmad_error_errno(error, errno, "cannot give up new privileges");
	return bounding_limit(kept, error) && sets_limit(kept, error);
}
