/* SPDX-License-Identifier: Apache-2.0 */
/*
 * malloc() of the simulator, whose only thread spends a sixth of its time in libc's
 *
 * Freed blocks are kept by size, in the order of a stack.  A block that is freed twice, or that is
 * none, ends the process.
 *
 * With ASan (POISONS), bytes that the program must not use are poisoned, and a freed block waits
 * for others of its size before it is used again.  ASan's own malloc() takes two thirds of the time
 * of such a run, mostly to record the stack of each call.  This file itself is never instrumented.
 * Builds with TSan, clang's ASan and libFuzzer use their own.
 */
#include "memory.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#ifdef POISONS
#include <sanitizer/asan_interface.h>
#endif

/* The classes are multiples of UNIT up to SMALL_MAX, and powers of two above. */
#define UNIT	  16u
#define SMALL_MAX 1024u
#define SMALLS	  (SMALL_MAX / UNIT)
#define LARGE_MAX (1u << 24) /* larger blocks go back to the kernel */
#define CLASSES	  (SMALLS + 14)
#define HUGE_PAGE (2u << 20)
#define ARENA	  (4 * HUGE_PAGE)

#define USED 0x75736564u
#define FREE 0x66726565u
#define PART 0x70617274u

/* Before the bytes of each block.  A block keeps its class. */
typedef struct Head {
	guint32 state, class;
	union {
		gsize size;	   /* that the caller asked for; USED */
		struct Head *next; /* FREE */
		void *whole;	   /* the block that this aligned part is of; PART */
	};
} Head;

G_STATIC_ASSERT(sizeof(Head) == UNIT);

static gsize used;
static guint8 *arena;
static gsize arena_left;

gsize memory_blocks(void)
{
	return used;
}

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

static gsize room_of(const Head *head)
{
	const guint class = head->class;

	return class < SMALLS	 ? (class + 1) * UNIT
	       : class < CLASSES ? (gsize)SMALL_MAX << (class - SMALLS + 1)
				 : head->size;
}

/* ---- poison ---- */

#ifdef POISONS

/* ASan makes blocks before it can poison them. */
static gboolean asan_is_ready;

static void poison(void *bytes, gsize size)
{
	if (asan_is_ready)
		__asan_poison_memory_region(bytes, size);
}

static void unpoison(void *bytes, gsize size)
{
	if (asan_is_ready)
		__asan_unpoison_memory_region(bytes, size);
}

/* Those of libraries, and so ASan's, come before this one. */
__attribute__((constructor)) static void asan_has_begun(void)
{
	asan_is_ready = TRUE;
	poison(arena, arena_left);
}

#else

static inline void poison(void *bytes, gsize size)
{
}

static inline void unpoison(void *bytes, gsize size)
{
}

#endif

/* ---- freed blocks ---- */

#ifdef POISONS

#define WAITS 32u /* freed blocks of a class before the first of them is used again */

static struct {
	Head *first, *last;
	guint n;
} kept[CLASSES];

static Head *kept_take(guint class)
{
	Head *head = kept[class].first;

	if (kept[class].n <= WAITS)
		return NULL;
	kept[class].n--;
	kept[class].first = head->next;
	return head;
}

static void kept_add(Head *head)
{
	const guint class = head->class;

	head->next = NULL;
	if (kept[class].n++)
		kept[class].last->next = head;
	else
		kept[class].first = head;
	kept[class].last = head;
}

#else

static Head *kept[CLASSES];

static Head *kept_take(guint class)
{
	Head *head = kept[class];

	if (head) {
		kept[class] = head->next;
		__builtin_prefetch(head->next, 1); /* for the next call */
	}
	return head;
}

static void kept_add(Head *head)
{
	head->next = kept[head->class];
	kept[head->class] = head;
}

#endif

/* ---- new blocks ---- */

static void *pages_new(gsize size)
{
	void *pages = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return pages == MAP_FAILED ? NULL : pages;
}

/* The arena has huge pages, as misses of the TLB would cost 3 % of a run. */
static gboolean arena_new(gsize size)
{
	guint8 *pages = pages_new(size + HUGE_PAGE);

	arena_left = 0;
	if (!pages)
		return FALSE;
	arena = pages + (-(gsize)pages & (HUGE_PAGE - 1));
	arena_left = size;
	madvise(arena, size, MADV_HUGEPAGE);
	poison(arena, size);
	return TRUE;
}

/* Cuts a block off the arena, of which a rest may remain unused. */
static Head *head_cut(gsize size)
{
	Head *head;

	if (size > arena_left && !arena_new(MAX(size, ARENA)))
		return NULL;
	head = (Head *)(void *)arena;
	arena += size;
	arena_left -= size;
	return head;
}

/* Apart from the frequent case, which then needs no stack; as large_free(). */
static G_NO_INLINE Head *head_new(guint class, gsize size)
{
	const gsize room = room_of(&(Head){ .class = class, .size = size });
	Head *head =
		class < CLASSES ? head_cut(sizeof(*head) + room) : pages_new(sizeof(*head) + room);

	if (head)
		head->class = class;
	else
		errno = ENOMEM;
	return head;
}

static void *block_new(gsize size)
{
	const guint class = class_of(size);
	Head *head = G_LIKELY(class < CLASSES) ? kept_take(class) : NULL;

	if (!head && !(head = head_new(class, size)))
		return NULL;
	head->state = USED;
	head->size = size;
	used++;
	unpoison(head + 1, size);
	return head + 1;
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

static G_NO_INLINE void large_free(Head *head)
{
	const int errnum = errno;

	munmap(head, sizeof(*head) + head->size);
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
	used--;
	if (head->class == CLASSES) {
		large_free(head);
		return;
	}
	poison(head + 1, room_of(head));
	head->state = FREE;
	kept_add(head);
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

	return head ? head->size - (gsize)((guint8 *)bytes - (guint8 *)(head + 1)) : 0;
}

/* A block that is whole and has the room stays. */
void *realloc(void *bytes, size_t size)
{
	Head *head = bytes ? head_of(bytes) : NULL;
	void *moved;

	if (head && bytes == head + 1 && size <= room_of(head) && head->class < CLASSES) {
		poison(bytes, room_of(head));
		unpoison(bytes, size);
		head->size = size;
		return bytes;
	}
	moved = malloc(size);
	if (moved && bytes) {
		memcpy(moved, bytes, MIN(size, malloc_usable_size(bytes)));
		free(bytes);
	}
	return moved;
}

int posix_memalign(void **bytes, size_t alignment, size_t size)
{
	guint8 *whole = block_new(size + alignment + sizeof(Head));
	gsize at;

	if (!whole)
		return ENOMEM;
	at = ((gsize)whole + sizeof(Head) + alignment - 1) / alignment * alignment - (gsize)whole;
	*bytes = whole + at;
	*((Head *)*bytes - 1) = (Head){ .state = PART, .whole = whole };
	((Head *)(void *)whole - 1)->size = at + size;
	poison(whole, size + alignment + sizeof(Head));
	unpoison(*bytes, size);
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

/* ASan's would give blocks of ASan's malloc(). */

char *strndup(const char *text, size_t max)
{
	const gsize size = strnlen(text, max);
	char *copy = malloc(size + 1);

	if (!copy)
		return NULL;
	copy[size] = '\0';
	return memcpy(copy, text, size);
}

char *strdup(const char *text)
{
	return strndup(text, strlen(text));
}

char *__strdup(const char *text); /* what a header of libc makes of strdup() */

char *__strdup(const char *text)
{
	return strdup(text);
}
