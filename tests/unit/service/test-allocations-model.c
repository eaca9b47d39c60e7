/* SPDX-License-Identifier: Apache-2.0 */
/* Random sequences of operations on allocations, compared with a model */
#include <rdmad/error.h>
#include <string.h>

#include "allocations-fixture.h"
#include "pod-list-text.h"
#include "../support/unit.h"

#define SLOTS  12 /* "a" to "l" */
#define STEPS  400
#define SECOND G_USEC_PER_SEC

/* Indexed by the number of an allocation, from 1.  Allocations have the same slots or none in
 * common. */
typedef struct {
	char *id[STEPS + 1];
	guint bits[STEPS + 1];	  /* the slots; 0: ended */
	char pod[STEPS + 1];	  /* the name; 0: unknown */
	gboolean main[STEPS + 1]; /* it belongs to the container that kubelet lists */
	guint attached[STEPS + 1];
	guint allocations; /* number of allocations so far */
} Model;

/* Returns the newest holder of the slot; 0: none. */
static guint model_holder(const Model *m, guint slot)
{
	guint holder = 0;

	for (guint allocation = 1; allocation <= m->allocations; allocation++)
		if (m->bits[allocation] >> slot & 1)
			holder = allocation;
	return holder;
}

/* Returns the slots of a set of bits as "a,b". */
static char *slots_text(guint bits)
{
	GString *text = g_string_new(NULL);

	for (guint t = 0; t < SLOTS; t++)
		if (bits >> t & 1)
			g_string_append_printf(text, "%s%c", text->len ? "," : "", 'a' + t);
	return g_string_free(text, FALSE);
}

static char *model_text(Model *m)
{
	GString *text = g_string_new(NULL);

	for (guint allocation = 1; allocation <= m->allocations; allocation++) {
		g_autofree char *slots = slots_text(m->bits[allocation]);

		if (!m->bits[allocation])
			continue;
		g_string_append_printf(text, "%s%s", text->len ? " " : "", slots);
		if (m->pod[allocation])
			g_string_append_printf(text, "=%c", m->pod[allocation]);
	}
	return g_string_free(text, FALSE);
}

/* Returns an existing or ended allocation. */
static guint any_allocation(const Model *m)
{
	return m->allocations ? (guint)g_test_rand_int_range(1, (gint32)m->allocations + 1) : 0;
}

/* Grants free slots, or those of an allocation again: for another container, or for the next
 * pod. */
static void do_grant(AllocationsFixture *f, Model *m)
{
	const guint again = any_allocation(m);
	guint bits = (guint)g_test_rand_int_range(1, 1 << SLOTS) &
		     (guint)g_test_rand_int_range(1, 1 << SLOTS);
	g_autofree char *slots = NULL;

	for (guint slot = 0; slot < SLOTS; slot++)
		if (model_holder(m, slot))
			bits &= ~(1u << slot);
	if (again && g_test_rand_int_range(0, 3) == 0)
		bits = m->bits[again];
	if (!bits)
		return;
	slots = slots_text(bits);
	m->id[++m->allocations] = allocations_fixture_must_grant(f, slots);
	m->bits[m->allocations] = bits;
}

static void do_end(AllocationsFixture *f, Model *m)
{
	const guint allocation = any_allocation(m);

	if (!allocation)
		return;
	g_assert_true(rdmad_allocations_end(f->allocations, m->id[allocation], "model", NULL) ==
		      (m->bits[allocation] != 0));
	m->bits[allocation] = 0;
}

static void do_attach(AllocationsFixture *f, Model *m)
{
	const guint allocation = any_allocation(m), n = allocation ? m->attached[allocation] : 0;
	g_autofree char *interface = g_strdup_printf("net%u", n);
	const RdmadAttachment at = { (char *)"/ns", interface, NULL, NULL, 1 };

	if (!allocation || n == RDMAD_ALLOCATION_MAX_ATTACHMENTS)
		return;
	g_assert_true(rdmad_allocations_attach(f->allocations, m->id[allocation], &at, NULL) ==
		      (m->bits[allocation] != 0));
	m->attached[allocation] += m->bits[allocation] != 0;
}

static void do_detach(AllocationsFixture *f, Model *m)
{
	const guint allocation = any_allocation(m);
	g_autofree char *interface = NULL;

	if (!allocation || !m->attached[allocation] || !m->bits[allocation])
		return;
	interface = g_strdup_printf("net%u", --m->attached[allocation]);
	g_assert_true(rdmad_allocations_detach(f->allocations, m->id[allocation], "/ns", interface,
					       NULL));
}

static void reconcile(AllocationsFixture *f, const char *text, gint64 after_us)
{
	g_autoptr(GBytes) bytes = pod_list_text_pack(text);
	gsize size;
	const guint8 *data = g_bytes_get_data(bytes, &size);
	g_autoptr(RdmadPodList) list = rdmad_pod_list_parse(data, size, NULL);

	list->asked_us = g_get_monotonic_time() + after_us;
	rdmad_allocations_reconcile(f->allocations, list);
}

/* Applies a list that shows these slots with a pod. */
static void model_list(Model *m, guint bits, char pod)
{
	guint youngest = 0;

	for (guint allocation = 1; allocation <= m->allocations; allocation++)
		if (m->bits[allocation] == bits)
			youngest = allocation;
	for (guint allocation = 1; allocation <= m->allocations; allocation++) {
		if (m->bits[allocation] != bits)
			continue;
		if ((m->pod[allocation] && m->pod[allocation] != pod) ||
		    (m->main[allocation] && allocation != youngest)) {
			m->bits[allocation] = 0;
			continue;
		}
		m->pod[allocation] = pod;
		m->main[allocation] |= allocation == youngest;
	}
}

static void model_forget(Model *m, guint bits)
{
	for (guint allocation = 1; allocation <= m->allocations; allocation++)
		if (m->bits[allocation] == bits)
			m->bits[allocation] = 0;
}

/* Kubelet lists some of the slots, twice and much later; the other allocations end. */
static void do_reconcile(AllocationsFixture *f, Model *m)
{
	g_autoptr(GString) list = g_string_new(NULL);

	for (guint slot = 0; slot < SLOTS; slot++) {
		const guint allocation = model_holder(m, slot),
			    bits = allocation ? m->bits[allocation] : 0;
		g_autofree char *slots = slots_text(bits);
		char pod = allocation ? m->pod[allocation] : 0;

		if (!bits || bits & ((1u << slot) - 1))
			continue;
		if (g_test_rand_int_range(0, 8) == 0) {
			model_forget(m, bits);
			continue;
		}
		if (!pod || g_test_rand_int_range(0, 4) == 0)
			pod = (char)g_test_rand_int_range('p', 'z');
		g_string_append_printf(list, "%s%c=%s", list->len ? " " : "", pod, slots);
		model_list(m, bits, pod);
		model_list(m, bits, pod);
	}
	reconcile(f, list->str, 100 * SECOND);
	reconcile(f, list->str, 200 * SECOND);
}

static void do_reopen(AllocationsFixture *f, Model *m)
{
	allocations_fixture_reopen(f);
}

static void check_totals(AllocationsFixture *f, Model *m)
{
	const RdmadAllocationTotals totals = rdmad_allocations_totals(f->allocations, "rdma/hca");
	guint slots = 0;

	for (guint slot = 0; slot < SLOTS; slot++)
		slots += model_holder(m, slot) != 0;
	g_assert_cmpuint(totals.allocations, ==, rdmad_allocations_count(f->allocations));
	g_assert_cmpuint(totals.slots, ==, slots);
	g_assert_cmpuint(rdmad_allocations_totals(f->allocations, "rdma/other").slots, ==, 0);
}

static void check(AllocationsFixture *f, Model *m)
{
	g_autofree char *is = allocations_fixture_text(f), *should = model_text(m);

	g_assert_cmpstr(is, ==, should);
	for (guint allocation = 1; allocation <= m->allocations; allocation++) {
		const RdmadAllocation *found =
			rdmad_allocations_lookup(f->allocations, m->id[allocation]);

		g_assert_true((found != NULL) == (m->bits[allocation] != 0));
		if (found)
			g_assert_cmpuint(found->n_attachments, ==, m->attached[allocation]);
	}
	for (guint t = 0; t < SLOTS; t++) {
		const char slot[] = { (char)('a' + t), '\0' };
		const RdmadAllocation *found =
			rdmad_allocations_by_slot(f->allocations, "rdma/hca", slot);
		const guint holder = model_holder(m, t);

		g_assert_cmpstr(found ? found->id : NULL, ==, holder ? m->id[holder] : NULL);
	}
	check_totals(f, m);
}

static void test_any_sequence_agrees_with_the_model(AllocationsFixture *f, gconstpointer data)
{
	static void (*const steps[])(AllocationsFixture * f, Model * m) = {
		do_grant,  do_grant, do_grant,	   do_attach, do_attach,
		do_detach, do_end,   do_reconcile, do_reopen,
	};
	Model m = { 0 };

	for (guint i = 0; i < STEPS; i++) {
		steps[g_test_rand_int_range(0, G_N_ELEMENTS(steps))](f, &m);
		check(f, &m);
	}
	do_reopen(f, &m);
	check(f, &m);
	for (guint allocation = 1; allocation <= m.allocations; allocation++)
		g_free(m.id[allocation]);
}

const UnitTest unit_tests[] = {
	UNIT_FIXTURE_TEST("/allocations-model/any_sequence_agrees_with_the_model",
			  AllocationsFixture, NULL, allocations_fixture_setup,
			  test_any_sequence_agrees_with_the_model, allocations_fixture_teardown),
	{ 0 },
};
