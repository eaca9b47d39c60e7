/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel and its limits */
#include <rdmad/attributes.h>
#include <rdmad/sysroot.h>
#include <string.h>
#include <sys/resource.h>

#include "api/doctor.h"

static void check_kernel(const DoctorFiles *files, json_t *findings)
{
	if (files->kernel)
		doctor_say(findings, RDMAD_FINDING_OK, "kernel", NULL, "Linux %s", files->kernel);
	else
		doctor_say(findings, RDMAD_FINDING_NOTE, "kernel", NULL,
			   "its release cannot be read: %s", files->kernel_error->message);
}

static void check_machine(const RdmadServices *services, json_t *findings)
{
	if (!rdmad_sysroot_is_live(services->sysroot))
		doctor_say(findings, RDMAD_FINDING_NOTE, "machine", NULL,
			   "this is a recorded machine (--sysroot): without netlink and verbs");
}

static void check_netns_mode(const RdmadServices *services, json_t *findings)
{
	const char *mode = rdmad_attributes_get(services->attributes, "node:netns-mode");

	if (!mode)
		doctor_say(findings, RDMAD_FINDING_NOTE, "netns mode", NULL,
			   "unknown: neither RDMA netlink nor ib_core's parameter has it");
	else if (g_str_equal(mode, "shared"))
		doctor_say(findings, RDMAD_FINDING_OK, "netns mode", NULL,
			   "shared: every network namespace sees every RDMA device; a pod may use "
			   "those whose character devices it was given");
	else
		doctor_say(findings, RDMAD_FINDING_NOTE, "netns mode",
			   "pods with devices of a shared pool need the shared mode: set \"options "
			   "ib_core netns_mode=1\" in /etc/modprobe.d and reboot",
			   "%s: a pod sees only the RDMA devices that were moved into its network "
			   "namespace",
			   mode);
}

static void check_memlock(json_t *findings)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_MEMLOCK, &limit) < 0)
		return;
	if (limit.rlim_cur == RLIM_INFINITY)
		doctor_say(findings, RDMAD_FINDING_OK, "memlock", NULL, "rdmad: unlimited");
	else
		doctor_say(findings, RDMAD_FINDING_OK, "memlock", NULL,
			   "rdmad: %" G_GUINT64_FORMAT " KiB", (guint64)limit.rlim_cur / 1024);
	doctor_say(findings, RDMAD_FINDING_OK, "memlock",
		   "set LimitMEMLOCK=infinity in the container runtime's unit; or give the pod "
		   "IPC_LOCK, which works for root in the pod only",
		   "pods inherit the container runtime's limit (containerd's default: 8 MiB), and "
		   "memory registration fails above it: \"Cannot allocate memory\", or NCCL falls "
		   "back to TCP");
}

static void check_inotify(gint64 instances, json_t *findings)
{
	if (instances == RDMAD_UNKNOWN)
		return;
	if (instances < 128)
		doctor_say(findings, RDMAD_FINDING_NOTE, "inotify",
			   "raise it: sysctl fs.inotify.max_user_instances=1024",
			   "at most %" G_GINT64_FORMAT
			   " instances a user: where none is left, rdmad "
			   "sees a restart of kubelet late, by polling",
			   instances);
	else
		doctor_say(findings, RDMAD_FINDING_OK, "inotify", NULL,
			   "%" G_GINT64_FORMAT " instances a user", instances);
}

void doctor_check_node(const RdmadServices *services, const DoctorFiles *files, json_t *findings)
{
	if (files)
		check_kernel(files, findings);
	check_machine(services, findings);
	check_netns_mode(services, findings);
	check_memlock(findings);
	if (files)
		check_inotify(files->inotify_instances, findings);
}
