/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a request of kubelet are refused, or answered out of what the pool has. */
#include <rdmad/error.h>
#include <stdint.h>

#include "allocate.h"
#include "base/loop-private.h"
#include "placement.h"
#include "preferred.h"
#include "service/claims-private.h"
#include "hardware/device-private.h"
#include "service/journal-private.h"

#define OWNER	"device-plugin"
#define RUN_DIR "/dev/shm" /* claim folders come and go there */

static const RdmadHandoutFolders NOWHERE;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Two devices with four tokens each, and claims in memory. */
typedef struct {
	RdmadDevice *devices[2];
	RdmadPool *pool;
	RdmadLoop *loop;
	RdmadJournal *journal;
	RdmadState *state;
	RdmadClaims *claims;
	RdmadHandout *handout;
} Node;

static RdmadDevice *device_new(const char *id)
{
	RdmadDevice *dev = rdmad_device_new(id, id);

	dev->n_chardevs = 1;
	dev->chardevs = g_new0(RdmadChardev, 1);
	dev->chardevs[0].kind = RDMAD_CHARDEV_UVERBS;
	dev->chardevs[0].path = g_strdup_printf("/dev/infiniband/uverbs-%s", id);
	return dev;
}

static void pool_setup(Node *node)
{
	g_autoptr(RdmadPluginSettings) settings = rdmad_plugin_settings_parse(NULL, NULL);
	RdmadResourceSettings *resource = settings->resources->pdata[0];
	RdmadPoolMember members[2];
	const RdmadPoolFacts facts = { .members = members, .n_members = 2 };

	resource->count = 8;
	resource->ignore_health = TRUE;
	for (guint i = 0; i < 2; i++) {
		node->devices[i] = device_new(i ? "b" : "a");
		members[i] = (RdmadPoolMember){ node->devices[i], FALSE };
	}
	node->pool = rdmad_pool_new(resource);
	rdmad_pool_update(node->pool, &facts);
}

static void node_setup(Node *node)
{
	pool_setup(node);
	node->loop = rdmad_loop_new();
	node->journal = rdmad_journal_new(node->loop);
	node->state = rdmad_state_open(NULL, NULL, NULL);
	node->claims = rdmad_claims_new(node->loop, node->state, node->journal, NULL);
	node->handout = rdmad_handout_new(RUN_DIR, OWNER, node->claims, &NOWHERE);
}

static void claim_end(const RdmadClaim *claim, gpointer data)
{
	rdmad_handout_end(data, claim);
}

static void node_clear(Node *node)
{
	rdmad_claims_foreach(node->claims, claim_end, node->handout);
	rdmad_handout_free(node->handout);
	rdmad_claims_free(node->claims);
	rdmad_state_close(node->state);
	rdmad_journal_free(node->journal);
	rdmad_loop_free(node->loop);
	rdmad_pool_free(node->pool);
	rdmad_device_unref(node->devices[0]);
	rdmad_device_unref(node->devices[1]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	g_autoptr(GError) allocate_error = NULL;
	g_autoptr(GError) preferred_error = NULL;
	g_autoptr(GBytes) granted = NULL;
	g_autoptr(GBytes) preferred = NULL;
	g_autoptr(GArray) gpus = g_array_new(FALSE, FALSE, sizeof(RdmadPlacementGpu));
	RdmadAllocator by;
	Node node;

	node_setup(&node);
	preferred =
		rdmad_preferred_answer(node.pool, gpus, node.claims, data, size, &preferred_error);
	g_assert_true((preferred == NULL) == (preferred_error != NULL));
	by = (RdmadAllocator){ node.claims, node.handout, OWNER };
	granted = rdmad_allocate(&by, node.pool, data, size, &allocate_error);
	g_assert_true((granted == NULL) == (allocate_error != NULL));
	g_assert_true((rdmad_claims_count(node.claims) > 0) == (granted != NULL));
	node_clear(&node);
	return 0;
}
