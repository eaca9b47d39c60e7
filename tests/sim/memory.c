/* SPDX-License-Identifier: Apache-2.0 */
/*
 * malloc() of the simulator, whose only thread spends a sixth of its time in libc's
 *
 * Freed blocks are kept by size, in the order of a stack.  A block that is freed twice, or that is
 * none, ends the process.  Builds with sanitizers and with libFuzzer, which has threads, use theirs.
 */
#include <errno.h>
#include <glib.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* The classes are multiples of UNIT up to SMALL_MAX, and powers of two above. */
#define UNIT	  16u
#define SMALL_MAX 1024u
#define SMALLS	  (SMALL_MAX / UNIT)
#define LARGE_MAX (1u << 24) /* larger blocks go back to the kernel */
#define CLASSES	  (SMALLS + 14)
#define ARENA	  (8u << 20)

#define USED 0x75736564u
#define FREE 0x66726565u
#define PART 0x70617274u

/* Before the bytes of each block.  A block keeps its class. */
typedef struct Head {
	guint32 state, class;
	union {
		gsize room;	   /* for the caller; of a class above all others */
		struct Head *next; /* FREE */
		void *whole;	   /* the block that this aligned part is of; PART */
	};
} Head;

G_STATIC_ASSERT(sizeof(Head) == UNIT);

static Head *kept[CLASSES + 1]; /* none of CLASSES, the larger ones */
static guint8 *arena;
static gsize arena_left;

static guint class_of(gsize size)
{
	if (G_LIKELY(size - 1 < SMALL_MAX))
		return (guint)((size - 1) / UNIT);
	if (!size)
		return 0;
	return size > LARGE_MAX
		       ? CLASSES
		       : SMALLS + (guint)(53 - __builtin_clzl(size - 1)); /* 2 KiB: the first */
}

static gsize room_of(guint class)
{
	return class < SMALLS ? (class + 1) * UNIT : (gsize)SMALL_MAX << (class - SMALLS + 1);
}

static void *pages_new(gsize size)
{
	void *pages = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return pages == MAP_FAILED ? NULL : pages;
}

/* Cuts a block off the arena, of which a rest may remain unused. */
static Head *head_cut(gsize size)
{
	const gsize wanted = MAX(size, ARENA);
	Head *head;

	if (size > arena_left) {
		arena = pages_new(wanted);
		arena_left = arena ? wanted : 0;
	}
	if (!arena)
		return NULL;
	head = (Head *)(void *)arena;
	arena += size;
	arena_left -= size;
	return head;
}

static Head *head_large(gsize size)
{
	Head *head = pages_new(sizeof(*head) + size);

	if (head)
		*head = (Head){ .class = CLASSES, .room = size };
	return head;
}

static Head *head_new(guint class)
{
	Head *head = head_cut(sizeof(*head) + room_of(class));

	if (head)
		head->class = class;
	return head;
}

static Head *head_of(void *bytes)
{
	Head *head = (Head *)bytes - 1;

	if (G_LIKELY(head->state == USED))
		return head;
	if (head->state == PART)
		head = (Head *)head->whole - 1;
	if (head->state != USED)
		abort();
	return head;
}

/* Apart from the frequent case, which then needs no stack; as large_free(). */
static G_NO_INLINE void *block_made(guint class, gsize size)
{
	Head *head = class < CLASSES ? head_new(class) : head_large(size);

	if (!head) {
		errno = ENOMEM;
		return NULL;
	}
	head->state = USED;
	return head + 1;
}

static void *block_new(gsize size)
{
	const guint class = class_of(size);
	Head *head = kept[class];

	if (!head)
		return block_made(class, size);
	kept[class] = head->next;
	head->state = USED;
	return head + 1;
}

static G_NO_INLINE void large_free(Head *head)
{
	const int errnum = errno;

	munmap(head, sizeof(*head) + head->room);
	errno = errnum;
}

/* ---- replaced functions ---- */

void *malloc(size_t size)
{
	return block_new(size);
}

void free(void *bytes)
{
	Head *head = bytes ? head_of(bytes) : NULL;

	if (!head)
		return;
	if (head->class == CLASSES) {
		large_free(head);
		return;
	}
	head->state = FREE;
	head->next = kept[head->class];
	kept[head->class] = head;
}

void *calloc(size_t n, size_t size)
{
	gsize all;
	void *bytes;

	if (!g_size_checked_mul(&all, n, size)) {
		errno = ENOMEM;
		return NULL;
	}
	bytes = block_new(all); /* malloc() and memset() would become calloc() */
	return bytes ? memset(bytes, 0, all) : NULL;
}

size_t malloc_usable_size(void *bytes)
{
	Head *head = bytes ? head_of(bytes) : NULL;

	if (!head)
		return 0;
	return (head->class < CLASSES ? room_of(head->class) : head->room) -
	       (gsize)((guint8 *)bytes - (guint8 *)(head + 1));
}

void *realloc(void *bytes, size_t size)
{
	const gsize room = malloc_usable_size(bytes);
	void *moved;

	if (bytes && size <= room)
		return bytes;
	moved = malloc(size);
	if (moved && bytes) {
		memcpy(moved, bytes, room);
		free(bytes);
	}
	return moved;
}

int posix_memalign(void **bytes, size_t alignment, size_t size)
{
	guint8 *whole = malloc(size + alignment + sizeof(Head));
	gsize at;

	if (!whole)
		return ENOMEM;
	at = ((gsize)whole + sizeof(Head) + alignment - 1) / alignment * alignment - (gsize)whole;
	*bytes = whole + at;
	*((Head *)*bytes - 1) = (Head){ .state = PART, .whole = whole };
	return 0;
}

void *memalign(size_t alignment, size_t size)
{
	void *bytes;

	return posix_memalign(&bytes, alignment, size) == 0 ? bytes : NULL;
}

void *aligned_alloc(size_t alignment, size_t size)
{
	return memalign(alignment, size);
}
