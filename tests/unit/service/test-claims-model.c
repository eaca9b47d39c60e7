/* SPDX-License-Identifier: Apache-2.0 */
/* Random sequences of everything that may happen to claims, against a model that is an array. */
#include <rdmad/error.h>
#include <string.h>

#include "claims-fixture.h"
#include "pod-list-text.h"

#define TOKENS 12 /* "a" to "l" */
#define STEPS  400
#define SECOND G_USEC_PER_SEC

/* By a claim's number, from 1 on.  Claims have the same tokens or none in common. */
typedef struct {
	char *id[STEPS + 1];
	guint bits[STEPS + 1];	  /* its tokens; 0: it has ended */
	char pod[STEPS + 1];	  /* its name, 0: unknown */
	gboolean main[STEPS + 1]; /* it is of the container that kubelet lists */
	guint attached[STEPS + 1];
	guint claims; /* numbers given */
} Model;

/* The youngest that has the token; 0: none. */
static guint model_holder(const Model *m, guint token)
{
	guint holder = 0;

	for (guint claim = 1; claim <= m->claims; claim++)
		if (m->bits[claim] >> token & 1)
			holder = claim;
	return holder;
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

static char *model_text(Model *m)
{
	GString *text = g_string_new(NULL);

	for (guint claim = 1; claim <= m->claims; claim++) {
		g_autofree char *tokens = tokens_text(m->bits[claim]);

		if (!m->bits[claim])
			continue;
		g_string_append_printf(text, "%s%s", text->len ? " " : "", tokens);
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

/* Free tokens, or those of a claim again: for another container, or for the next pod. */
static void do_grant(ClaimsFixture *f, Model *m)
{
	const guint again = any_claim(m);
	guint bits = (guint)g_test_rand_int_range(1, 1 << TOKENS) &
		     (guint)g_test_rand_int_range(1, 1 << TOKENS);
	g_autofree char *tokens = NULL;

	for (guint token = 0; token < TOKENS; token++)
		if (model_holder(m, token))
			bits &= ~(1u << token);
	if (again && g_test_rand_int_range(0, 3) == 0)
		bits = m->bits[again];
	if (!bits)
		return;
	tokens = tokens_text(bits);
	m->id[++m->claims] = claims_fixture_must_grant(f, tokens);
	m->bits[m->claims] = bits;
}

static void do_end(ClaimsFixture *f, Model *m)
{
	const guint claim = any_claim(m);

	if (!claim)
		return;
	g_assert_true(rdmad_claims_end(f->claims, m->id[claim], "model", NULL) ==
		      (m->bits[claim] != 0));
	m->bits[claim] = 0;
}

static void do_attach(ClaimsFixture *f, Model *m)
{
	const guint claim = any_claim(m), n = claim ? m->attached[claim] : 0;
	g_autofree char *interface = g_strdup_printf("net%u", n);
	const RdmadAttachment at = { (char *)"/ns", interface, NULL, NULL, 1 };

	if (!claim || n == RDMAD_CLAIM_MAX_ATTACHMENTS)
		return;
	g_assert_true(rdmad_claims_attach(f->claims, m->id[claim], &at, NULL) ==
		      (m->bits[claim] != 0));
	m->attached[claim] += m->bits[claim] != 0;
}

static void do_detach(ClaimsFixture *f, Model *m)
{
	const guint claim = any_claim(m);
	g_autofree char *interface = NULL;

	if (!claim || !m->attached[claim] || !m->bits[claim])
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

/* What a list says that shows these tokens with a pod. */
static void model_list(Model *m, guint bits, char pod)
{
	guint youngest = 0;

	for (guint claim = 1; claim <= m->claims; claim++)
		if (m->bits[claim] == bits)
			youngest = claim;
	for (guint claim = 1; claim <= m->claims; claim++) {
		if (m->bits[claim] != bits)
			continue;
		if ((m->pod[claim] && m->pod[claim] != pod) ||
		    (m->main[claim] && claim != youngest)) {
			m->bits[claim] = 0;
			continue;
		}
		m->pod[claim] = pod;
		m->main[claim] |= claim == youngest;
	}
}

static void model_forget(Model *m, guint bits)
{
	for (guint claim = 1; claim <= m->claims; claim++)
		if (m->bits[claim] == bits)
			m->bits[claim] = 0;
}

/* Kubelet lists some of the tokens, twice and long after; the claims of the others are over. */
static void do_reconcile(ClaimsFixture *f, Model *m)
{
	g_autoptr(GString) list = g_string_new(NULL);

	for (guint token = 0; token < TOKENS; token++) {
		const guint claim = model_holder(m, token), bits = claim ? m->bits[claim] : 0;
		g_autofree char *tokens = tokens_text(bits);
		char pod = claim ? m->pod[claim] : 0;

		if (!bits || bits & ((1u << token) - 1))
			continue;
		if (g_test_rand_int_range(0, 8) == 0) {
			model_forget(m, bits);
			continue;
		}
		if (!pod || g_test_rand_int_range(0, 4) == 0)
			pod = (char)g_test_rand_int_range('p', 'z');
		g_string_append_printf(list, "%s%c=%s", list->len ? " " : "", pod, tokens);
		model_list(m, bits, pod);
		model_list(m, bits, pod);
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

		g_assert_true((found != NULL) == (m->bits[claim] != 0));
		if (found)
			g_assert_cmpuint(found->n_attachments, ==, m->attached[claim]);
	}
	for (guint t = 0; t < TOKENS; t++) {
		const char token[] = { (char)('a' + t), '\0' };
		const RdmadClaim *found = rdmad_claims_by_token(f->claims, "rdma/hca", token);
		const guint holder = model_holder(m, t);

		g_assert_cmpstr(found ? found->id : NULL, ==, holder ? m->id[holder] : NULL);
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
