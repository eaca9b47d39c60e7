/* SPDX-License-Identifier: Apache-2.0 */
#include "hardware/uevent.h"

#include <string.h>

/* "infiniband*" is infiniband, infiniband_verbs, infiniband_mad, infiniband_cm. */
static gboolean subsystem_matters(const char *name, gsize size)
{
	static const char *const others[] = { "net", "pci", "auxiliary" };

	if (size >= strlen("infiniband") && strncmp(name, "infiniband", strlen("infiniband")) == 0)
		return TRUE;
	for (guint i = 0; i < G_N_ELEMENTS(others); i++)
		if (size == strlen(others[i]) && memcmp(name, others[i], size) == 0)
			return TRUE;
	return FALSE;
}

gboolean rdmad_uevent_matters(const char *message, gsize size)
{
	static const char key[] = "SUBSYSTEM=";
	const char *end = message + size;
	const gsize key_size = sizeof(key) - 1;

	for (const char *at = message; at < end;) {
		const gsize n = strnlen(at, (gsize)(end - at));

		if (n > key_size && memcmp(at, key, key_size) == 0)
			return subsystem_matters(at + key_size, n - key_size);
		at += n + 1;
	}
	return FALSE;
}
