/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Executes or undoes one step, on a thread in the pod's namespace
 *
 * Both are idempotent: an earlier run may have done a part.  The undo of a step whose object no
 * longer exists succeeds, except that of a moved link, which must come back (RDMAD_ERROR_GONE).
 */
#pragma once

#include <rdmad/error.h>
#include <rdmad/executor.h>
#include <rdmad/network.h>
#include <rdmad/step.h>

/* The link found last: most steps of a plan concern the same link. */
typedef struct {
	RdmadNetwork *net; /* NULL: no link */
	char name[16];
	int index;
} PerformLink;

typedef struct {
	RdmadNetwork *host;
	RdmadNetwork *pod; /* NULL: the namespace has ended */
	int host_fd;
	int pod_fd; /* -1: the namespace has ended */
	const RdmadSysroot *root;
	PerformLink *last;
	const int *cancelled; /* atomic; waits end early */
} PerformContext;

/* Sets `result` to the GID index if the step determines one, else to -1.  The errors are those of
 * network.h, RDMAD_ERROR_GONE (the pod's namespace, or a link of the step) and
 * RDMAD_ERROR_CANCELLED. */
gboolean perform_do(const PerformContext *ctx, const RdmadStep *step, int *result, GError **error);
gboolean perform_undo(const PerformContext *ctx, const RdmadStep *step, GError **error);

/* ---- a whole plan, a step at a time: perform-plan.c ---- */

typedef struct PerformPlan PerformPlan;

/* `text` is in the format of rdmad_steps_to_text(). */
PerformPlan *perform_plan_new(RdmadExecute what, const char *text, GError **error);
/* `plan` may be NULL. */
void perform_plan_free(PerformPlan *plan);
/* Executes or undoes the next step.  After a failed step of RDMAD_EXECUTE_DO, the next ones are the
 * undo of that step and of those before it.  Returns FALSE if no step is left. */
gboolean perform_plan_next(PerformPlan *plan, const PerformContext *ctx);
/* Adds "reports" to the executor's response, after an error "error" and "code", and "left" if that
 * could not be undone. */
void perform_plan_report(const PerformPlan *plan, struct json_t *answer);

/* ---- shared by perform.c and the files of single steps ---- */

/* Returns NULL with RDMAD_ERROR_GONE if the pod's namespace has ended. */
RdmadNetwork *perform_network(const PerformContext *ctx, RdmadStepPlace where, GError **error);
/* Calls `ready` every few milliseconds until it returns TRUE, or FALSE with an error.
 * RDMAD_ERROR_TIMEOUT, RDMAD_ERROR_CANCELLED. */
gboolean perform_wait(const PerformContext *ctx, guint timeout_ms,
		      gboolean (*ready)(gpointer data, GError **error), gpointer data,
		      GError **error);
RdmadAddress perform_address(const RdmadStepAddress *address, int ifindex);
RdmadRoute perform_route(const RdmadStepRoute *route, int ifindex);
/* Clears an error of this code.  Returns TRUE if it did. */
gboolean perform_forgive(GError **error, RdmadError code);

gboolean perform_move(const PerformContext *ctx, const RdmadStepLinkMove *move, GError **error);
gboolean perform_move_back(const PerformContext *ctx, const RdmadStepLinkMove *move,
			   GError **error);
gboolean perform_vf(const PerformContext *ctx, const RdmadStepVfSet *vf, gboolean back,
		    GError **error);
/* Unbinds and binds the driver of a PCI function.  Exported for the tests. */
gboolean perform_rebind(const PerformContext *ctx, const char *pci, GError **error);
gboolean perform_announce(RdmadNetwork *net, const RdmadStepAnnounce *announce, GError **error);
gboolean perform_rdma_move(const PerformContext *ctx, const RdmadStepRdmaMove *move, gboolean back,
			   GError **error);
gboolean perform_wait_gid(const PerformContext *ctx, RdmadStepPlace where,
			  const RdmadStepWaitGid *gid, int *index, GError **error);
gboolean perform_smc(const PerformContext *ctx, const RdmadStep *step, gboolean back,
		     GError **error);
gboolean perform_bind(const PerformContext *ctx, const RdmadStepRdmaBind *bind, GError **error);
