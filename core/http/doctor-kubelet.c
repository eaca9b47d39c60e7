/* SPDX-License-Identifier: Apache-2.0 */
/* The folders and sockets by which kubelet is reached */
#include <sys/stat.h>

#include "http/api-doctor.h"
#include "service/claims-private.h"

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

typedef struct {
	GHashTable *pods; /* set of "namespace/pod" */
	guint claims;
} Forgotten;

static void forgotten_add(const RdmadClaim *claim, gpointer data)
{
	Forgotten *forgotten = data;

	forgotten->claims++;
	g_hash_table_add(forgotten->pods,
			 claim->pod_name
				 ? g_strdup_printf("%s/%s", claim->pod_namespace, claim->pod_name)
				 : g_strdup("a pod that it had not named yet"));
}

/* Of a checkpoint that was lost: kubelet gives what running pods have to others. */
static void check_memory(const RdmadServices *services, json_t *findings)
{
	g_autoptr(GHashTable) pods = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	Forgotten forgotten = { pods, 0 };
	g_autofree gpointer *names = NULL;
	g_autofree char *list = NULL;

	rdmad_claims_foreach_forgotten(services->claims, forgotten_add, &forgotten);
	if (!forgotten.claims)
		return;
	names = g_hash_table_get_keys_as_array(pods, NULL);
	list = g_strjoinv(", ", (char **)names);
	doctor_say(
		findings, RDMAD_FINDING_PROBLEM, "kubelet",
		"delete these pods, their controllers start others; find out why "
		"device-plugins/kubelet_internal_checkpoint in kubelet's folder was lost or "
		"damaged",
		"kubelet has lost its checkpoint: it lists running pods without the devices that "
		"they have (%u %s, of %s).  rdmad keeps their claims: it refuses to give their "
		"exclusive devices to other pods, and prefers other tokens where it is asked",
		forgotten.claims, forgotten.claims == 1 ? "claim" : "claims", list);
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
	check_memory(services, findings);
	if (!g_file_test(registry, G_FILE_TEST_IS_DIR))
		doctor_say(findings, RDMAD_FINDING_NOTE, "kubelet", ADVICE,
			   "there is no folder %s: registration by plugin watcher is not possible",
			   registry);
}
