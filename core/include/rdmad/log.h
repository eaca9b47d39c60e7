/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Log
 *
 * Each event is one line with a topic, the name of the module or core file, and optional fields,
 * which the JSON format has by name.  Lines of one call site are rate-limited; the next line that
 * passes has the number of suppressed lines.  All functions preserve errno.  For any thread.
 */
#pragma once

#include <rdmad/types.h>

/* The build gives every module and core directory its own topic. */
#ifndef RDMAD_LOG_TOPIC
#define RDMAD_LOG_TOPIC "core"
#endif

typedef enum { /* the numbers of syslog(3) */
	       RDMAD_LOG_ERR = 3,
	       RDMAD_LOG_WARNING = 4,
	       RDMAD_LOG_NOTICE = 5,
	       RDMAD_LOG_INFO = 6,
	       RDMAD_LOG_DEBUG = 7,
} RdmadLogLevel;

/* Subject of a line; NULL members are left out. */
typedef struct {
	const char *device; /* stable id */
	const char *pod;    /* namespace/name */
	const char *resource;
	const char *allocation;
} RdmadLogFields;

/* State of one call site, static and zeroed. */
typedef struct {
	gint64 window_us;
	guint count;
	guint suppressed;
} RdmadLogSite;

RDMAD_API gboolean rdmad_log_enabled(const char *topic, RdmadLogLevel level);
RDMAD_API void rdmad_log_write(const char *topic, RdmadLogLevel level, RdmadLogSite *site,
			       const RdmadLogFields *fields, const char *format, ...)
	G_GNUC_PRINTF(5, 6);

#define rdmad_log_full(level, fields, ...)                                                         \
	G_STMT_START                                                                               \
	{                                                                                          \
		static RdmadLogSite rdmad_site_;                                                   \
		if (rdmad_log_enabled(RDMAD_LOG_TOPIC, level))                                     \
			rdmad_log_write(RDMAD_LOG_TOPIC, level, &rdmad_site_, fields,              \
					__VA_ARGS__);                                              \
	}                                                                                          \
	G_STMT_END

#define rdmad_err(...)	  rdmad_log_full(RDMAD_LOG_ERR, NULL, __VA_ARGS__)
#define rdmad_warn(...)	  rdmad_log_full(RDMAD_LOG_WARNING, NULL, __VA_ARGS__)
#define rdmad_notice(...) rdmad_log_full(RDMAD_LOG_NOTICE, NULL, __VA_ARGS__)
#define rdmad_info(...)	  rdmad_log_full(RDMAD_LOG_INFO, NULL, __VA_ARGS__)
#define rdmad_debug(...)  rdmad_log_full(RDMAD_LOG_DEBUG, NULL, __VA_ARGS__)
