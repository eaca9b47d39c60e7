/* SPDX-License-Identifier: Apache-2.0 */
#include "ipam.h"

#include <glib/gstdio.h>

#include "clock.h"
#include "plants.h"

#define SUBNET	     "10.7.0.%u/16"
#define LEASES_MAX   254u
#define WRITEBACK_US (30 * SIM_S)

static struct {
	Decisions *decisions;
	IpamUse use;
	char *path;
	GPtrArray *leases; /* of IpamLease */
	GPtrArray *freed;  /* the same: those that a power failure may bring back */
} ipam;

static gboolean decide_yes(Decide kind)
{
	return decide(ipam.decisions, kind, 2) != 0;
}

/* ---- leases ---- */

static void lease_free(gpointer data)
{
	IpamLease *lease = data;

	g_free(lease->container);
	g_free(lease->ifname);
	g_free(lease);
}

static IpamLease *lease_find(const char *container, const char *ifname)
{
	for (guint i = 0; i < ipam.leases->len; i++) {
		IpamLease *lease = ipam.leases->pdata[i];

		if (g_str_equal(lease->container, container) && g_str_equal(lease->ifname, ifname))
			return lease;
	}
	return NULL;
}

static gboolean is_taken(const RdmadIp *address)
{
	for (guint i = 0; i < ipam.leases->len; i++)
		if (rdmad_ip_equal(&((IpamLease *)ipam.leases->pdata[i])->address, address))
			return TRUE;
	return FALSE;
}

static RdmadIp address_next(void)
{
	RdmadIp address = { 0 };

	for (guint i = 1; i <= LEASES_MAX; i++) {
		g_autofree char *text = g_strdup_printf(SUBNET, i);

		g_assert_true(rdmad_ip_parse(text, &address, NULL));
		if (!is_taken(&address))
			return address;
	}
	g_error("%u leases, none of which was freed", LEASES_MAX);
}

static const IpamLease *lease_make(const char *container, const char *ifname)
{
	IpamLease *lease = g_new0(IpamLease, 1);

	lease->container = g_strdup(container);
	lease->ifname = g_strdup(ifname);
	lease->address = address_next();
	lease->made_us = clock_now_us();
	g_ptr_array_add(ipam.leases, lease);
	return lease;
}

static void lease_end(IpamLease *lease)
{
	guint i;

	g_assert_true(g_ptr_array_find(ipam.leases, lease, &i));
	lease->freed_us = clock_now_us();
	g_ptr_array_add(ipam.freed, g_ptr_array_steal_index(ipam.leases, i));
}

/* ---- the work of a run ---- */

char *ipam_error(int code, const char *format, ...)
{
	char message[128];
	va_list args;

	va_start(args, format);
	g_vsnprintf(message, sizeof(message), format, args);
	va_end(args);
	return g_strdup_printf("{\"cniVersion\":\"1.0.0\",\"code\":%d,\"msg\":\"%s\"}", code,
			       message);
}

/* Returns the answer of an ADD. */
static char *add(const IpamCall *call, int *status)
{
	const IpamLease *lease = lease_find(call->container, call->ifname);
	char text[RDMAD_IP_TEXT];

	*status = lease != NULL;
	if (lease)
		return ipam_error(IPAM_CODE_INTERNAL, "%s has been allocated to %s already",
				  rdmad_ip_text(&lease->address, FALSE, text), call->container);
	lease = lease_make(call->container, call->ifname);
	return g_strdup_printf("{\"cniVersion\":\"1.0.0\",\"ips\":[{\"address\":\"%s\"}]}",
			       rdmad_ip_text(&lease->address, TRUE, text));
}

char *ipam_work(const IpamCall *call, int *status)
{
	IpamLease *lease = lease_find(call->container, call->ifname);

	if (g_str_equal(call->command, "ADD"))
		return add(call, status);
	*status = 0;
	if (g_str_equal(call->command, "DEL")) {
		if (lease && !plant_skips_release())
			lease_end(lease);
		return NULL;
	}
	*status = 1;
	if (!g_str_equal(call->command, "CHECK"))
		return ipam_error(IPAM_CODE_ENVIRONMENT, "unknown CNI_COMMAND: %s", call->command);
	*status = lease == NULL;
	return lease ? NULL : ipam_error(IPAM_CODE_INTERNAL, "no address of %s", call->container);
}

void ipam_call_clear(IpamCall *call)
{
	g_free(call->command);
	g_free(call->container);
	g_free(call->ifname);
}

/* ---- a power failure ---- */

static gboolean change_is_lost(gint64 at_us, DiskOutcome outcome)
{
	if (clock_now_us() - at_us > WRITEBACK_US || outcome == DISK_KEPT)
		return FALSE;
	return outcome == DISK_LOST || decide_yes(DECIDE_KEPT);
}

/* Its file is empty. */
static void lease_forget(IpamLease *lease)
{
	lease->container[0] = '\0';
	lease->is_orphan = TRUE;
}

void ipam_cut_power(DiskOutcome outcome)
{
	for (guint i = ipam.leases->len; i-- > 0;) {
		IpamLease *lease = ipam.leases->pdata[i];

		if (!change_is_lost(lease->made_us, outcome))
			continue;
		if (outcome == DISK_TORN && decide_yes(DECIDE_KEPT))
			lease_forget(lease);
		else
			g_ptr_array_remove_index(ipam.leases, i);
	}
	for (guint i = ipam.freed->len; i-- > 0;) {
		IpamLease *lease = ipam.freed->pdata[i];

		if (!change_is_lost(lease->freed_us, outcome) ||
		    change_is_lost(lease->made_us, outcome) || is_taken(&lease->address))
			continue;
		lease->is_orphan = TRUE;
		g_ptr_array_add(ipam.leases, g_ptr_array_steal_index(ipam.freed, i));
	}
	g_ptr_array_set_size(ipam.freed, 0);
}

/* ---- functions for the others ---- */

gboolean ipam_is_used(void)
{
	return ipam.use != IPAM_OF_NO_POD;
}

gboolean ipam_is_for_next(void)
{
	return ipam.use == IPAM_OF_ALL_PODS ||
	       (ipam.use == IPAM_OF_SOME_PODS && decide_yes(DECIDE_IPAM));
}

const char *ipam_path(void)
{
	return ipam.path;
}

const GPtrArray *ipam_leases(void)
{
	return ipam.leases;
}

/* ---- life cycle ---- */

static void plugin_install(const char *root)
{
	g_autofree char *plugin = NULL;

	if (ipam.path)
		return;
	ipam.path = g_build_filename(root, "cni", NULL);
	plugin = g_build_filename(ipam.path, IPAM_TYPE, NULL);
	g_assert_cmpint(g_mkdir_with_parents(ipam.path, 0755), ==, 0);
	g_assert_true(g_file_set_contents(plugin, "", -1, NULL));
	g_assert_cmpint(g_chmod(plugin, 0755), ==, 0);
}

void ipam_begin(const char *root, Decisions *decisions, IpamUse use)
{
	plugin_install(root);
	ipam.decisions = decisions;
	ipam.use = use;
	ipam.leases = g_ptr_array_new_with_free_func(lease_free);
	ipam.freed = g_ptr_array_new_with_free_func(lease_free);
}

void ipam_end(void)
{
	g_clear_pointer(&ipam.leases, g_ptr_array_unref);
	g_clear_pointer(&ipam.freed, g_ptr_array_unref);
}
