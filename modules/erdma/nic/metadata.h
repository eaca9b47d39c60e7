/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Client of the instance metadata service
 *
 *	PUT /latest/api/token	hardened mode; X-aliyun-ecs-metadata-token-ttl-seconds
 *	GET /latest/meta-data/mac	of the primary NIC
 *	GET /latest/meta-data/network/interfaces/macs/<mac>/primary-ip-address
 *	GET .../vswitch-cidr-block
 *	GET .../gateway
 *
 * The client runs one query at a time, on a worker.  The first query loads libcurl.
 */
#pragma once

#include "nic/plan.h"

typedef struct ErdmaMetadata ErdmaMetadata;

typedef struct {
	RdmadMac primary;	  /* unset: unknown */
	ErdmaNicNetwork *network; /* of the NIC */
} ErdmaMetadataAnswer;

/* Called on the loop; `answer` is valid during the call, NULL on an error. */
typedef void (*ErdmaMetadataDone)(const RdmadMac *mac, const ErdmaMetadataAnswer *answer,
				  const GError *error, gpointer data);

/* `settings` are borrowed. */
ErdmaMetadata *erdma_metadata_new(RdmadModule *self, const ErdmaNicSettings *settings,
				  ErdmaMetadataDone done, gpointer data);
/* The callback of a running query is not called. */
void erdma_metadata_free(ErdmaMetadata *metadata);
gboolean erdma_metadata_is_busy(const ErdmaMetadata *metadata);
/* Returns FALSE if the query could not be started. */
gboolean erdma_metadata_query(ErdmaMetadata *metadata, const RdmadMac *mac, GError **error);

/* Parses the three values of one NIC.  RDMAD_ERROR_INVALID names the invalid one. */
ErdmaNicNetwork *erdma_metadata_parse(const char *address, const char *network, const char *gateway,
				      GError **error);
/* Returns the label `result` of the metric: "success", "timeout", "unavailable", "unknown",
 * "invalid", "too-long", "failed". */
const char *erdma_metadata_result(const GError *error);
