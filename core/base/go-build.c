/* SPDX-License-Identifier: Apache-2.0 */
#include "base/go-build.h"

#include <elf.h>
#include <string.h>
#include <unistd.h>

#define SECTIONS_MAX 1024u
#define NAMES_MAX    (64u * 1024)
#define INFO_MAX     (1024u * 1024) /* kubelet has 13 KiB */
#define STRINGS_AT   32u
#define SENTINEL     16u /* before and after the text */
#define VERSION_MAX  64u

#define MAGIC	    "\xff Go buildinf:"
#define INLINE_FLAG 0x2
#define GIT_VERSION "gitVersion=v"

#define VERSION_CHARS "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.+-"

/* Returns `size` bytes, NUL-terminated, or NULL if there are fewer. */
static char *read_part(int fd, guint64 at, gsize size)
{
	g_autofree char *bytes = g_malloc(size + 1);

	if (at > G_MAXINT64 || pread(fd, bytes, size, (off_t)at) != (gssize)size)
		return NULL;
	bytes[size] = '\0';
	return g_steal_pointer(&bytes);
}

static char *read_section(int fd, const Elf64_Shdr *section, gsize max, gsize *size)
{
	if (section->sh_type != SHT_PROGBITS && section->sh_type != SHT_STRTAB)
		return NULL;
	*size = section->sh_size;
	return section->sh_size > 0 && section->sh_size <= max
		       ? read_part(fd, section->sh_offset, *size)
		       : NULL;
}

static gboolean is_supported(const Elf64_Ehdr *head)
{
	return memcmp(head->e_ident, ELFMAG, SELFMAG) == 0 &&
	       head->e_ident[EI_CLASS] == ELFCLASS64 &&
	       head->e_ident[EI_DATA] ==
		       (G_BYTE_ORDER == G_LITTLE_ENDIAN ? ELFDATA2LSB : ELFDATA2MSB) &&
	       head->e_shentsize == sizeof(Elf64_Shdr) && head->e_shnum > 0 &&
	       head->e_shnum <= SECTIONS_MAX && head->e_shstrndx < head->e_shnum;
}

static char *read_named_section(int fd, const char *name, gsize *size)
{
	g_autofree char *head_bytes = read_part(fd, 0, sizeof(Elf64_Ehdr));
	g_autofree char *table = NULL, *names = NULL;
	const Elf64_Shdr *sections;
	gsize names_size;
	Elf64_Ehdr head;

	if (!head_bytes)
		return NULL;
	memcpy(&head, head_bytes, sizeof(head));
	if (!is_supported(&head))
		return NULL;
	table = read_part(fd, head.e_shoff, head.e_shnum * sizeof(Elf64_Shdr));
	sections = (gconstpointer)table;
	if (sections)
		names = read_section(fd, &sections[head.e_shstrndx], NAMES_MAX, &names_size);
	for (guint i = 0; names && i < head.e_shnum; i++)
		if (sections[i].sh_name < names_size &&
		    g_str_equal(names + sections[i].sh_name, name))
			return read_section(fd, &sections[i], INFO_MAX, size);
	return NULL;
}

/* Reads a string with a length prefix and moves `at` behind it. */
static gboolean take_string(const char *info, gsize size, gsize *at, const char **text, gsize *len)
{
	guint shift = 0;
	guint8 byte;

	*len = 0;
	do {
		if (*at >= size || shift > 28)
			return FALSE;
		byte = (guint8)info[(*at)++];
		*len |= (gsize)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	if (*len > size - *at)
		return FALSE;
	*text = info + *at;
	*at += *len;
	return TRUE;
}

/* Returns "path\t...\nmod\t...\ndep\t...\nbuild\t...\n"; g_free() */
static char *read_text(int fd)
{
	gsize size = 0, at = STRINGS_AT, len;
	g_autofree char *info = read_named_section(fd, ".go.buildinfo", &size);
	const char *text;

	if (!info || size < STRINGS_AT || memcmp(info, MAGIC, strlen(MAGIC)) != 0 ||
	    !(info[strlen(MAGIC) + 1] & INLINE_FLAG))
		return NULL;
	if (!take_string(info, size, &at, &text, &len) ||
	    !take_string(info, size, &at, &text, &len) || len < 2 * SENTINEL)
		return NULL;
	return g_strndup(text + SENTINEL, len - 2 * SENTINEL);
}

static char *version_at(const char *text)
{
	const gsize len = strspn(text, VERSION_CHARS);

	return len > 1 && len <= VERSION_MAX && text[0] == 'v' && g_ascii_isdigit(text[1])
		       ? g_strndup(text, len)
		       : NULL;
}

static char *module_version(const char *text, const char *module)
{
	g_auto(GStrv) lines = g_strsplit(text, "\n", -1);

	for (guint i = 0; lines[i]; i++) {
		g_auto(GStrv) parts = g_strsplit(lines[i], "\t", 4);

		if (g_strv_length(parts) >= 3 &&
		    (g_str_equal(parts[0], "mod") || g_str_equal(parts[0], "dep")) &&
		    g_str_equal(parts[1], module))
			return version_at(parts[2]);
	}
	return NULL;
}

char *rdmad_go_build_version(int fd, const char *module)
{
	g_autofree char *text = read_text(fd);
	const char *found = text ? strstr(text, GIT_VERSION) : NULL;
	char *version = found ? version_at(found + strlen(GIT_VERSION) - 1) : NULL;

	return text && !version ? module_version(text, module) : version;
}
