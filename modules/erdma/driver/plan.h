/* SPDX-License-Identifier: Apache-2.0 */
/* Plan of the driver: the next action, from facts alone. */
#pragma once

#include "driver/driver-settings.h"
#include "driver/facts.h"

#define ERDMA_PARAMETER_COMPAT	"compat_mode=Y"
#define ERDMA_PARAMETER_DEFAULT "compat_mode=N"

typedef enum {
	ERDMA_DO_NOTHING, /* no NIC: the driver is not needed */
	ERDMA_DO_WAIT,	  /* the module is on its way in or out */
	ERDMA_DO_INSTALL,
	ERDMA_DO_LOAD,	 /* `module`, with `parameter` */
	ERDMA_DO_UNLOAD, /* the driver, which has another mode; a load follows */
	ERDMA_DO_FAIL,	 /* nothing can be done: `reason` */
	ERDMA_DO_READY,	 /* `reason`: what is still missing, or NULL */
} ErdmaDo;

typedef struct {
	ErdmaDo what;
	ErdmaMode mode;	       /* that is wanted */
	const char *module;    /* LOAD; borrowed from the settings, or static */
	const char *parameter; /* LOAD: "compat_mode=Y"; static, or NULL */
	char *reason;
} ErdmaPlan;

/* Actions since the driver was ready, or since somebody else changed something. */
typedef struct {
	gboolean installed;
	guint given_up; /* modules beside the driver that could not be loaded, 1 << ErdmaBeside */
} ErdmaPast;

ErdmaPlan erdma_plan_make(const ErdmaFacts *facts, const ErdmaDriverSettings *settings,
			  const ErdmaPast *past);
void erdma_plan_clear(ErdmaPlan *plan);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(ErdmaPlan, erdma_plan_clear)
