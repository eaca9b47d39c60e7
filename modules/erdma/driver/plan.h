/* SPDX-License-Identifier: Apache-2.0 */
/* Plan of the driver: the next action, from facts alone. */
#pragma once

#include "driver/driver-settings.h"
#include "driver/facts.h"

#define ERDMA_PARAMETER_COMPAT	"compat_mode=Y"
#define ERDMA_PARAMETER_DEFAULT "compat_mode=N"

typedef enum {
	ERDMA_DO_NOTHING, /* no NIC needs the driver */
	ERDMA_DO_WAIT,	  /* the kernel is loading or unloading the module */
	ERDMA_DO_INSTALL,
	ERDMA_DO_LOAD,	 /* `module`, with `parameter` */
	ERDMA_DO_UNLOAD, /* the driver, to load it in another mode */
	ERDMA_DO_FAIL,	 /* nothing can be done, for `reason` */
	ERDMA_DO_READY,	 /* `reason`: a problem that remains, or NULL */
} ErdmaDo;

typedef struct {
	ErdmaDo what;
	ErdmaMode mode;	       /* preferred */
	const char *module;    /* LOAD; borrowed from the settings, or static */
	const char *parameter; /* LOAD: "compat_mode=Y"; static, or NULL */
	char *reason;
} ErdmaPlan;

/* Actions since the driver was ready, or since another program changed something. */
typedef struct {
	gboolean installed;
	guint given_up; /* modules that could not be loaded, 1 << ErdmaCompanion */
} ErdmaPast;

ErdmaPlan erdma_plan_make(const ErdmaFacts *facts, const ErdmaDriverSettings *settings,
			  const ErdmaPast *past);
void erdma_plan_clear(ErdmaPlan *plan);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(ErdmaPlan, erdma_plan_clear)
