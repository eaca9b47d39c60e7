/* SPDX-License-Identifier: Apache-2.0 */
/* The module's end of what shim/message.h describes. */
#pragma once

#include <glib.h>

/* A request as it came, or a DEL out of the spool. */
typedef struct {
	char *environment; /* "NAME=value" with a NUL behind each */
	gsize environment_length;
	char *input;
	gsize input_length;
	gboolean has_netns; /* the first descriptor of the message is the namespace */
	/* Of the spool; 0 and "" where the DEL came without a namespace. */
	guint64 netns_device, netns_inode;
	char boot_id[40];
} CniMessage;

void cni_message_clear(CniMessage *message);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(CniMessage, cni_message_clear)

/* `fds` stay the caller's.  RDMAD_ERROR_INVALID: not what the shim of this version sends. */
gboolean cni_message_read(const guint8 *bytes, gsize size, const int *fds, guint n_fds,
			  CniMessage *message, GError **error);
/* RDMAD_ERROR_INVALID: cut off or damaged. */
gboolean cni_spooled_read(const guint8 *bytes, gsize size, CniMessage *message, GError **error);
/* Whether a name in the spool's directory is that of a record. */
gboolean cni_spooled_name_check(const char *name);

/* The answer; `text` NULL: an empty one.  `*fd` is the caller's to send and close, or -1.
 * RDMAD_ERROR_FAILED. */
GByteArray *cni_answer_new(int status, const char *text, int *fd, GError **error);

/* ---- spool.c: the records that rdmad-cni left of DELs while nobody was there; shim/spool.c writes them ---- */

/* Their names; NULL: none. */
char **cni_spool_list(const char *directory);
/* RDMAD_ERROR_INVALID: cut off or damaged; RDMAD_ERROR_FAILED. */
gboolean cni_spool_read(const char *directory, const char *name, CniMessage *message,
			GError **error);
gboolean cni_spool_remove(const char *directory, const char *name, GError **error);
