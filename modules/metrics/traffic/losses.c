/* SPDX-License-Identifier: Apache-2.0 */
#include "traffic/losses.h"

#include <jansson.h>
#include <rdmad/doctor.h>
#include <string.h>

#define WINDOW_US   (5 * G_TIME_SPAN_MINUTE)
#define SHORTEST_US (5 * G_TIME_SPAN_SECOND) /* a single error would be a high rate */
#define PACKETS_MIN 1000.0		     /* a second, for a ratio to mean something */
#define OF(kind)    (1u << (kind))

/* One field has the limit. */
static const struct Condition {
	guint kinds; /* added up */
	double received_ratio, transmitted_ratio, per_second;
	const char *what, *advice;
} conditions[] = {
	{ OF(PORT_OUT_OF_SEQUENCE), 0.0001, 0, 0, "receives packets out of sequence",
	  "check the switches on the way for drops, and PFC and DSCP on each hop: runbook "
	  "RdmaOutOfSequence" },
	{ OF(PORT_RETRANSMISSIONS) | OF(PORT_ACK_TIMEOUTS), 0, 0.0001, 0, "sends packets again",
	  "check the switches on the way for drops, and PFC and DSCP on each hop: runbook "
	  "RdmaRetransmissions" },
	{ OF(PORT_ACK_TIMEOUTS), 0, 0, 1, "gets no acknowledgements",
	  "check that the peers can be reached and are not stuck: runbook RdmaAckTimeouts" },
	{ OF(PORT_RETRIES_EXCEEDED), 0, 0, 0, "had connections that broke after all retries",
	  "check that the peers can be reached; once, while a job ends elsewhere, is normal: "
	  "runbooks RdmaTransportRetriesExceeded and RdmaRnrRetriesExceeded" },
	{ OF(PORT_RECEIVE_ERRORS), 0, 0, 10, "receives damaged packets",
	  "check cable and module: runbook RdmaPortErrors" },
	{ OF(PORT_DISCARDS), 0, 0, 100, "discards packets",
	  "check for congestion, and for a peer that is down: runbook RdmaPortErrors" },
};

static gboolean mark_is_partial(const LossMark *before, const LossMark *after)
{
	gboolean partial = port_parts_are_missing(before->packets.parts, after->packets.parts);

	for (guint kind = 0; kind < PORT_ERROR_KINDS; kind++)
		partial |= port_parts_are_missing(before->errors[kind].parts,
						  after->errors[kind].parts);
	return partial && after->read_us - before->read_us <= WINDOW_US;
}

/* Counters begin again with the driver. */
static gboolean error_precedes(const PortError *before, const PortError *after)
{
	return before->parts.read == after->parts.read && before->total <= after->total;
}

static gboolean packets_precede(const PortTraffic *before, const PortTraffic *after)
{
	return before->parts.read == after->parts.read && before->received <= after->received &&
	       before->transmitted <= after->transmitted;
}

static gboolean mark_precedes(const LossMark *before, const LossMark *after)
{
	if (after->read_us - before->read_us > WINDOW_US ||
	    !packets_precede(&before->packets, &after->packets))
		return FALSE;
	for (guint kind = 0; kind < PORT_ERROR_KINDS; kind++)
		if (!error_precedes(&before->errors[kind], &after->errors[kind]))
			return FALSE;
	return before->read_us != 0;
}

void port_losses_take(PortLosses *losses, const PortError errors[PORT_ERROR_KINDS],
		      const PortTraffic *packets, gint64 read_us)
{
	LossMark mark = { .read_us = read_us, .packets = *packets };

	memcpy(mark.errors, errors, sizeof(mark.errors));
	if (mark_is_partial(&losses->last, &mark))
		return;
	if (!mark_precedes(&losses->last, &mark))
		losses->older = losses->newer = mark;
	losses->last = mark;
	if (read_us - losses->newer.read_us >= WINDOW_US / 2) {
		losses->older = losses->newer;
		losses->newer = mark;
	}
}

static guint64 errors_since(const PortLosses *losses, guint kinds)
{
	guint64 sum = 0;

	for (guint kind = 0; kind < PORT_ERROR_KINDS; kind++)
		if (kinds & OF(kind))
			sum += losses->last.errors[kind].total - losses->older.errors[kind].total;
	return sum;
}

static gboolean ratio_exceeds(guint64 errors, guint64 packets, double seconds, double limit)
{
	return (double)packets > PACKETS_MIN * seconds && (double)errors > limit * (double)packets;
}

static gboolean condition_holds(const struct Condition *condition, const PortLosses *losses,
				guint64 errors, double seconds)
{
	const PortTraffic *before = &losses->older.packets, *after = &losses->last.packets;

	if (condition->received_ratio > 0)
		return ratio_exceeds(errors, after->received - before->received, seconds,
				     condition->received_ratio);
	if (condition->transmitted_ratio > 0)
		return ratio_exceeds(errors, after->transmitted - before->transmitted, seconds,
				     condition->transmitted_ratio);
	return (double)errors > condition->per_second * seconds;
}

void port_losses_doctor(const PortLosses *losses, const char *device, guint port, gint64 now_us,
			json_t *findings)
{
	const gint64 span_us = losses->last.read_us - losses->older.read_us;
	const double seconds = (double)span_us / G_TIME_SPAN_SECOND;

	if (span_us < SHORTEST_US || now_us - losses->last.read_us > WINDOW_US)
		return;
	for (guint i = 0; i < G_N_ELEMENTS(conditions); i++) {
		const struct Condition *condition = &conditions[i];
		const guint64 errors = errors_since(losses, condition->kinds);
		g_autofree char *text =
			g_strdup_printf("port %u %s: %" G_GUINT64_FORMAT " in %.0f s", port,
					condition->what, errors, seconds);

		if (condition_holds(condition, losses, errors, seconds))
			rdmad_doctor_add(findings, RDMAD_FINDING_PROBLEM, device, text,
					 condition->advice);
	}
}
