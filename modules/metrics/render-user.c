/* SPDX-License-Identifier: Apache-2.0 */
/* Who uses a device: all together, and pod by pod. */
#include "render-private.h"

#define POD_KINDS (RDMAD_USES_CM_ID + 1) /* that pods are told of */

typedef struct {
	guint64 objects[RDMAD_USES_KINDS];
} Uses;

static void uses_add(Uses *uses, const RdmadDeviceUser *user)
{
	for (guint i = 0; i < RDMAD_USES_KINDS; i++)
		uses->objects[i] += user->objects[i];
}

/* uid -> Uses. */
static GHashTable *pods_sum(const RdmadReading *reading)
{
	GHashTable *pods = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, g_free);

	for (guint i = 0; i < reading->n_users; i++) {
		const RdmadDeviceUser *user = &reading->users[i];
		Uses *uses;

		if (!user->pod_uid)
			continue;
		uses = g_hash_table_lookup(pods, user->pod_uid);
		if (!uses) {
			uses = g_new0(Uses, 1);
			g_hash_table_insert(pods, (gpointer)user->pod_uid, uses);
		}
		uses_add(uses, user);
	}
	return pods;
}

static void pod_put(Render *render, const DeviceSample *sample, const char *uid, const Uses *uses)
{
	const PodName *pod = pod_names_lookup(sample->pods, uid);
	const guint unlisted = sample->reading->users_unlisted;
	Labels *labels = &render->labels;
	const gsize mark = labels_mark(labels);

	labels_add(labels, "namespace", pod ? pod->namespace : "");
	labels_add(labels, "pod", pod ? pod->name : "");
	labels_add(labels, "pod_uid", uid);
	for (guint i = 0; i < POD_KINDS; i++)
		if (!(unlisted & 1u << i))
			family_put(render->families[RENDER_POD_USES + i], labels, uses->objects[i]);
	labels_back(labels, mark);
}

static void pods_put(Render *render, const DeviceSample *sample)
{
	g_autoptr(GHashTable) pods = pods_sum(sample->reading);
	GHashTableIter iter;
	gpointer uid, uses;

	g_hash_table_iter_init(&iter, pods);
	while (g_hash_table_iter_next(&iter, &uid, &uses))
		pod_put(render, sample, uid, uses);
}

void render_users(Render *render, const DeviceSample *sample)
{
	const RdmadReading *reading = sample->reading;
	Uses all = { 0 };

	if (!reading || reading->users_errnum || !(render->snapshot->what & RDMAD_READ_USERS))
		return;
	for (guint i = 0; i < reading->n_users; i++)
		uses_add(&all, &reading->users[i]);
	for (guint i = 0; i < RDMAD_USES_KINDS; i++)
		family_put(render->families[RENDER_DEVICE_USES + i], &render->labels,
			   all.objects[i]);
	pods_put(render, sample);
}
