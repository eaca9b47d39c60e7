/* SPDX-License-Identifier: Apache-2.0 */
#include <rdmad/pod-log-directory.h>
#include <string.h>

#define NAME_MAX_LENGTH 253u
#define UID_MAX_LENGTH	64u

#define NAME_CHARS "abcdefghijklmnopqrstuvwxyz0123456789-."
#define UID_CHARS  "abcdefABCDEF0123456789-"

static gboolean consists_of(const char *text, const char *chars, gsize max)
{
	const gsize n = strspn(text, chars);

	return n > 0 && n <= max && text[n] == '\0';
}

gboolean rdmad_pod_log_directory_parse(const char *name, RdmadPodLogDirectory *directory)
{
	g_auto(GStrv) parts = g_strsplit(name, "_", 4);

	*directory = (RdmadPodLogDirectory){ 0 };
	if (g_strv_length(parts) != 3 || !consists_of(parts[0], NAME_CHARS, NAME_MAX_LENGTH) ||
	    !consists_of(parts[1], NAME_CHARS, NAME_MAX_LENGTH) ||
	    !consists_of(parts[2], UID_CHARS, UID_MAX_LENGTH))
		return FALSE;
	directory->pod_namespace = g_steal_pointer(&parts[0]);
	directory->pod_name = g_steal_pointer(&parts[1]);
	directory->uid = g_steal_pointer(&parts[2]);
	/* g_strfreev() stops at the first NULL; all strings are stolen. */
	return TRUE;
}

void rdmad_pod_log_directory_clear(RdmadPodLogDirectory *directory)
{
	g_clear_pointer(&directory->pod_namespace, g_free);
	g_clear_pointer(&directory->pod_name, g_free);
	g_clear_pointer(&directory->uid, g_free);
}
