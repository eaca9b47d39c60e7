/* SPDX-License-Identifier: Apache-2.0 */
#include "nic/metadata.h"

#include <rdmad/error.h>
#include <rdmad/fetch.h>
#include <rdmad/module.h>
#include <string.h>
#include <sys/socket.h>

#define BODY_MAX     4096u
#define TOKEN_MAX    512u
#define TOKEN_PATH   "/latest/api/token"
#define TOKEN_TTL    "X-aliyun-ecs-metadata-token-ttl-seconds: 21600"
#define TOKEN_HEADER "X-aliyun-ecs-metadata-token: "
#define PAUSE_MS     300u /* before the second try; each later pause is longer by a half */
#define SLICE_MS     50u

struct ErdmaMetadata {
	RdmadModule *self;
	const ErdmaNicSettings *settings;
	ErdmaMetadataDone done;
	gpointer data;
	RdmadJob *job; /* NULL: idle */
	RdmadMac mac;
};

/* ---- the values ---- */

static gboolean value_parse(const char *name, const char *text, RdmadIp *ip, GError **error)
{
	g_autofree char *value = g_strstrip(g_strdup(text));

	if (strlen(value) < RDMAD_IP_TEXT && rdmad_ip_parse(value, ip, NULL))
		return TRUE;
	g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID, "%s: \"%.48s\" is not an address",
		    name, value);
	return FALSE;
}

ErdmaNicNetwork *erdma_metadata_parse(const char *address, const char *network, const char *gateway,
				      GError **error)
{
	g_autoptr(ErdmaNicNetwork) result = erdma_nic_network_new(ERDMA_ADDRESS_METADATA);
	RdmadIp ip, of, via;

	if (!value_parse("primary-ip-address", address, &ip, error) ||
	    !value_parse("vswitch-cidr-block", network, &of, error) ||
	    !value_parse("gateway", gateway, &via, error))
		return NULL;
	if (!strchr(network, '/') || of.prefix == 0 || of.prefix == rdmad_ip_bits(&of) ||
	    !rdmad_ip_in(&ip, &of) || !rdmad_ip_in(&via, &of) || rdmad_ip_equal(&ip, &via)) {
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID,
			    "%.48s and the gateway %.48s are not hosts of the network %.48s",
			    address, gateway, network);
		return NULL;
	}
	ip.prefix = of.prefix;
	g_array_append_val(result->addresses, ip);
	result->gateway[ip.family != AF_INET] = via;
	return g_steal_pointer(&result);
}

const char *erdma_metadata_result(const GError *error)
{
	static const struct {
		RdmadError code;
		const char *word;
	} words[] = {
		{ RDMAD_ERROR_TIMEOUT, "timeout" },   { RDMAD_ERROR_UNAVAILABLE, "unavailable" },
		{ RDMAD_ERROR_NOT_FOUND, "unknown" }, { RDMAD_ERROR_INVALID, "invalid" },
		{ RDMAD_ERROR_LIMIT, "too-long" },
	};

	for (guint i = 0; error && i < G_N_ELEMENTS(words); i++)
		if (g_error_matches(error, RDMAD_ERROR, words[i].code))
			return words[i].word;
	return error ? "failed" : "success";
}

/* ---- on the worker ---- */

typedef struct {
	const RdmadFetcher *fetcher;
	char *url, *mac;
	int token_mode;
	guint connect_timeout_ms, timeout_ms, tries;
	/* while it runs */
	const RdmadJob *job;
	char *token; /* the header, or NULL */
} Query;

static void query_free(gpointer data)
{
	Query *query = data;

	g_free(query->url);
	g_free(query->mac);
	g_free(query->token);
	g_free(query);
}

static void answer_free(gpointer data)
{
	ErdmaMetadataAnswer *answer = data;

	if (!answer)
		return;
	erdma_nic_network_free(answer->network);
	g_free(answer);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ErdmaMetadataAnswer, answer_free)

static void pause_before(const Query *query, guint try)
{
	guint left_ms = PAUSE_MS;

	for (guint i = 1; i < try; i++)
		left_ms += left_ms / 2;
	for (; left_ms >= SLICE_MS && !rdmad_job_cancelled(query->job); left_ms -= SLICE_MS)
		g_usleep(SLICE_MS * 1000);
}

static gboolean is_transient(guint status)
{
	return status == 429 || status >= 500;
}

/* Repeats a request until the response is final, or the tries are used up. */
static gboolean request(const Query *query, const RdmadFetchSpec *spec,
			RdmadFetchResponse *response, GError **error)
{
	*response = (RdmadFetchResponse){ 0 };
	for (guint try = 0; try < query->tries; try++) {
		g_autoptr(GError) why = NULL;
		const gboolean last = try + 1 == query->tries;

		if (try)
			pause_before(query, try);
		g_clear_pointer(&response->body, g_free);
		if (rdmad_fetch(query->fetcher, spec, query->job, response, &why)) {
			if (last || !is_transient(response->status))
				return TRUE;
		} else if (last || (why->code != RDMAD_ERROR_TIMEOUT &&
				    why->code != RDMAD_ERROR_UNAVAILABLE)) {
			g_propagate_error(error, g_steal_pointer(&why));
			return FALSE;
		}
	}
	return FALSE;
}

static gboolean request_path(const Query *query, const char *method, const char *path,
			     const char *header, RdmadFetchResponse *response, GError **error)
{
	g_autofree char *url = g_strconcat(query->url, path, NULL);
	const char *const headers[] = { header, NULL };
	const RdmadFetchSpec spec = {
		.method = method,
		.url = url,
		.headers = headers,
		.connect_timeout_ms = query->connect_timeout_ms,
		.timeout_ms = query->timeout_ms,
		.body_max = BODY_MAX,
	};

	return request(query, &spec, response, error);
}

/* Returns FALSE. */
static gboolean status_error(const char *path, guint status, GError **error)
{
	const RdmadError code = status == 404	       ? RDMAD_ERROR_NOT_FOUND
				: is_transient(status) ? RDMAD_ERROR_UNAVAILABLE
						       : RDMAD_ERROR_INVALID;

	g_set_error(error, RDMAD_ERROR, code, "%s: status %u%s", path, status,
		    status >= 300 && status < 400 ? ", a redirect, which is not followed" : "");
	return FALSE;
}

/* The token becomes a header, so it must be one line of visible characters. */
static gboolean token_is_valid(const char *token)
{
	const gsize length = strlen(token);

	for (gsize i = 0; i < length; i++)
		if (!g_ascii_isgraph(token[i]))
			return FALSE;
	return length > 0 && length <= TOKEN_MAX;
}

/* A service without tokens answers 4xx.  An unreachable service fails here, and the values are not
 * requested. */
static gboolean token_get(Query *query, GError **error)
{
	g_autofree char *body = NULL;
	RdmadFetchResponse response;
	gboolean has_token;

	g_clear_pointer(&query->token, g_free);
	if (query->token_mode == ERDMA_TOKEN_OFF)
		return TRUE;
	if (!request_path(query, "PUT", TOKEN_PATH, TOKEN_TTL, &response, error))
		return FALSE;
	body = response.body;
	g_strstrip(body);
	has_token = response.status == 200 && token_is_valid(body);
	if (has_token)
		query->token = g_strconcat(TOKEN_HEADER, body, NULL);
	else if (query->token_mode == ERDMA_TOKEN_REQUIRED)
		return status_error(TOKEN_PATH, response.status, error);
	return TRUE;
}

/* Returns NULL and an error, or the value.  An expired token is renewed once. */
static char *value_get(Query *query, const char *path, GError **error)
{
	g_autofree char *body = NULL;
	RdmadFetchResponse response;

	if (!request_path(query, NULL, path, query->token, &response, error))
		return NULL;
	body = response.body;
	if (response.status == 401 && query->token_mode != ERDMA_TOKEN_OFF) {
		if (!token_get(query, error) ||
		    !request_path(query, NULL, path, query->token, &response, error))
			return NULL;
		g_free(body);
		body = response.body;
	}
	if (response.status != 200) {
		status_error(path, response.status, error);
		return NULL;
	}
	if (strlen(body) != response.size || !g_utf8_validate(body, -1, NULL)) {
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID, "%s: no text", path);
		return NULL;
	}
	return g_strstrip(g_steal_pointer(&body));
}

static char *nic_value_get(Query *query, const char *name, GError **error)
{
	g_autofree char *path = g_strdup_printf("/latest/meta-data/network/interfaces/macs/%s/%s",
						query->mac, name);

	return value_get(query, path, error);
}

static gpointer query_run(gpointer input, const RdmadJob *job, GError **error)
{
	Query *query = input;
	g_autoptr(ErdmaMetadataAnswer) answer = g_new0(ErdmaMetadataAnswer, 1);
	g_autofree char *primary = NULL, *address = NULL, *network = NULL, *gateway = NULL;

	query->job = job;
	if (!token_get(query, error))
		return NULL;
	primary = value_get(query, "/latest/meta-data/mac", error);
	if (!primary)
		return NULL;
	if (!rdmad_mac_parse(primary, &answer->primary)) {
		g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID,
			    "mac: \"%.48s\" is not a MAC address", primary);
		return NULL;
	}
	address = nic_value_get(query, "primary-ip-address", error);
	network = address ? nic_value_get(query, "vswitch-cidr-block", error) : NULL;
	gateway = network ? nic_value_get(query, "gateway", error) : NULL;
	answer->network = gateway ? erdma_metadata_parse(address, network, gateway, error) : NULL;
	return answer->network ? g_steal_pointer(&answer) : NULL;
}

/* ---- on the loop ---- */

static void query_done(gpointer result, const GError *error, gpointer data)
{
	ErdmaMetadata *metadata = data;
	g_autoptr(ErdmaMetadataAnswer) answer = result;
	const RdmadMac mac = metadata->mac;

	metadata->job = NULL;
	metadata->done(&mac, answer, error, metadata->data);
}

static const RdmadJobClass query_class = {
	.name = "metadata service",
	.run = query_run,
	.done = query_done,
	.free_input = query_free,
	.free_result = answer_free,
};

gboolean erdma_metadata_query(ErdmaMetadata *metadata, const RdmadMac *mac, GError **error)
{
	const ErdmaNicSettings *settings = metadata->settings;
	const RdmadFetcher *fetcher = rdmad_fetcher_get(rdmad_module_http(metadata->self), error);
	char text[RDMAD_MAC_TEXT];
	Query *query;

	g_assert(!metadata->job);
	if (!fetcher)
		return FALSE;
	query = g_new0(Query, 1);
	query->fetcher = fetcher;
	query->url = g_strdup(settings->metadata.url);
	query->mac = g_strdup(rdmad_mac_format(mac, text));
	query->token_mode = settings->metadata.token;
	query->connect_timeout_ms = (guint)settings->metadata.connect_timeout_ms;
	query->timeout_ms = (guint)settings->metadata.timeout_ms;
	query->tries = (guint)settings->metadata.tries;
	metadata->mac = *mac;
	metadata->job = rdmad_work_submit(rdmad_module_workers(metadata->self), metadata->self,
					  &query_class, query, 0, metadata, error);
	return metadata->job != NULL;
}

gboolean erdma_metadata_is_busy(const ErdmaMetadata *metadata)
{
	return metadata->job != NULL;
}

ErdmaMetadata *erdma_metadata_new(RdmadModule *self, const ErdmaNicSettings *settings,
				  ErdmaMetadataDone done, gpointer data)
{
	ErdmaMetadata *metadata = g_new0(ErdmaMetadata, 1);

	metadata->self = self;
	metadata->settings = settings;
	metadata->done = done;
	metadata->data = data;
	return metadata;
}

void erdma_metadata_free(ErdmaMetadata *metadata)
{
	if (!metadata)
		return;
	rdmad_job_cancel(metadata->job);
	g_free(metadata);
}
