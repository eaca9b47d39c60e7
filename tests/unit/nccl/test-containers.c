/* SPDX-License-Identifier: Apache-2.0 */
#include "containers.h"

#include <rdmad/clock.h>
#include <rdmad/preparations.h>

#include "module/module.h"
#include "module/services.h"
#include "service/allocations-fixture.h"
#include "service/inventory-private.h"
#include "service/preparations-private.h"
#include "view-text.h"
#include "support/unit.h"

#define HOUR_US (3600 * (gint64)G_USEC_PER_SEC)

extern const RdmadModuleClass rdmad_module_class;

static gint64 wall_us;

gint64 __wrap_rdmad_wall_us(void);
gint64 __wrap_rdmad_wall_us(void)
{
	return wall_us;
}

typedef struct {
	AllocationsFixture allocations;
	RdmadServices services;
	RdmadModule *module;
	NcclSettings *settings;
	NcclContainers *containers;
} Fixture;

static void setup(Fixture *f, gconstpointer data)
{
	allocations_fixture_setup(&f->allocations, NULL);
	f->services.loop = f->allocations.loop;
	f->services.event_log = f->allocations.event_log;
	f->services.state = f->allocations.state;
	f->services.allocations = f->allocations.allocations;
	f->services.inventory = rdmad_inventory_new(f->allocations.loop, f->allocations.event_log);
	f->services.preparations = rdmad_preparations_new(f->allocations.loop);
	f->services.run_dir = f->allocations.dir;
	f->module = rdmad_module_new(&f->services, &rdmad_module_class);
	f->settings = settings_from_text("network = \"host\";");
}

static void teardown(Fixture *f, gconstpointer data)
{
	nccl_containers_free(f->containers);
	nccl_settings_free(f->settings);
	g_assert_cmpuint(rdmad_module_free(f->module), ==, 0);
	rdmad_preparations_free(f->services.preparations);
	rdmad_inventory_free(f->services.inventory);
	allocations_fixture_teardown(&f->allocations, NULL);
}

static void assert_started(Fixture *f, const char *id, gboolean started)
{
	g_assert_cmpint(nccl_containers_holding(f->containers, id)->started, ==, started);
}

/* Only a container that was there before the module may have read the files. */
static void test_clock(Fixture *f, gconstpointer data)
{
	static const gint64 steps_us[] = { 0, HOUR_US, -HOUR_US };

	for (guint i = 0; i < G_N_ELEMENTS(steps_us); i++) {
		g_autofree char *older = g_strdup_printf("older-%u", i);
		g_autofree char *newer = g_strdup_printf("newer-%u", i);
		g_autofree char *old = NULL, *young = NULL;

		g_test_message("the clock is set by %" G_GINT64_FORMAT " s",
			       steps_us[i] / G_USEC_PER_SEC);
		wall_us = 1000 * HOUR_US;
		old = allocations_fixture_must_grant(&f->allocations, older);
		wall_us += steps_us[i] + 1;
		f->containers = nccl_containers_new(f->module, &f->settings);
		wall_us += steps_us[i] + 1;
		young = allocations_fixture_must_grant(&f->allocations, newer);
		allocations_fixture_run(&f->allocations);
		assert_started(f, old, TRUE);
		assert_started(f, young, FALSE);
		if (i + 1 < G_N_ELEMENTS(steps_us))
			g_clear_pointer(&f->containers, nccl_containers_free);
	}
}

const UnitTest unit_tests[] = {
	UNIT_FIXTURE_TEST("/containers/no step of the clock starts a container", Fixture, NULL,
			  setup, test_clock, teardown),
	{ 0 },
};
