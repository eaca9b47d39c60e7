/* SPDX-License-Identifier: Apache-2.0 */
/* A host with a NIC, and a pod: two namespaces of a test on the running kernel */
#pragma once

#include <rdmad/error.h>
#include <rdmad/network.h>

#include "namespace.h"
#include "../support/unit.h"

typedef struct {
	gboolean ready;
	int pod;
	RdmadNetwork *host_net, *pod_net;
	RdmadLink *nic; /* on the host */
} Fixture;

static inline void pod_setup(Fixture *f, gconstpointer data)
{
	const RdmadLinkSpec spec = {
		.kind = "veth", .name = "nic0", .peer = "wire", .mtu = 9000, .up = TRUE
	};
	g_autoptr(GError) error = NULL;

	if (!namespace_leave_host())
		return;
	f->pod = namespace_new();
	f->host_net = rdmad_network_open(0, &error);
	g_assert_no_error(error);
	f->pod_net = rdmad_network_open(f->pod, &error);
	g_assert_no_error(error);
	rdmad_link_create(f->host_net, &spec, &error);
	g_assert_no_error(error);
	f->nic = rdmad_link_get(f->host_net, "nic0", &error);
	g_assert_no_error(error);
	/* Without the other end, there is no carrier. */
	g_assert_true(rdmad_link_change(f->host_net, f->nic->parent, &(RdmadLinkChange){ .up = 1 },
					NULL));
	f->ready = TRUE;
}

static inline void pod_teardown(Fixture *f, gconstpointer data)
{
	if (!f->ready)
		return;
	rdmad_link_free(f->nic);
	rdmad_network_close(f->host_net);
	rdmad_network_close(f->pod_net);
	close(f->pod);
}

static inline void expect_no_link(RdmadNetwork *net, const char *name)
{
	g_autoptr(GError) error = NULL;

	g_assert_null(rdmad_link_get(net, name, &error));
	g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_NOT_FOUND);
	g_assert_cmpint(rdmad_network_errnum(net), ==, ENODEV);
}

static inline void expect_created(RdmadNetwork *net, RdmadLinkSpec spec)
{
	g_autoptr(GError) error = NULL;

	rdmad_link_create(net, &spec, &error);
	g_assert_no_error(error);
}

#define TEST_WITH_POD(program, name)                                                               \
	UNIT_FIXTURE_TEST("/" program "/" #name, Fixture, NULL, pod_setup, test_##name,            \
			  pod_teardown)
