/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "clock.h"
#include "judge.h"
#include "network.h"
#include "node.h"

#define DISTURBED_US (120 * SIM_S)
#define TRY_AGAIN    "\"code\":11," /* of the CNI specification */

static struct {
	Decisions *decisions;
	gint64 disturbed_us;
	gboolean is_quiet;
	GHashTable *put_off; /* set of the UIDs of pods whose last ADD is to be tried again */
} judge;

void judge_network_begin(Decisions *decisions)
{
	judge.decisions = decisions;
	judge.disturbed_us = -2 * DISTURBED_US;
	judge.is_quiet = FALSE;
	judge.put_off = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
}

void judge_network_end(void)
{
	g_hash_table_unref(judge.put_off);
}

gboolean judge_network_puts_off(const Pod *pod)
{
	return g_hash_table_contains(judge.put_off, pod->uid);
}

void judge_disturbed(void)
{
	judge.disturbed_us = clock_now_us();
}

static guint nics_of(const Sandbox *sandbox)
{
	guint n = 0;

	for (guint i = 0; i < sandbox->netns->links->len; i++)
		n += ((const NetworkLink *)sandbox->netns->links->pdata[i])->nic < NETWORK_NICS;
	return n;
}

/* Checks that a pod has the NICs that it was promised. */
static void links_check(const Sandbox *sandbox)
{
	for (char **name = sandbox->names; *name; name++)
		if (!network_link(sandbox->netns, *name))
			judge_fails("a link of an attached pod is gone: %s of %s", *name,
				    sandbox->pod_name);
	if (node_resource(sandbox->resource)->is_exclusive && nics_of(sandbox) != sandbox->slots)
		judge_fails("an attached pod has not its NICs: %s has %u of %u", sandbox->pod_name,
			    nics_of(sandbox), sandbox->slots);
	judge_leases_attached(sandbox);
}

void judge_attached(const Sandbox *sandbox)
{
	g_autofree char *names = g_strjoinv(",", sandbox->names);

	decisions_note(judge.decisions, "attached %.8s of %s %s %" G_GINT64_FORMAT, sandbox->id,
		       sandbox->pod_name, names, clock_now_us());
	links_check(sandbox);
}

void judge_attach_refused(const Sandbox *sandbox, const char *error)
{
	decisions_note(judge.decisions, "refused %.8s of %s: %s %" G_GINT64_FORMAT, sandbox->id,
		       sandbox->pod_name, error, clock_now_us());
	if (strstr(error, TRY_AGAIN))
		g_hash_table_add(judge.put_off, g_strdup(sandbox->pod_uid));
	else
		g_hash_table_remove(judge.put_off, sandbox->pod_uid);
	/* The machine may have been suspended meanwhile. */
	if (sandbox->netns && network_links_made(sandbox->netns) &&
	    (clock_now_us() - judge.disturbed_us) % SIM_NIGHT > DISTURBED_US)
		judge_fails("a refused ADD has left links: %u of %s, %s",
			    network_links_made(sandbox->netns), sandbox->pod_name, error);
}

void judge_unready(const char *error)
{
	judge_fails("rdmad answers, and its network is not ready: %s", error);
}

void judge_checked(const Sandbox *sandbox, const char *error)
{
	decisions_note(judge.decisions, "checked %s: %s", sandbox->id, error ? error : "fine");
	if (error && judge.is_quiet)
		judge_fails("CHECK of an attached pod fails: %s, %s", sandbox->pod_name, error);
}

void judge_network_look(void)
{
	const GPtrArray *sandboxes = runtime_sandboxes();

	for (guint i = 0; i < sandboxes->len; i++) {
		const Sandbox *sandbox = sandboxes->pdata[i];

		if (sandbox->ready)
			links_check(sandbox);
	}
	judge_leases_look();
	judge_nics_look();
}

/* Returns NULL if no pod with NICs uses the namespace. */
static const Sandbox *sandbox_in(const Netns *netns)
{
	const GPtrArray *sandboxes = runtime_sandboxes();

	for (guint i = 0; i < sandboxes->len; i++) {
		const Sandbox *sandbox = sandboxes->pdata[i];

		if (sandbox->netns == netns && sandbox->ready)
			return sandbox;
	}
	return NULL;
}

/* A sandbox whose pod may have no devices left is made again and again (judge_network_quiet()): its
 * ADD may be pending. */
static gboolean has_sandbox(const char *id)
{
	const GPtrArray *sandboxes = runtime_sandboxes();

	for (guint i = 0; i < sandboxes->len; i++) {
		const Sandbox *sandbox = sandboxes->pdata[i];

		if ((sandbox->ready || judge_names_are_doubtful()) && g_str_equal(sandbox->id, id))
			return TRUE;
	}
	return FALSE;
}

void judge_network_journal(const char *container, const char *state)
{
	decisions_note(judge.decisions, "journal %.8s %s", container, state);
	if (judge.is_quiet && !has_sandbox(container))
		judge_fails("an attachment stays without its pod: %.8s, state %s", container,
			    state);
}

void judge_network_quiet(void)
{
	const GPtrArray *sandboxes = runtime_sandboxes();

	judge.is_quiet = TRUE;

	for (guint nic = 0; nic < NETWORK_NICS; nic++) {
		const Netns *place = network_place_of_nic(nic);
		g_autofree char *differs =
			place && sandbox_in(place) ? NULL : network_nic_differs(nic);

		if (differs)
			judge_fails("a NIC of the host has not come back as it was: eth%u %s",
				    1 + nic, differs);
	}
	for (guint i = 0; i < sandboxes->len; i++) {
		const Sandbox *sandbox = sandboxes->pdata[i];

		if (!sandbox->ready && !judge_names_are_doubtful())
			judge_fails("a sandbox never ends: %s", sandbox->pod_name);
	}
	judge_leases_quiet();
	judge_nics_quiet();
}
