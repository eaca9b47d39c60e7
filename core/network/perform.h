/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One step done or undone, on a thread that is in the pod's namespace
 *
 * Both may have been done before, whole or in part.  An undo of what is gone succeeds.
 */
#pragma once

#include <rdmad/error.h>
#include <rdmad/executor.h>
#include <rdmad/network.h>
#include <rdmad/step.h>

/* The link that a step has found: most steps of a plan are about the same one. */
typedef struct {
	RdmadNetwork *net; /* NULL: none */
	char name[16];
	int index;
} PerformLink;

typedef struct {
	RdmadNetwork *host;
	RdmadNetwork *pod; /* NULL: the namespace is gone */
	int host_fd;
	int pod_fd; /* -1: it is gone */
	const RdmadSysroot *root;
	PerformLink *last;
	const int *cancelled; /* atomic; waits end early */
} PerformContext;

/* `result` is set to a GID index where the step has one.  The errors are those of network.h. */
gboolean perform_do(const PerformContext *ctx, const RdmadStep *step, int *result, GError **error);
gboolean perform_undo(const PerformContext *ctx, const RdmadStep *step, GError **error);

/* ---- a whole plan, a step at a time: perform-plan.c ---- */

typedef struct PerformPlan PerformPlan;

/* `text`: of rdmad_steps_to_text(). */
PerformPlan *perform_plan_new(RdmadExecute what, const char *text, GError **error);
/* NULL is fine. */
void perform_plan_free(PerformPlan *plan);
/* Does the next step, or undoes it.  FALSE: there is none left. */
gboolean perform_plan_next(PerformPlan *plan, const PerformContext *ctx);
/* Puts "reports", "error", "code" and "left" into the executor's answer. */
void perform_plan_tell(const PerformPlan *plan, struct json_t *answer);

/* ---- what perform.c takes from the others ---- */

RdmadNetwork *perform_network(const PerformContext *ctx, RdmadStepPlace where, GError **error);
/* Calls `ready` every few milliseconds until it says so; RDMAD_ERROR_TIMEOUT, RDMAD_ERROR_CANCELLED. */
gboolean perform_wait(const PerformContext *ctx, guint timeout_ms,
		      gboolean (*ready)(gpointer data, GError **error), gpointer data,
		      GError **error);
RdmadAddress perform_address(const RdmadStepAddress *address, int ifindex);
RdmadRoute perform_route(const RdmadStepRoute *route, int ifindex);
/* Forgets an error of this code: TRUE. */
gboolean perform_forgive(GError **error, RdmadError code);

gboolean perform_move(const PerformContext *ctx, const RdmadStepLinkMove *move, GError **error);
gboolean perform_move_back(const PerformContext *ctx, const RdmadStepLinkMove *move,
			   GError **error);
gboolean perform_vf(const PerformContext *ctx, const RdmadStepVfSet *vf, gboolean back,
		    GError **error);
gboolean perform_announce(RdmadNetwork *net, const RdmadStepAnnounce *announce, GError **error);
gboolean perform_rdma_move(const PerformContext *ctx, const RdmadStepRdmaMove *move, gboolean back,
			   GError **error);
gboolean perform_wait_gid(const PerformContext *ctx, RdmadStepPlace where,
			  const RdmadStepWaitGid *gid, int *index, GError **error);
gboolean perform_smc(const PerformContext *ctx, const RdmadStep *step, gboolean back,
		     GError **error);
gboolean perform_bind(const PerformContext *ctx, const RdmadStepRdmaBind *bind, GError **error);
