/* SPDX-License-Identifier: Apache-2.0 */
/* The module's end of the protocol in shim/message.h. */
#pragma once

#include <glib.h>

/* A request as received, or a DEL of the spool. */
typedef struct {
	char *environment; /* "NAME=value", each terminated by a NUL */
	gsize environment_length;
	char *input;
	gsize input_length;
	gboolean has_netns; /* the first descriptor of the message is the namespace */
	/* Of a spooled DEL; 0 and "" if it came without a namespace. */
	guint64 netns_device, netns_inode;
	char boot_id[40];
} CniMessage;

void cni_message_clear(CniMessage *message);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(CniMessage, cni_message_clear)

/* The caller keeps `fds`.  RDMAD_ERROR_INVALID: not a message of this version of the shim. */
gboolean cni_message_read(const guint8 *bytes, gsize size, const int *fds, guint n_fds,
			  CniMessage *message, GError **error);
/* RDMAD_ERROR_INVALID: truncated or damaged. */
gboolean cni_spooled_read(const guint8 *bytes, gsize size, CniMessage *message, GError **error);
/* Returns whether a name in the spool's directory is that of a record. */
gboolean cni_spooled_name_check(const char *name);

/* Makes an answer; `text` NULL: an empty one.  The caller sends and closes `*fd`, or gets -1.
 * RDMAD_ERROR_FAILED. */
GByteArray *cni_answer_new(int status, const char *text, int *fd, GError **error);
