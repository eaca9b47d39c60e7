/* SPDX-License-Identifier: Apache-2.0 */
/* Network namespaces for a test, with their own devices */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <rdmad/fd.h>
#include <rdmad/netns.h>
#include <rdmad/network.h>
#include <sched.h>
#include <sys/mount.h>

/* Returns the descriptor of a new namespace, without entering it; -1: not permitted. */
static inline int namespace_new(void)
{
	rdmad_autofd int own = rdmad_netns_open_own(NULL, NULL);
	int fd;

	if (unshare(CLONE_NEWNET) < 0)
		return -1;
	fd = rdmad_netns_open_own(NULL, NULL);
	g_assert_cmpint(setns(own, CLONE_NEWNET), ==, 0);
	return fd;
}

/* Moves the test into a namespace that represents the host; FALSE: the tests are skipped. */
static inline gboolean namespace_leave_host(void)
{
	if (unshare(CLONE_NEWNET) == 0)
		return TRUE;
	g_test_skip("network namespaces need root");
	return FALSE;
}

static inline RdmadLink *expect_link(RdmadNetwork *net, const char *name)
{
	g_autoptr(GError) error = NULL;
	RdmadLink *link = rdmad_link_get(net, name, &error);

	g_assert_no_error(error);
	return link;
}
