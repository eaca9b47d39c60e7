/* SPDX-License-Identifier: Apache-2.0 */
#include "collector.h"

#include <pthread.h>
#include <rdmad/sysroot.h>

#include "../scratch.h"
#include "../support/unit.h"
#include "base/loop.h"
#include "base/work.h"
#include "device-source.h"
#include "hardware/device.h"
#include "hardware/sysroot.h"
#include "module/module.h"
#include "module/services.h"
#include "service/event-log-private.h"
#include "service/inventory-private.h"

extern const RdmadModuleClass rdmad_module_class;

/* The first reading hangs, by a wrapper (ld's --wrap), until the end of the test. */
static struct {
	pthread_mutex_t mutex; /* unlike GMutex known to the thread sanitizer */
	pthread_cond_t changed;
	guint begun;
	gboolean hangs;
} readings = { .mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

DeviceSample *__real_device_task_run(DeviceTask *task, const RdmadJob *job);
DeviceSample *__wrap_device_task_run(DeviceTask *task, const RdmadJob *job);

DeviceSample *__wrap_device_task_run(DeviceTask *task, const RdmadJob *job)
{
	pthread_mutex_lock(&readings.mutex);
	if (!readings.begun++) {
		pthread_cond_broadcast(&readings.changed);
		while (readings.hangs)
			pthread_cond_wait(&readings.changed, &readings.mutex);
	}
	pthread_mutex_unlock(&readings.mutex);
	return __real_device_task_run(task, job);
}

static void wait_for_reading(void)
{
	pthread_mutex_lock(&readings.mutex);
	while (!readings.begun)
		pthread_cond_wait(&readings.changed, &readings.mutex);
	pthread_mutex_unlock(&readings.mutex);
}

static void end_reading(void)
{
	pthread_mutex_lock(&readings.mutex);
	readings.hangs = FALSE;
	pthread_cond_broadcast(&readings.changed);
	pthread_mutex_unlock(&readings.mutex);
}

typedef struct {
	char *dir;
	RdmadServices services;
	RdmadModule *module;
	MetricsSettings *settings;
	Collector *collector;
	gboolean answered;
} Fixture;

/* Devices by their names, separated by blanks. */
static void put_devices(const Fixture *f, const char *names)
{
	g_auto(GStrv) all = g_strsplit(names, " ", -1);
	GPtrArray *devices = g_ptr_array_new_with_free_func((GDestroyNotify)rdmad_device_unref);

	for (char **name = all; *name; name++)
		g_ptr_array_add(devices, rdmad_device_new(*name, *name));
	rdmad_inventory_replace(f->services.inventory, devices, NULL);
}

static void setup(Fixture *f, gconstpointer data)
{
	RdmadServices *services = &f->services;
	g_autoptr(GError) error = NULL;

	f->dir = scratch_new();
	services->loop = rdmad_loop_new();
	services->workers = rdmad_workers_new(services->loop, 4, &error);
	g_assert_no_error(error);
	services->sysroot = rdmad_sysroot_new(f->dir, &error);
	g_assert_no_error(error);
	services->event_log = rdmad_event_log_new(services->loop);
	services->inventory = rdmad_inventory_new(services->loop, services->event_log);
	f->module = rdmad_module_new(services, &rdmad_module_class);
	f->settings = metrics_settings_parse(NULL, &error);
	g_assert_no_error(error);
	f->collector = collector_new(f->module, f->settings);
	readings.begun = 0;
	readings.hangs = TRUE;
	put_devices(f, "a b");
	rdmad_loop_turn(services->loop);
}

static void teardown(Fixture *f, gconstpointer data)
{
	collector_free(f->collector);
	end_reading();
	g_assert_cmpuint(rdmad_module_free(f->module), ==, 0);
	metrics_settings_free(f->settings);
	rdmad_inventory_free(f->services.inventory);
	rdmad_event_log_free(f->services.event_log);
	rdmad_workers_free(f->services.workers);
	rdmad_sysroot_free(f->services.sysroot);
	rdmad_loop_free(f->services.loop);
	scratch_free(f->dir);
}

static void answer(Snapshot *snapshot, gpointer data)
{
	Fixture *f = data;

	f->answered = TRUE;
}

/* The device that hangs leaves before it counts as slow: its batch has no member afterwards. */
static void test_a_batch_whose_device_left_while_it_hung_is_freed(Fixture *f, gconstpointer data)
{
	collector_request(f->collector, 60000, answer, f);
	wait_for_reading();
	put_devices(f, "b");
	while (!f->answered)
		rdmad_loop_turn(f->services.loop);
}

const UnitTest unit_tests[] = {
	UNIT_FIXTURE_TEST("/metrics/collector/a batch whose device left while it hung is freed",
			  Fixture, NULL, setup,
			  test_a_batch_whose_device_left_while_it_hung_is_freed, teardown),
	{ 0 },
};
