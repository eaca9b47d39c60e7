/* SPDX-License-Identifier: Apache-2.0 */
/* The folders and sockets by which kubelet is reached */
#include <sys/stat.h>

#include "http/api-doctor.h"

#define ADVICE                                                                                     \
	"see that kubelet runs with this --root-dir, and that rdmad's container mounts the folder"

static gboolean is_socket(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISSOCK(st.st_mode);
}

static void check_socket(const RdmadServices *services, const char *name, const char *without,
			 json_t *findings)
{
	g_autofree char *path = g_build_filename(services->kubelet_dir, name, NULL);

	if (is_socket(path))
		doctor_say(findings, RDMAD_FINDING_OK, "kubelet", NULL, "%s is there", path);
	else
		doctor_say(findings, RDMAD_FINDING_PROBLEM, "kubelet", ADVICE,
			   "there is no socket at %s: %s", path, without);
}

/* Running its binary to ask would be running, as root, whatever lies at a guessed path. */
static void note_version(json_t *findings)
{
	doctor_say(findings, RDMAD_FINDING_NOTE, "kubelet",
		   "`kubectl get nodes -o wide` or `kubelet --version` on the host shows it",
		   "kubelet's version is not told over its sockets");
}

void doctor_check_kubelet(const RdmadServices *services, json_t *findings)
{
	g_autofree char *registry =
		g_build_filename(services->kubelet_dir, "plugins_registry", NULL);

	if (!g_file_test(services->kubelet_dir, G_FILE_TEST_IS_DIR)) {
		doctor_say(findings, RDMAD_FINDING_NOTE, "kubelet",
			   "on a Kubernetes node: set kubelet.root_dir or mount the folder",
			   "there is no %s: no kubelet on this node, or another --root-dir",
			   services->kubelet_dir);
		return;
	}
	note_version(findings);
	check_socket(services, "device-plugins/kubelet.sock", "the device plugin cannot register",
		     findings);
	check_socket(services, "pod-resources/kubelet.sock",
		     "which pod holds what stays unknown, and claims of ended pods stay", findings);
	if (!g_file_test(registry, G_FILE_TEST_IS_DIR))
		doctor_say(findings, RDMAD_FINDING_NOTE, "kubelet", ADVICE,
			   "there is no folder %s: registration by plugin watcher is not possible",
			   registry);
}
