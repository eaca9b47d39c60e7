/* SPDX-License-Identifier: Apache-2.0 */
/* Executes steps on the running kernel, in two namespaces of the test, one of which represents the
 * host */
#pragma once

#include <rdmad/error.h>
#include <string.h>

#include "hardware/sysroot.h"
#include "namespace.h"
#include "network/perform.h"
#include "../support/ip.h"
#include "../support/unit.h"

typedef struct {
	int host, pod;
	RdmadNetwork *host_net, *pod_net;
	RdmadSysroot *root;
	RdmadLink *nic;
	int never;
} Fixture;

static inline gboolean has_link(RdmadNetwork *net, const char *name)
{
	g_autoptr(RdmadLink) link = rdmad_link_get(net, name, NULL);

	return link != NULL;
}

static inline guint count_addresses(RdmadNetwork *net, const char *name)
{
	g_autoptr(RdmadLink) link = expect_link(net, name);
	g_autoptr(GPtrArray) all = rdmad_addresses_list(net, link->ifindex, NULL);
	guint n = 0;

	for (guint i = 0; i < all->len; i++)
		n += !rdmad_ip_is_link_local(&((RdmadAddress *)all->pdata[i])->ip);
	return n;
}

static inline guint count_routes(RdmadNetwork *net, guint metric)
{
	g_autoptr(GPtrArray) all = rdmad_routes_list(net, AF_UNSPEC, 0, 0, NULL);
	guint n = 0;

	for (guint i = 0; i < all->len; i++)
		n += ((RdmadRoute *)all->pdata[i])->metric == metric;
	return n;
}

static inline void make_nic(Fixture *f)
{
	const RdmadLinkSpec spec = {
		.kind = "veth", .name = "nic0", .peer = "wire", .mtu = 9000, .up = TRUE
	};
	g_autoptr(GError) error = NULL;
	RdmadAddress address = { .ip = ip("192.0.2.7/24") };

	rdmad_link_create(f->host_net, &spec, &error);
	g_assert_no_error(error);
	f->nic = expect_link(f->host_net, "nic0");
	rdmad_link_change(f->host_net, f->nic->parent, &(RdmadLinkChange){ .up = 1 }, &error);
	address.ifindex = f->nic->ifindex;
	rdmad_address_add(f->host_net, &address, &error);
	g_assert_no_error(error);
	rdmad_link_set_altname(f->host_net, f->nic->ifindex, "enp59s0f0np0", TRUE, &error);
	g_assert_no_error(error);
}

static inline void setup(Fixture *f)
{
	f->host = rdmad_netns_open_own(NULL, NULL);
	f->pod = namespace_new();
	f->host_net = rdmad_network_open(f->host, NULL);
	f->pod_net = rdmad_network_open(f->pod, NULL);
	f->root = rdmad_sysroot_new(NULL, NULL);
	make_nic(f);
}

static inline void teardown(Fixture *f)
{
	rdmad_link_free(f->nic);
	rdmad_network_close(f->host_net);
	if (f->pod_net)
		rdmad_network_close(f->pod_net);
	rdmad_sysroot_free(f->root);
	close(f->host);
	if (f->pod >= 0)
		close(f->pod);
}

/* ---- on a thread in the pod, as the executor does it ---- */

typedef struct {
	const Fixture *f;
	const RdmadStep *step;
	gboolean undo;
} Call;

static inline PerformContext context(const Fixture *f, PerformLink *last)
{
	return (PerformContext){ .host = f->host_net,
				 .pod = f->pod_net,
				 .host_fd = f->host,
				 .pod_fd = f->pod,
				 .root = f->root,
				 .last = last,
				 .cancelled = &f->never };
}

static inline gboolean call_run(gpointer data, GError **error)
{
	const Call *call = data;
	PerformLink last = { 0 };
	const PerformContext ctx = context(call->f, &last);
	int result;

	return call->undo ? perform_undo(&ctx, call->step, error)
			  : perform_do(&ctx, call->step, &result, error);
}

static inline gboolean step_call(const Fixture *f, const RdmadStep *step, gboolean undo,
				 GError **error)
{
	Call call = { f, step, undo };

	return f->pod >= 0 ? rdmad_netns_call(f->pod, call_run, &call, error)
			   : call_run(&call, error);
}

static inline void twice(const Fixture *f, const RdmadStep *step, gboolean undo)
{
	for (guint i = 0; i < 2; i++) {
		g_autoptr(GError) error = NULL;

		step_call(f, step, undo, &error);
		g_assert_no_error(error);
	}
}

#define GROUP 42 /* of the NIC in the host */

static inline RdmadStep *move_step(const Fixture *f)
{
	RdmadStep *step = rdmad_step_new(RDMAD_STEP_LINK_MOVE, RDMAD_STEP_IN_HOST);
	const RdmadStepAddress address = { .ip = ip("192.0.2.7/24") };
	const RdmadStepRoute route = { .to = ip("203.0.113.0/24"),
				       .gateway = ip("192.0.2.1"),
				       .table = RDMAD_ROUTE_TABLE_MAIN,
				       .metric = 77,
				       .type = RDMAD_ROUTE_UNICAST,
				       .protocol = RDMAD_ROUTE_BY_ADMINISTRATOR };
	const RdmadStepSysctl sysctl = { .path = g_strdup("net/ipv4/conf/nic0/arp_ignore"),
					 .value = g_strdup("1") };

	step->move.index = (guint32)f->nic->ifindex;
	step->move.host_name = g_strdup("nic0");
	step->move.pod_name = g_strdup("eth1");
	step->move.altnames = g_strdupv((char *[]){ (char *)"enp59s0f0np0", NULL });
	step->move.mtu = 9000;
	g_assert_true(rdmad_mac_parse(f->nic->mac, &step->move.mac));
	step->move.up = TRUE;
	step->move.group = GROUP;
	step->move.is_marked = TRUE;
	step->move.addresses = rdmad_step_addresses_new();
	g_array_append_val(step->move.addresses, address);
	step->move.routes = rdmad_step_routes_new();
	g_array_append_val(step->move.routes, route);
	step->move.sysctls = rdmad_step_sysctls_new();
	g_array_append_val(step->move.sysctls, sysctl);
	return step;
}

typedef struct {
	const char *name;
	RdmadStep *(*step)(const Fixture *f);
	void (*test)(Fixture *f, RdmadStep *step);
} Case;

static inline void test_step(gconstpointer data)
{
	const Case *row = data;
	Fixture f = { 0 };
	g_autoptr(RdmadStep) step = NULL;

	if (!namespace_leave_host())
		return;
	setup(&f);
	step = row->step(&f);
	row->test(&f, step);
	teardown(&f);
}
