/* SPDX-License-Identifier: Apache-2.0 */
#include <rdmad/cgroup-pod.h>
#include "../support/unit.h"

#define UID    "0e7f1ca3-1b2c-4d5e-8f90-a1b2c3d4e5f6"
#define UID_   "0e7f1ca3_1b2c_4d5e_8f90_a1b2c3d4e5f6"
#define OTHER  "11111111-2222-3333-4444-555555555555"
#define STATIC "4b8a0f1cdb3d95d0e2ad2b7e8d0f3a11"
#define ID     "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define ID2    "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210"

typedef struct {
	const char *text, *uid, *container; /* uid NULL: not in a pod */
} Case;

static const Case cases[] = {
	/* systemd's driver */
	{ "0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" UID_
	  ".slice/cri-containerd-" ID ".scope\n",
	  UID, ID },
	{ "0::/kubepods.slice/kubepods-pod" UID_ ".slice/crio-" ID ".scope\n", UID, ID },
	{ "0::/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod" UID_
	  ".slice/docker-" ID ".scope\n",
	  UID, ID },
	{ "0::/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod" UID_
	  ".slice/cri-containerd-" ID ".scope",
	  UID, ID },
	/* cgroupfs' driver */
	{ "0::/kubepods/burstable/pod" UID "/" ID "\n", UID, ID },
	{ "0::/kubepods/pod" UID "/crio-" ID "\n", UID, ID },
	{ "0::/docker/" ID2 "/kubelet/kubepods/burstable/pod" UID "/" ID "\n", UID, ID },
	/* The runtime and kubelet use different drivers. */
	{ "0::/system.slice/containerd.service/kubepods-burstable-pod" UID_
	  ".slice:cri-containerd:" ID "\n",
	  UID, ID },
	/* A static pod, whose UID is a hash. */
	{ "0::/kubepods/burstable/pod" STATIC "/" ID "\n", STATIC, ID },
	{ "0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" STATIC
	  ".slice/cri-containerd-" ID ".scope\n",
	  STATIC, ID },
	/* Cgroups made inside a container. */
	{ "0::/kubepods.slice/kubepods-pod" UID_ ".slice/cri-containerd-" ID
	  ".scope/system.slice/sshd.service\n",
	  UID, ID },
	{ "0::/kubepods/pod" UID "/" ID "/docker/" ID2 "\n", UID, ID },
	{ "0::/kubepods/pod" UID "/" ID "/kubepods/pod" OTHER "/" ID2 "\n", UID, ID },
	/* v1: one line per controller; and both versions. */
	{ "12:rdma:/\n11:cpu,cpuacct:/kubepods/burstable/pod" UID "/" ID "\n1:name=systemd:/\n",
	  UID, ID },
	{ "1:name=systemd:/kubepods/pod" UID "/" ID "\n0::/\n", UID, ID },
	/* As visible within a cgroup namespace. */
	{ "0::/../../kubepods-burstable-pod" UID_ ".slice/cri-containerd-" ID ".scope\n", UID, ID },
	{ "0::/../../pod" UID "/" ID "\n", UID, ID },
	{ "0::/../cri-containerd-" ID ".scope\n", NULL, NULL },
	/* An unknown form of the runtime, or no container. */
	{ "0::/kubepods/pod" UID "/kata_" ID "\n", UID, "" },
	{ "0::/kubepods/pod" UID "\n", UID, "" },
	{ "0::/kubepods/pod" UID "/crio-conmon-" ID ".scope\n", UID, "" },
	{ "0::/kubepods/pod" UID "/0123456789abcdef\n", UID, "" },
	/* Removed while its last process ends. */
	{ "0::/kubepods/pod" UID "/" ID " (deleted)\n", UID, ID },
	{ "0::/kubepods.slice/kubepods-pod" UID_ ".slice/crio-" ID ".scope (deleted)\n", UID, ID },
	/* Not a pod. */
	{ "", NULL, NULL },
	{ "\n\n", NULL, NULL },
	{ "0::/\n", NULL, NULL },
	{ "0::", NULL, NULL },
	{ ":::::\n", NULL, NULL },
	{ "0::/system.slice/ssh.service\n", NULL, NULL },
	{ "0::/user.slice/user-1000.slice/session-1.scope\n", NULL, NULL },
	{ "0::/machine.slice/libpod-" ID ".scope\n", NULL, NULL },
	{ "0::/user.slice/pod" UID "/" ID "\n", NULL, NULL },
	{ "0::/kubepods.slice/kubepods-burstable.slice\n", NULL, NULL },
	{ "0::/kubepods/burstable\n", NULL, NULL },
	/* Invalid UIDs. */
	{ "0::/kubepods/pod\n", NULL, NULL },
	{ "0::/kubepods/podinfra/" ID "\n", NULL, NULL },
	{ "0::/kubepods/pod" UID "f/" ID "\n", NULL, NULL },
	{ "0::/kubepods/pod0e7f1ca3-1b2c-4d5e-8f90-a1b2c3d4e5f/" ID "\n", NULL, NULL },
	{ "0::/kubepods/pod0E7F1CA3-1B2C-4D5E-8F90-A1B2C3D4E5F6/" ID "\n", NULL, NULL },
	{ "0::/kubepods/pod" ID "/" ID "\n", NULL, NULL },
};

static void test_a_process_is_of_the_pod_whose_cgroup_it_is_in(void)
{
	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		const Case *c = &cases[i];
		RdmadCgroupPod pod;

		g_test_message("case %zu", i);
		g_assert_cmpint(rdmad_cgroup_pod_parse(c->text, &pod), ==, c->uid != NULL);
		if (!c->uid)
			continue;
		g_assert_cmpstr(pod.uid, ==, c->uid);
		g_assert_cmpstr(pod.container_id, ==, c->container);
	}
}

/* The sanitizer reports reads beyond the end. */
static void test_a_file_may_end_anywhere(void)
{
	const char *text = cases[0].text;

	for (gsize len = strlen(text); len > 0; len--) {
		g_autofree char *cut = g_strndup(text, len);
		RdmadCgroupPod pod;

		if (rdmad_cgroup_pod_parse(cut, &pod))
			g_assert_cmpstr(pod.uid, ==, UID);
	}
}

#define TEST(name) UNIT_TEST("/cgroup-pod/" #name, test_##name)

const UnitTest unit_tests[] = {
	TEST(a_process_is_of_the_pod_whose_cgroup_it_is_in),
	TEST(a_file_may_end_anywhere),
	{ 0 },
};
