/* SPDX-License-Identifier: Apache-2.0 */
/* The directories and sockets by which kubelet is reached */

#include "api/doctor.h"
#include "service/allocations-private.h"
#include "service/pod-watch.h"

#define ADVICE                                                                                     \
	"see that kubelet runs with this --root-dir, and that rdmad's container mounts the "       \
	"directory"

static gboolean check_socket(const DoctorSocket *socket, const char *without, json_t *findings)
{
	if (!socket->exists)
		doctor_say(findings, RDMAD_FINDING_PROBLEM, "kubelet", ADVICE,
			   "there is no socket at %s: %s", socket->path, without);
	else if (socket->dead)
		doctor_say(findings, RDMAD_FINDING_PROBLEM, "kubelet", "see that kubelet runs",
			   "no server listens at %s: %s", socket->path, without);
	else
		doctor_say(findings, RDMAD_FINDING_OK, "kubelet", NULL, "%s is there",
			   socket->path);
	return socket->exists && !socket->dead;
}

static void note_version(const DoctorFiles *files, json_t *findings)
{
	const int pid = (int)files->kubelet_pid;

	if (files->kubelet_version)
		doctor_say(findings, RDMAD_FINDING_OK, "kubelet", NULL,
			   "kubelet is %s (process %d)", files->kubelet_version, pid);
	else
		doctor_say(
			findings, RDMAD_FINDING_NOTE, "kubelet",
			"`kubectl get nodes -o wide` or `kubelet --version` on the host shows it",
			pid ? "the program of kubelet, process %d, has no version"
			    : "kubelet's version is unknown: its process is not visible",
			pid);
}

static void check_pod_watch(const RdmadServices *services, json_t *findings)
{
	const char *problem = rdmad_pod_watch_problem(services->pod_watch);

	if (problem)
		doctor_say(findings, RDMAD_FINDING_NOTE, "kubelet",
			   "mount the host's /sys/fs/cgroup and /var/log/pods into rdmad's "
			   "container, read-only",
			   "the end of a pod is noticed up to five minutes late: %s", problem);
}

typedef struct {
	GHashTable *pods; /* set of "namespace/pod" */
	guint allocations;
} Forgotten;

static void forgotten_add(const RdmadAllocation *allocation, gpointer data)
{
	Forgotten *forgotten = data;

	forgotten->allocations++;
	g_hash_table_add(forgotten->pods,
			 allocation->pod_name ? g_strdup_printf("%s/%s", allocation->pod_namespace,
								allocation->pod_name)
					      : g_strdup("a pod that it had not named yet"));
}

/* Reports a lost checkpoint: kubelet assigns the devices of running pods to other pods. */
static void check_memory(const RdmadServices *services, json_t *findings)
{
	g_autoptr(GHashTable) pods = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	Forgotten forgotten = { pods, 0 };
	g_autofree gpointer *names = NULL;
	g_autofree char *list = NULL;

	rdmad_allocations_foreach_forgotten(services->allocations, forgotten_add, &forgotten);
	if (!forgotten.allocations)
		return;
	names = g_hash_table_get_keys_as_array(pods, NULL);
	list = g_strjoinv(", ", (char **)names);
	doctor_say(
		findings, RDMAD_FINDING_PROBLEM, "kubelet",
		"delete these pods, their controllers start others; find out why "
		"device-plugins/kubelet_internal_checkpoint in kubelet's directory was lost or "
		"damaged",
		"kubelet has lost its checkpoint: it lists running pods without the devices that "
		"they have (%u %s, of %s).  rdmad keeps their allocations: it refuses to give "
		"their "
		"exclusive devices to other pods, and prefers other slots where it is asked",
		forgotten.allocations, forgotten.allocations == 1 ? "allocation" : "allocations",
		list);
}

static void check_sockets(const DoctorFiles *files, json_t *findings)
{
	if (check_socket(&files->plugins, "the device plugin cannot register", findings))
		note_version(files, findings);
	check_socket(&files->pods,
		     "the holders of devices stay unknown, and allocations of ended pods stay",
		     findings);
}

void doctor_check_kubelet(const RdmadServices *services, const DoctorFiles *files, json_t *findings)
{
	const char *dir = services->kubelet_dir;

	if (files && !files->kubelet_dir) {
		doctor_say(findings, RDMAD_FINDING_NOTE, "kubelet",
			   "on a Kubernetes node: set kubelet.root_dir or mount the directory",
			   "there is no %s: no kubelet on this node, or another --root-dir", dir);
		return;
	}
	if (files)
		check_sockets(files, findings);
	check_pod_watch(services, findings);
	check_memory(services, findings);
	if (files && !files->registry_dir)
		doctor_say(findings, RDMAD_FINDING_NOTE, "kubelet", ADVICE,
			   "there is no directory %s/plugins_registry: registration by plugin "
			   "watcher is not possible",
			   dir);
}
