/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The descriptors of the world, above the kernel's
 *
 * A descriptor refers to an open description: a file of the tree, a socket, an event counter.  A
 * description ends with its last reference: a descriptor, or a message that carries it.
 */
#pragma once

#include <glib.h>
#include <sys/types.h>

typedef struct Open Open;

typedef struct {
	void (*end)(Open *open); /* frees it */
	/* Returns what epoll reports of it: EPOLLIN, ... NULL: it cannot be waited for. */
	guint32 (*ready)(const Open *open);
	/* Return -1 with errno on an error.  NULL: EINVAL. */
	gssize (*read)(Open *open, void *bytes, gsize size);
	gssize (*write)(Open *open, const void *bytes, gsize size);
	/* Time passes until it is ready, or all of `ms`.  NULL: rdmad never waits for it in
	 * poll(). */
	void (*wait)(const Open *open, guint ms);
} OpenKind;

/* The first member of each kind's own structure. */
struct Open {
	const OpenKind *kind;
	int flags;
	mode_t mode;
	guint refs;
	GSList *waits; /* of epoll.c, newest first */
};

/* Sets errno and returns -1, as a call does. */
int descriptor_fail(int errnum);
/* Returns the lowest free descriptor, which refers to `open`. */
int descriptor_new(Open *open);
/* Returns NULL if the descriptor belongs to the kernel. */
Open *descriptor_open(int fd);
/* The same for a description of this kind only. */
gpointer descriptor_of_kind(int fd, const OpenKind *kind);
void descriptor_close(int fd);
/* Returns the descriptions by descriptor, with NULL for those that are not in use. */
const GPtrArray *descriptors_all(void);
/* Returns the number of descriptors in use. */
guint descriptors_used(void);

Open *open_ref(Open *open);
void open_unref(Open *open);
