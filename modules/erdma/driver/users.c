/* SPDX-License-Identifier: Apache-2.0 */
#include "driver/users.h"

#include <rdmad/allocations.h>
#include <rdmad/counters.h>
#include <rdmad/device.h>
#include <rdmad/inventory.h>
#include <rdmad/module.h>
#include <rdmad/sysroot.h>
#include <rdmad/work.h>
#include <string.h>
#include <unistd.h>

#include "driver/facts.h"

#define WHO_MAX 16u /* of either kind, to keep the reason readable */

struct ErdmaUsers {
	RdmadJob *job;
	GPtrArray *who;	 /* of char *: pods with allocations, then processes */
	GHashTable *ids; /* of the devices */
	ErdmaUsersDone done;
	gpointer data;
};

static void users_free(ErdmaUsers *users)
{
	g_ptr_array_unref(users->who);
	g_hash_table_unref(users->ids);
	g_free(users);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ErdmaUsers, users_free)

/* ---- processes, by RDMA netlink, on a worker ---- */

typedef struct {
	const RdmadSysroot *root;
	GPtrArray *readers;
} Query;

static void query_free(gpointer data)
{
	Query *query = data;

	g_ptr_array_unref(query->readers);
	g_free(query);
}

static char *user_text(const RdmadSysroot *root, const RdmadDeviceUser *user)
{
	g_autofree char *path = g_strdup_printf("proc/%u/comm", user->pid);
	g_autofree char *comm = rdmad_sysroot_read(root, path, NULL);
	g_autofree char *valid = comm ? g_utf8_make_valid(comm, -1) : g_strdup("?");

	return user->pod_uid ? g_strdup_printf("process %u (%s) of the pod with uid %s", user->pid,
					       valid, user->pod_uid)
			     : g_strdup_printf("process %u (%s)", user->pid, valid);
}

/* The kernel's objects (PID 0), and rdmad's, which receive events, end with the module. */
static void reading_add(const RdmadSysroot *root, const RdmadReading *reading, GPtrArray *who)
{
	for (guint i = 0; i < reading->n_users && who->len < WHO_MAX; i++)
		if (reading->users[i].pid != 0 && reading->users[i].pid != (guint)getpid())
			g_ptr_array_add(who, user_text(root, &reading->users[i]));
	if (reading->users_errnum && rdmad_sysroot_is_live(root))
		g_ptr_array_add(who, g_strdup_printf("processes that could not be listed (%s)",
						     g_strerror(reading->users_errnum)));
}

/* A device that was removed has no users. */
static gpointer query_run(gpointer input, const RdmadJob *job, GError **error)
{
	const Query *query = input;
	GPtrArray *who = g_ptr_array_new_with_free_func(g_free);

	for (guint i = 0; i < query->readers->len; i++) {
		g_autoptr(RdmadReading) reading =
			rdmad_counter_reader_read(query->readers->pdata[i], job, NULL);

		if (reading)
			reading_add(query->root, reading, who);
	}
	return who;
}

static void who_append(GPtrArray *who, const GPtrArray *more)
{
	for (guint i = 0; i < more->len; i++)
		if (!g_ptr_array_find_with_equal_func(who, more->pdata[i], g_str_equal, NULL))
			g_ptr_array_add(who, g_strdup(more->pdata[i]));
}

static void query_done(gpointer result, const GError *error, gpointer data)
{
	g_autoptr(ErdmaUsers) users = data;

	if (result) {
		g_autoptr(GPtrArray) processes = result;

		who_append(users->who, processes);
	}
	g_ptr_array_add(users->who, NULL);
	users->done((char *const *)users->who->pdata, users->data);
}

static const RdmadJobClass query_class = {
	.name = "erdma-users",
	.run = query_run,
	.done = query_done,
	.free_input = query_free,
	.free_result = (GDestroyNotify)g_ptr_array_unref,
};

/* ---- pods, by their allocations ---- */

static void allocation_add(const RdmadAllocation *allocation, gpointer data)
{
	ErdmaUsers *users = data;
	gboolean ours = FALSE;

	for (guint i = 0; allocation->devices[i] && !ours; i++)
		ours = g_hash_table_contains(users->ids, allocation->devices[i]);
	if (!ours || users->who->len >= WHO_MAX)
		return;
	g_ptr_array_add(users->who,
			allocation->pod_name
				? g_strdup_printf("pod %s/%s (holds %s)", allocation->pod_namespace,
						  allocation->pod_name, allocation->resource)
				: g_strdup_printf("allocation %s of %s", allocation->id,
						  allocation->resource));
}

ErdmaUsers *erdma_users_query(RdmadModule *self, const char *module, ErdmaUsersDone done,
			      gpointer data, GError **error)
{
	RdmadInventory *inventory = rdmad_module_inventory(self);
	g_autoptr(ErdmaUsers) users = g_new0(ErdmaUsers, 1);
	Query *query = g_new0(Query, 1);

	users->who = g_ptr_array_new_with_free_func(g_free);
	users->ids = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	users->done = done;
	users->data = data;
	query->root = rdmad_module_sysroot(self);
	query->readers = g_ptr_array_new_with_free_func((GDestroyNotify)rdmad_counter_reader_unref);
	for (guint i = 0; i < rdmad_inventory_count(inventory); i++) {
		const RdmadDevice *dev = rdmad_inventory_nth(inventory, i);

		if (!erdma_module_has_device(module, dev))
			continue;
		g_hash_table_add(users->ids, g_strdup(dev->id));
		g_ptr_array_add(query->readers,
				rdmad_counter_reader_new(query->root, dev, RDMAD_READ_USERS));
	}
	rdmad_allocations_foreach(rdmad_module_allocations(self), allocation_add, users);
	users->job = rdmad_work_submit(rdmad_module_workers(self), self, &query_class, query, 0,
				       users, error);
	return users->job ? g_steal_pointer(&users) : NULL;
}

void erdma_users_cancel(ErdmaUsers *users)
{
	if (!users)
		return;
	rdmad_job_cancel(users->job);
	users_free(users);
}
