/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Page: the status page at /, its files below /page/, and /api/v1/traffic
 *
 * The other data of the page comes from core's /api/v1/.  The page changes nothing.
 */
#pragma once

#include "collector.h"

typedef struct Page Page;

/* Watches `collector`, which must outlive it. */
Page *page_new(RdmadModule *self, Collector *collector, GError **error);
/* Adds findings about the readings of the last minutes, for whoever they were. */
void page_doctor(const Page *page, struct json_t *findings);
void page_free(Page *page);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Page, page_free)
