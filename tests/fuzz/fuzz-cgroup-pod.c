/* SPDX-License-Identifier: Apache-2.0 */
/* /proc/PID/cgroup: the UID and the ID that are found are well-formed. */
#include <stdint.h>
#include <string.h>

#include <rdmad/cgroup-pod.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	g_autofree char *text = g_strndup((const char *)data, size);
	RdmadCgroupPod pod;
	gsize len;

	if (!rdmad_cgroup_pod_parse(text, &pod))
		return 0;
	len = strlen(pod.uid);
	g_assert_true(len == 32 || len == 36);
	g_assert_cmpuint(strspn(pod.uid, "0123456789abcdef-"), ==, len);
	len = strlen(pod.container_id);
	g_assert_true(len == 0 || len == 64);
	g_assert_cmpuint(strspn(pod.container_id, "0123456789abcdef"), ==, len);
	return 0;
}
