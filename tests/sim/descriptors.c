/* SPDX-License-Identifier: Apache-2.0 */
#include "descriptors.h"

#include <errno.h>

#include "epoll.h"

/* Above the kernel's, which number few; libevent has an array with an element for each number. */
#define FIRST 256

static GPtrArray *descriptors; /* of Open, or NULL; the descriptor's number is the index + FIRST */
static guint used;
static guint lowest; /* no index below is free */

const GPtrArray *descriptors_all(void)
{
	return descriptors;
}

guint descriptors_used(void)
{
	return used;
}

int descriptor_fail(int errnum)
{
	errno = errnum;
	return -1;
}

int descriptor_new(Open *open)
{
	guint index = lowest;

	if (!descriptors)
		descriptors = g_ptr_array_new();
	while (index < descriptors->len && descriptors->pdata[index])
		index++;
	if (index == descriptors->len)
		g_ptr_array_add(descriptors, NULL);
	descriptors->pdata[index] = open_ref(open);
	used++;
	lowest = index + 1;
	return FIRST + (int)index;
}

Open *descriptor_open(int fd)
{
	const guint index = (guint)(fd - FIRST);

	return fd >= FIRST && descriptors && index < descriptors->len ? descriptors->pdata[index]
								      : NULL;
}

gpointer descriptor_of_kind(int fd, const OpenKind *kind)
{
	Open *open = descriptor_open(fd);

	return open && open->kind == kind ? open : NULL;
}

void descriptor_close(int fd)
{
	Open *open = descriptor_open(fd);

	descriptors->pdata[fd - FIRST] = NULL;
	lowest = MIN(lowest, (guint)(fd - FIRST));
	used--;
	open_unref(open);
}

Open *open_ref(Open *open)
{
	open->refs++;
	return open;
}

void open_unref(Open *open)
{
	if (--open->refs)
		return;
	epoll_ended(open);
	open->kind->end(open);
}
