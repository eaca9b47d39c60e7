/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Module kube: client of the Kubernetes API server
 *
 *	modules = {
 *	  kube = {
 *	    server = "";		# "https://10.0.0.1:6443"; "": KUBERNETES_SERVICE_HOST
 *	    token_file = "/var/run/secrets/kubernetes.io/serviceaccount/token";
 *	    ca_file = "/var/run/secrets/kubernetes.io/serviceaccount/ca.crt";
 *	    node = "";			# "": NODE_NAME, else the host's name
 *	    connect_timeout = "5s";
 *	    timeout = "30s";		# of a request other than a watch
 *	    watch_timeout = "5m";	# a watch ends after one to two times this
 *	    watch_quiet = "2m";		# a watch that is silent this long is restarted
 *	    retry = "800ms";		# after a failure; each failure doubles it
 *	    retry_max = "30s";
 *	    labels = ( "*" );		# of the Node that become attributes, "label:<name>"
 *	    publish = true;		# labels on the Node
 *	    prefix = "rdmad.io/";	# of these labels
 *	    rails = ( "*" );		# devices that <prefix>rails counts
 *	    publish_interval = "10s";	# minimum between two changes of them
 *	    events = true;		# on pods and on the Node
 *	    event_interval = "1s";	# minimum between two of them
 *	  };
 *	};
 */
#include <rdmad/log.h>
#include <rdmad/stats.h>

#include "events.h"
#include "node.h"
#include "pods.h"
#include "publish.h"

typedef struct {
	RdmadModule *self;
	KubeSettings *settings;
	KubeClient *client;
	KubeNode *node;
	KubePublish *publish;
	KubeEvents *events;
	KubePods *pods;
	RdmadStat *age;
} Kube;

static void age_collect(RdmadStat *stat, gpointer data)
{
	const Kube *kube = data;
	const double age = kube->node ? kube_node_age(kube->node) : -1;

	if (age >= 0)
		rdmad_stat_set(stat, age, NULL);
}

static const RdmadStatClass age_class = {
	.type = RDMAD_STAT_GAUGE,
	.name = "rdmad_kube_watch_age_seconds",
	.unit = "seconds",
	.help = "Time since the last line of the watch of the Node; the server sends a bookmark "
		"each minute",
	.collect = age_collect,
};

static gpointer kube_create(RdmadModule *self, const RdmadConfigNode *config, GError **error)
{
	KubeSettings *settings = kube_settings_parse(config, error);
	Kube *kube;

	if (!settings)
		return NULL;
	kube = g_new0(Kube, 1);
	kube->self = self;
	kube->settings = settings;
	return kube;
}

static void labels_changed(gpointer data)
{
	Kube *kube = data;

	kube_publish_update(kube->publish, kube->node);
}

/* Frees the parts in the reverse order of kube_begin(). */
static void kube_end(Kube *kube)
{
	g_clear_pointer(&kube->age, rdmad_stat_free);
	g_clear_pointer(&kube->pods, kube_pods_free);
	g_clear_pointer(&kube->events, kube_events_free);
	g_clear_pointer(&kube->publish, kube_publish_free);
	g_clear_pointer(&kube->node, kube_node_free);
	g_clear_pointer(&kube->client, kube_client_free);
}

static gboolean kube_begin(Kube *kube, GError **error)
{
	RdmadModule *self = kube->self;

	kube->client = kube_client_new(self, kube->settings, error);
	if (!kube->client)
		return FALSE;
	kube->node = kube_node_new(self, kube->client, kube->settings, labels_changed, kube);
	kube->publish = kube_publish_new(self, kube->client, kube->settings);
	kube->events = kube_events_new(self, kube->client, kube->settings, error);
	kube->pods = kube->events ? kube_pods_new(self, kube->client, error) : NULL;
	kube->age = kube->pods ? rdmad_stats_add(rdmad_module_stats(self), self, &age_class, kube,
						 error)
			       : NULL;
	return kube->age != NULL;
}

static gboolean kube_start(gpointer state, GError **error)
{
	return kube_begin(state, error);
}

/* All parts share the settings by one pointer, so the contents are replaced.  The attributes stay
 * while the labels are read again, so that no resource changes its mode. */
static gboolean kube_reload(gpointer state, const RdmadConfigNode *config, GError **error)
{
	Kube *kube = state;
	KubeSettings *settings = kube_settings_parse(config, error);
	KubeSettings before;

	if (!settings)
		return FALSE;
	before = *kube->settings;
	*kube->settings = *settings;
	*settings = before;
	kube_settings_free(settings);
	kube_node_reload(kube->node);
	kube_events_reload(kube->events);
	return TRUE;
}

static void kube_stop(gpointer state)
{
	kube_end(state);
}

static void kube_destroy(gpointer state)
{
	Kube *kube = state;

	kube_end(kube);
	kube_settings_free(kube->settings);
	g_free(kube);
}

static json_t *kube_status(gpointer state)
{
	const Kube *kube = state;

	return json_pack("{s:o, s:o, s:o, s:o, s:o}", "api_server",
			 kube_client_status(kube->client), "node", kube_node_status(kube->node),
			 "publish", kube_publish_status(kube->publish), "events",
			 kube_events_status(kube->events), "pods", kube_pods_status(kube->pods));
}

static void kube_doctor(gpointer state, json_t *findings)
{
	const Kube *kube = state;

	kube_client_doctor(kube->client, findings);
	kube_node_doctor(kube->node, findings);
	kube_publish_doctor(kube->publish, findings);
	kube_events_doctor(kube->events, findings);
}

/* The module has no `ready`: the node serves its pods without the API server, too. */
RDMAD_MODULE_DEFINE("kube", .description = "Client of the Kubernetes API server",
		    .create = kube_create, .start = kube_start, .reload = kube_reload,
		    .stop = kube_stop, .destroy = kube_destroy, .status = kube_status,
		    .doctor = kube_doctor);
