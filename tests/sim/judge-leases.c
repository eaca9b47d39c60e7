/* SPDX-License-Identifier: Apache-2.0 */
/* The rules about addresses: the books of the IPAM plugin against those of the host and the
 * runtime */
#include "ipam.h"
#include "judge.h"
#include "network.h"

static const Sandbox *sandbox_of(const char *container)
{
	const GPtrArray *sandboxes = runtime_sandboxes();

	for (guint i = 0; i < sandboxes->len; i++) {
		const Sandbox *sandbox = sandboxes->pdata[i];

		if (g_str_equal(sandbox->id, container))
			return sandbox;
	}
	return NULL;
}

/* ---- the addresses of attached pods ---- */

static const IpamLease *lease_of(const Sandbox *sandbox, const char *ifname)
{
	const GPtrArray *leases = ipam_leases();

	for (guint i = 0; i < leases->len; i++) {
		const IpamLease *lease = leases->pdata[i];

		if (g_str_equal(lease->container, sandbox->id) &&
		    g_str_equal(lease->ifname, ifname))
			return lease;
	}
	return NULL;
}

static gboolean link_has(const NetworkLink *link, const RdmadIp *address)
{
	for (guint i = 0; i < link->addresses->len; i++)
		if (rdmad_ip_equal(&g_array_index(link->addresses, RdmadAddress, i).ip, address))
			return TRUE;
	return FALSE;
}

void judge_leases_attached(const Sandbox *sandbox)
{
	for (char **name = sandbox->names; sandbox->is_leased && *name; name++) {
		const NetworkLink *link;
		const IpamLease *lease;

		/* A plugin before rdmad made it. */
		if (g_str_equal(*name, "eth0"))
			continue;
		link = network_link(sandbox->netns, *name);
		lease = lease_of(sandbox, *name);
		if (!lease)
			judge_fails("a NIC of an attached pod has no lease: %s of %s", *name,
				    sandbox->pod_name);
		else if (link && !link_has(link, &lease->address))
			judge_fails("a NIC of an attached pod has not the address of its lease: "
				    "%s of %s",
				    *name, sandbox->pod_name);
	}
}

static gboolean pod_has(const Sandbox *sandbox, const RdmadIp *address)
{
	for (guint i = 0; i < sandbox->netns->links->len; i++)
		if (link_has(sandbox->netns->links->pdata[i], address))
			return TRUE;
	return FALSE;
}

static void addresses_compare(const Sandbox *one, const Sandbox *other)
{
	for (guint i = 0; i < one->netns->links->len; i++) {
		const NetworkLink *link = one->netns->links->pdata[i];

		for (guint j = 0; j < link->addresses->len; j++)
			if (pod_has(other, &g_array_index(link->addresses, RdmadAddress, j).ip))
				judge_fails("two pods have one address: %s, %s", one->pod_name,
					    other->pod_name);
	}
}

void judge_leases_look(void)
{
	const GPtrArray *sandboxes = runtime_sandboxes();

	for (guint i = 0; i < sandboxes->len; i++) {
		const Sandbox *one = sandboxes->pdata[i];

		for (guint j = 0; one->ready && j < i; j++)
			if (((const Sandbox *)sandboxes->pdata[j])->ready)
				addresses_compare(one, sandboxes->pdata[j]);
	}
}

/* ---- the ends of leases ---- */

/* A power failure has lost the end of an orphan, and nobody can know. */
static const IpamLease *lease_left(const char *container)
{
	const GPtrArray *leases = ipam_leases();

	for (guint i = 0; i < leases->len; i++) {
		const IpamLease *lease = leases->pdata[i];

		if (!lease->is_orphan && g_str_equal(lease->container, container))
			return lease;
	}
	return NULL;
}

void judge_leases_deleted(const Sandbox *sandbox)
{
	const IpamLease *lease = lease_left(sandbox->id);

	if (lease)
		judge_fails("an acknowledged DEL has left a lease: %s of %s", lease->ifname,
			    sandbox->pod_name);
}

void judge_leases_collected(const char *container)
{
	const IpamLease *lease = lease_left(container);

	if (lease)
		judge_fails("an acknowledged GC has left a lease: %s of %.8s", lease->ifname,
			    container);
}

/* A sandbox that is not attached is judged as such (judge-network.c). */
void judge_leases_quiet(void)
{
	const GPtrArray *leases = ipam_leases();

	for (guint i = 0; i < leases->len; i++) {
		const IpamLease *lease = leases->pdata[i];

		if (!lease->is_orphan && !sandbox_of(lease->container))
			judge_fails("a lease stays without its pod: %s of %.8s", lease->ifname,
				    lease->container);
	}
}
