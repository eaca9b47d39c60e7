/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules of a hand-over: kubelet notices nothing of one without a fault; and with faults, rdmad
 * continues no connection that kubelet has meanwhile given up because of another one
 */
#include <rdmad/hand-over.h>
#include <string.h>

#include "clock.h"
#include "judge.h"
#include "kubelet.h"
#include "node.h"

/* Nobody reads a call that comes while another resource finishes its calls, and until the successor
 * has started; kubelet waits for 30 s. */
#define TAKES_US (20 * SIM_S)

static struct {
	guint kept[NODE_RESOURCES];  /* kubelet's endpoint, which must stay; 0: it need not */
	guint given[NODE_RESOURCES]; /* the one whose connection was given */
	gint64 moved_us;	     /* when the last part was given or taken over */
	gint64 failed_us;	     /* when a successor could not start */
} hand_over;

void judge_hand_over_begin(void)
{
	memset(&hand_over, 0, sizeof(hand_over));
}

/* The successor has the resources of the file, also after a reload that was refused. */
void judge_hand_over_asked(gboolean is_calm)
{
	memset(hand_over.given, 0, sizeof(hand_over.given)); /* those of the one before */
	for (guint i = 0; is_calm && i < NODE_RESOURCES; i++)
		hand_over.kept[i] =
			node_resources[i].devices ? kubelet_endpoint(node_resources[i].name) : 0;
}

void judge_hand_over_failed(void)
{
	memset(hand_over.kept, 0, sizeof(hand_over.kept));
}

void judge_hand_over_disturbed(void)
{
	judge_hand_over_failed();
	memset(hand_over.given, 0, sizeof(hand_over.given));
}

void judge_given(const char *part)
{
	hand_over.moved_us = clock_now_us();
	for (guint i = 0; i < NODE_RESOURCES; i++)
		if (g_str_has_suffix(part, node_resources[i].name))
			hand_over.given[i] = kubelet_endpoint(node_resources[i].name);
}

void judge_successor_failed(void)
{
	hand_over.failed_us = clock_now_us();
}

gint64 judge_hand_over_takes_us(gint64 took_us)
{
	if (hand_over.failed_us > clock_now_us() - took_us)
		return took_us;
	return hand_over.moved_us > clock_now_us() - took_us - TAKES_US ? TAKES_US : 0;
}

gboolean judge_hand_over_was(void)
{
	return hand_over.moved_us != 0;
}

void judge_hand_over_look(void)
{
	for (guint i = 0; i < NODE_RESOURCES; i++) {
		const NodeResource *resource = &node_resources[i];

		if (hand_over.kept[i] && kubelet_endpoint(resource->name) != hand_over.kept[i])
			judge_fails("kubelet notices a hand-over: of %s", resource->name);
	}
}

/* ---- replaced function ---- */

typedef struct PluginServer PluginServer;
typedef struct PluginServerOps PluginServerOps;

PluginServer *__real_plugin_server_take(RdmadModule *self, const char *resource,
					RdmadInheritedPart *part, GBytes *list,
					const PluginServerOps *ops, gpointer data, GError **error);
PluginServer *__wrap_plugin_server_take(RdmadModule *self, const char *resource,
					RdmadInheritedPart *part, GBytes *list,
					const PluginServerOps *ops, gpointer data, GError **error);
PluginServer *__wrap_plugin_server_take(RdmadModule *self, const char *resource,
					RdmadInheritedPart *part, GBytes *list,
					const PluginServerOps *ops, gpointer data, GError **error)
{
	PluginServer *server =
		__real_plugin_server_take(self, resource, part, list, ops, data, error);

	hand_over.moved_us = clock_now_us();
	for (guint i = 0; server && i < NODE_RESOURCES; i++)
		if (g_str_equal(resource, node_resources[i].name) && hand_over.given[i] &&
		    hand_over.given[i] != kubelet_endpoint(resource))
			judge_fails("a connection is continued that kubelet has given up: of %s",
				    resource);
	return server;
}
