/* SPDX-License-Identifier: Apache-2.0 */
/* Any request of kubelet is rejected, or gets a response from the pool. */
#include <rdmad/error.h>
#include <stdint.h>

#include "allocate/allocate.h"
#include "base/loop.h"
#include "allocate/placement.h"
#include "allocate/preferred.h"
#include "service/allocations-private.h"
#include "hardware/device.h"
#include "service/event-log-private.h"

#define OWNER	"device-plugin"
#define RUN_DIR "/dev/shm" /* allocation directories come and go there */

static const DeliveryDirectories NOWHERE;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Two devices with four slots each, and allocations in memory. */
typedef struct {
	RdmadDevice *devices[2];
	Pool *pool;
	RdmadLoop *loop;
	RdmadEventLog *event_log;
	RdmadState *state;
	RdmadAllocations *allocations;
	Delivery *delivery;
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
	g_autoptr(PluginSettings) settings = plugin_settings_parse(NULL, NULL);
	ResourceSettings *resource = settings->resources->pdata[0];
	PoolMember members[2];
	const PoolView attributes = { .members = members, .n_members = 2 };

	resource->count = 8;
	resource->ignore_health = TRUE;
	for (guint i = 0; i < 2; i++) {
		node->devices[i] = device_new(i ? "b" : "a");
		members[i] = (PoolMember){ node->devices[i], FALSE };
	}
	node->pool = pool_new(resource);
	pool_update(node->pool, &attributes);
}

static void node_setup(Node *node)
{
	pool_setup(node);
	node->loop = rdmad_loop_new();
	node->event_log = rdmad_event_log_new(node->loop);
	node->state = rdmad_state_open(NULL, NULL, NULL);
	node->allocations = rdmad_allocations_new(node->loop, node->state, node->event_log, NULL);
	node->delivery = delivery_new(RUN_DIR, OWNER, node->allocations, &NOWHERE);
}

static void allocation_end(const RdmadAllocation *allocation, gpointer data)
{
	delivery_end(data, allocation);
}

static void node_clear(Node *node)
{
	rdmad_allocations_foreach(node->allocations, allocation_end, node->delivery);
	delivery_free(node->delivery);
	rdmad_allocations_free(node->allocations);
	rdmad_state_close(node->state);
	rdmad_event_log_free(node->event_log);
	rdmad_loop_free(node->loop);
	pool_free(node->pool);
	rdmad_device_unref(node->devices[0]);
	rdmad_device_unref(node->devices[1]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	g_autoptr(GError) preferred_error = NULL;
	g_autoptr(GBytes) preferred = NULL;
	g_autoptr(GArray) gpus = g_array_new(FALSE, FALSE, sizeof(PlacementGpu));
	AllocateCall call, *const calls[] = { &call };
	Allocator by;
	Node node;

	node_setup(&node);
	preferred =
		preferred_answer(node.pool, gpus, node.allocations, data, size, &preferred_error);
	g_assert_true((preferred == NULL) == (preferred_error != NULL));
	by = (Allocator){ node.allocations, node.delivery, OWNER };
	allocate_call_init(&call, node.pool, data, size);
	allocate_check(&by, &call);
	allocate(&by, calls, 1);
	g_assert_true((call.answer == NULL) == (call.refusal != NULL));
	g_assert_true((rdmad_allocations_count(node.allocations) > 0) == (call.answer != NULL));
	allocate_call_clear(&call);
	node_clear(&node);
	return 0;
}
