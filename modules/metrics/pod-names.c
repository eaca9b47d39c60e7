/* SPDX-License-Identifier: Apache-2.0 */
#include "pod-names.h"

#include <rdmad/pod-log-directory.h>
#include <string.h>

#define PODS_MAX  4096u
#define REREAD_US (10 * G_USEC_PER_SEC)

struct PodNames {
	int refs;
	gint64 read_us;
	GHashTable *by_uid;  /* PodName */
	GHashTable *missing; /* set of UIDs that were not found */
};

PodNames *pod_names_ref(PodNames *names)
{
	if (names)
		g_atomic_int_inc(&names->refs);
	return names;
}

void pod_names_unref(PodNames *names)
{
	if (!g_atomic_int_dec_and_test(&names->refs))
		return;
	g_hash_table_unref(names->by_uid);
	g_hash_table_unref(names->missing);
	g_free(names);
}

/* One block: the struct and both strings. */
static PodName *pod_name_new(const char *namespace, const char *name)
{
	const gsize n = strlen(namespace) + 1, m = strlen(name) + 1;
	PodName *pod = g_malloc(sizeof(*pod) + n + m);
	char *text = (char *)(pod + 1);

	pod->namespace = memcpy(text, namespace, n);
	pod->name = memcpy(text + n, name, m);
	return pod;
}

static void names_add(PodNames *names, const char *name)
{
	g_auto(RdmadPodLogDirectory) directory = { 0 };

	if (rdmad_pod_log_directory_parse(name, &directory))
		g_hash_table_insert(names->by_uid, g_steal_pointer(&directory.uid),
				    pod_name_new(directory.pod_namespace, directory.pod_name));
}

static gboolean error_may_pass(const GError *error)
{
	return g_error_matches(error, G_FILE_ERROR, G_FILE_ERROR_MFILE) ||
	       g_error_matches(error, G_FILE_ERROR, G_FILE_ERROR_NFILE) ||
	       g_error_matches(error, G_FILE_ERROR, G_FILE_ERROR_NOMEM) ||
	       g_error_matches(error, G_FILE_ERROR, G_FILE_ERROR_IO);
}

/* Returns NULL if the directory cannot be opened now. */
static PodNames *names_read(const char *directory, gint64 now_us)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(GDir) dir = g_dir_open(directory, 0, &error);
	PodNames *names;
	const char *entry;

	if (error && error_may_pass(error))
		return NULL;
	names = g_new0(PodNames, 1);
	names->refs = 1;
	names->read_us = now_us;
	names->by_uid = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	names->missing = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	for (guint i = 0; dir && i < PODS_MAX && (entry = g_dir_read_name(dir)); i++)
		names_add(names, entry);
	return names;
}

static gboolean names_are_recent(const PodNames *names, gint64 now_us)
{
	return names && now_us - names->read_us < REREAD_US;
}

static void names_add_missing(PodNames *names, const char *uid)
{
	if (!g_hash_table_contains(names->by_uid, uid) &&
	    g_hash_table_size(names->missing) < PODS_MAX)
		g_hash_table_add(names->missing, g_strdup(uid));
}

static void names_copy_missing(PodNames *names, const PodNames *old)
{
	GHashTableIter iter;
	gpointer uid;

	g_hash_table_iter_init(&iter, old->missing);
	while (g_hash_table_iter_next(&iter, &uid, NULL))
		names_add_missing(names, uid);
}

PodNames *pod_names_follow(PodNames *old, const char *directory, const char *uid, gint64 now_us)
{
	const gboolean recent = names_are_recent(old, now_us);
	PodNames *names;

	if (pod_names_lookup(old, uid) || (recent && g_hash_table_contains(old->missing, uid)))
		return pod_names_ref(old);
	names = names_read(directory, now_us);
	if (!names)
		return pod_names_ref(old);
	if (recent)
		names_copy_missing(names, old);
	names_add_missing(names, uid);
	return names;
}

const PodName *pod_names_lookup(const PodNames *names, const char *uid)
{
	return names ? g_hash_table_lookup(names->by_uid, uid) : NULL;
}

PodNames *pod_names_newer(PodNames *a, PodNames *b)
{
	if (!a || !b)
		return a ? a : b;
	return a->read_us >= b->read_us ? a : b;
}
