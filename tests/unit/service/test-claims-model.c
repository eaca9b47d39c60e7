/* SPDX-License-Identifier: Apache-2.0 */
/* Random sequences of everything that may happen to claims, against a model that is an array. */
#include <rdmad/error.h>
#include <string.h>

#include "claims-fixture.h"
#include "pod-list-text.h"

#define TOKENS 12 /* "a" to "l" */
#define STEPS  400
#define SECOND G_USEC_PER_SEC

/* Who holds each token: a claim's number, 0 for nobody. */
typedef struct {
	guint holder[TOKENS];
	char *id[STEPS + 1]; /* of a claim's number */
	char pod[STEPS + 1]; /* its name, 0: unknown */
	guint attached[STEPS + 1];
	guint order[STEPS + 1]; /* of its grant */
	guint claims;		/* numbers given */
	guint clock;
} Model;

static gboolean model_lives(const Model *m, guint claim)
{
	for (guint t = 0; t < TOKENS; t++)
		if (m->holder[t] == claim)
			return TRUE;
	return FALSE;
}

static void model_end(Model *m, guint claim)
{
	for (guint t = 0; t < TOKENS; t++)
		if (m->holder[t] == claim)
			m->holder[t] = 0;
}

/* The tokens of a claim, or of a set of bits, as "a,b". */
static char *tokens_text(guint bits)
{
	GString *text = g_string_new(NULL);

	for (guint t = 0; t < TOKENS; t++)
		if (bits >> t & 1)
			g_string_append_printf(text, "%s%c", text->len ? "," : "", 'a' + t);
	return g_string_free(text, FALSE);
}

static guint model_bits(const Model *m, guint claim)
{
	guint bits = 0;

	for (guint t = 0; t < TOKENS; t++)
		bits |= (guint)(m->holder[t] == claim) << t;
	return bits;
}

static guint model_holder_of(const Model *m, guint bits)
{
	for (guint t = 0; t < TOKENS; t++)
		if (bits >> t & 1)
			return m->holder[t];
	return 0;
}

static void model_grant(Model *m, guint bits, const char *id)
{
	const guint same = model_holder_of(m, bits);
	guint claim = same;

	if (!same || model_bits(m, same) != bits) {
		for (guint t = 0; t < TOKENS; t++)
			if (bits >> t & 1 && m->holder[t])
				model_end(m, m->holder[t]);
		claim = ++m->claims;
		m->id[claim] = g_strdup(id);
	}
	for (guint t = 0; t < TOKENS; t++)
		if (bits >> t & 1)
			m->holder[t] = claim;
	g_assert_cmpstr(m->id[claim], ==, id);
	m->pod[claim] = 0;
	m->attached[claim] = 0;
	m->order[claim] = ++m->clock;
}

static int model_compare(gconstpointer a, gconstpointer b, gpointer data)
{
	const Model *m = data;

	return (int)m->order[*(const guint *)a] - (int)m->order[*(const guint *)b];
}

static GArray *model_living(Model *m)
{
	GArray *living = g_array_new(FALSE, FALSE, sizeof(guint));

	for (guint claim = 1; claim <= m->claims; claim++)
		if (model_lives(m, claim))
			g_array_append_val(living, claim);
	g_array_sort_with_data(living, model_compare, m);
	return living;
}

static char *model_text(Model *m)
{
	g_autoptr(GArray) living = model_living(m);
	GString *text = g_string_new(NULL);

	for (guint i = 0; i < living->len; i++) {
		const guint claim = g_array_index(living, guint, i);
		g_autofree char *tokens = tokens_text(model_bits(m, claim));

		g_string_append_printf(text, "%s%s", i ? " " : "", tokens);
		if (m->pod[claim])
			g_string_append_printf(text, "=%c", m->pod[claim]);
	}
	return g_string_free(text, FALSE);
}

/* A claim that is or was there. */
static guint any_claim(const Model *m)
{
	return m->claims ? (guint)g_test_rand_int_range(1, (gint32)m->claims + 1) : 0;
}

static void do_grant(ClaimsFixture *f, Model *m)
{
	const guint again = any_claim(m);
	guint bits = (guint)g_test_rand_int_range(1, 1 << TOKENS) &
		     (guint)g_test_rand_int_range(1, 1 << TOKENS);
	g_autofree char *tokens = NULL, *id = NULL;

	if (again && g_test_rand_int_range(0, 3) == 0 && model_lives(m, again))
		bits = model_bits(m, again);
	if (!bits)
		bits = 1;
	tokens = tokens_text(bits);
	id = claims_fixture_must_grant(f, tokens);
	model_grant(m, bits, id);
}

static void do_end(ClaimsFixture *f, Model *m)
{
	const guint claim = any_claim(m);

	if (!claim)
		return;
	g_assert_true(rdmad_claims_end(f->claims, m->id[claim], "model", NULL) ==
		      model_lives(m, claim));
	model_end(m, claim);
}

static void do_attach(ClaimsFixture *f, Model *m)
{
	const guint claim = any_claim(m), n = claim ? m->attached[claim] : 0;
	g_autofree char *interface = g_strdup_printf("net%u", n);
	const RdmadAttachment at = { (char *)"/ns", interface, NULL, NULL, 1 };

	if (!claim || n == RDMAD_CLAIM_MAX_ATTACHMENTS)
		return;
	g_assert_true(rdmad_claims_attach(f->claims, m->id[claim], &at, NULL) ==
		      model_lives(m, claim));
	m->attached[claim] += model_lives(m, claim);
}

static void do_detach(ClaimsFixture *f, Model *m)
{
	const guint claim = any_claim(m);
	g_autofree char *interface = NULL;

	if (!claim || !m->attached[claim] || !model_lives(m, claim))
		return;
	interface = g_strdup_printf("net%u", --m->attached[claim]);
	g_assert_true(rdmad_claims_detach(f->claims, m->id[claim], "/ns", interface, NULL));
}

static void reconcile(ClaimsFixture *f, const char *text, gint64 after_us)
{
	g_autoptr(GBytes) bytes = pod_list_text_pack(text);
	gsize size;
	const guint8 *data = g_bytes_get_data(bytes, &size);
	g_autoptr(RdmadPodList) list = rdmad_pod_list_parse(data, size, NULL);

	list->asked_us = g_get_monotonic_time() + after_us;
	rdmad_claims_reconcile(f->claims, list);
}

/* Kubelet lists some of the claims, twice and long after; the others are over. */
static void do_reconcile(ClaimsFixture *f, Model *m)
{
	g_autoptr(GString) list = g_string_new(NULL);

	for (guint claim = 1; claim <= m->claims; claim++) {
		g_autofree char *tokens = NULL;

		if (!model_lives(m, claim))
			continue;
		if (g_test_rand_int_range(0, 8) == 0) {
			model_end(m, claim);
			continue;
		}
		tokens = tokens_text(model_bits(m, claim));
		m->pod[claim] = (char)g_test_rand_int_range('p', 'z');
		g_string_append_printf(list, "%s%c=%s", list->len ? " " : "", m->pod[claim],
				       tokens);
	}
	reconcile(f, list->str, 100 * SECOND);
	reconcile(f, list->str, 200 * SECOND);
}

static void do_reopen(ClaimsFixture *f, Model *m)
{
	claims_fixture_reopen(f);
}

static void check(ClaimsFixture *f, Model *m)
{
	g_autofree char *is = claims_fixture_text(f), *should = model_text(m);

	g_assert_cmpstr(is, ==, should);
	for (guint claim = 1; claim <= m->claims; claim++) {
		const RdmadClaim *found = rdmad_claims_lookup(f->claims, m->id[claim]);

		g_assert_true((found != NULL) == model_lives(m, claim));
		if (found)
			g_assert_cmpuint(found->n_attachments, ==, m->attached[claim]);
	}
	for (guint t = 0; t < TOKENS; t++) {
		const char token[] = { (char)('a' + t), '\0' };
		const RdmadClaim *found = rdmad_claims_by_token(f->claims, "rdma/hca", token);

		g_assert_cmpstr(found ? found->id : NULL, ==,
				m->holder[t] ? m->id[m->holder[t]] : NULL);
	}
}

static void test_any_sequence_agrees_with_the_model(ClaimsFixture *f, gconstpointer data)
{
	static void (*const steps[])(ClaimsFixture * f, Model * m) = {
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
	for (guint claim = 1; claim <= m.claims; claim++)
		g_free(m.id[claim]);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add("/claims-model/any_sequence_agrees_with_the_model", ClaimsFixture, NULL,
		   claims_fixture_setup, test_any_sequence_agrees_with_the_model,
		   claims_fixture_teardown);
	return g_test_run();
}
