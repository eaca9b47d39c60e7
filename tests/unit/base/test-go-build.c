/* SPDX-License-Identifier: Apache-2.0 */
#include "base/go-build.h"

#include <elf.h>
#include <errno.h>
#include <rdmad/fd.h>
#include <string.h>
#include <sys/mman.h>

#include "../support/unit.h"

#define SENTINEL "0123456789abcdef"
#define NAMES	 "\0.shstrtab\0.go.buildinfo"
#define MOD	 "path\tk8s.io/kubernetes/cmd/kubelet\nmod\tk8s.io/kubernetes\tv1.35.4\th1:x=\n"
#define K3S                                                                                        \
	"mod\tgithub.com/k3s-io/k3s\t(devel)\t\ndep\tk8s.io/kubernetes\tv1.31.0\nbuild\t-ldflags="
#define FLAGS "-X k8s.io/component-base/version.gitVersion=v1.31.1+k3s1 -w"

/* The relevant parts of a file that Go's linker writes. */
static GByteArray *program(const char *text)
{
	GByteArray *file = g_byte_array_new();
	g_autofree char *whole = g_strconcat(SENTINEL, text, SENTINEL, NULL);
	const gsize len = strlen(whole);
	const guint8 lengths[] = { 4, 'g', 'o', '1', '.', (len & 0x7f) | 0x80, (guint8)(len >> 7) };
	guint8 start[32] = "\xff Go buildinf:";
	Elf64_Ehdr head = { .e_shentsize = sizeof(Elf64_Shdr), .e_shnum = 3, .e_shstrndx = 1 };
	Elf64_Shdr sections[3] = { 0 };

	start[14] = 8;
	start[15] = 2;
	memcpy(head.e_ident, ELFMAG, SELFMAG);
	head.e_ident[EI_CLASS] = ELFCLASS64;
	head.e_ident[EI_DATA] = G_BYTE_ORDER == G_LITTLE_ENDIAN ? ELFDATA2LSB : ELFDATA2MSB;
	head.e_shoff = sizeof(head);
	sections[1] = (Elf64_Shdr){ .sh_name = 1,
				    .sh_type = SHT_STRTAB,
				    .sh_offset = sizeof(head) + sizeof(sections),
				    .sh_size = sizeof(NAMES) };
	sections[2] = (Elf64_Shdr){ .sh_name = 11,
				    .sh_type = SHT_PROGBITS,
				    .sh_offset = sections[1].sh_offset + sizeof(NAMES),
				    .sh_size = sizeof(start) + sizeof(lengths) + len };
	g_byte_array_append(file, (gconstpointer)&head, sizeof(head));
	g_byte_array_append(file, (gconstpointer)sections, sizeof(sections));
	g_byte_array_append(file, (gconstpointer)NAMES, sizeof(NAMES));
	g_byte_array_append(file, start, sizeof(start));
	g_byte_array_append(file, lengths, sizeof(lengths));
	g_byte_array_append(file, (gconstpointer)whole, (guint)len);
	return file;
}

static char *version_of(const GByteArray *file, gsize size)
{
	rdmad_autofd int fd = memfd_create("program", MFD_CLOEXEC);

	g_assert_cmpint(fd, >=, 0);
	g_assert_cmpint(write(fd, file->data, size), ==, (gssize)size);
	return rdmad_go_build_version(fd, "k8s.io/kubernetes");
}

static void test_a_program_says_its_version(void)
{
	static const struct {
		const char *text, *version;
	} cases[] = {
		{ MOD, "v1.35.4" },
		{ K3S "\"" FLAGS "\"\n", "v1.31.1+k3s1" },
		{ K3S "\n", "v1.31.0" },
		{ "mod\tk8s.io/kubernetes\t(devel)\t\n", NULL },
		{ "mod\tk8s.io/kubernetes\tv\n", NULL },
		{ "mod\tk8s.io/kubernetes\n", NULL },
		{ "mod\texample.org/other\tv1.0.0\n", NULL },
		{ "", NULL },
	};

	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GByteArray) file = program(cases[i].text);
		g_autofree char *version = version_of(file, file->len);

		g_assert_cmpstr(version, ==, cases[i].version);
	}
}

static void test_a_file_that_was_cut_says_nothing(void)
{
	g_autoptr(GByteArray) file = program(MOD);

	for (gsize size = 0; size < file->len; size++)
		g_assert_null(version_of(file, size));
}

/* Sets each byte before the text to a value that is too large. */
static void test_sizes_are_not_believed(void)
{
	g_autoptr(GByteArray) file = program(MOD);

	for (guint i = 0; i < file->len; i++) {
		const guint8 was = file->data[i];

		file->data[i] = 0xff;
		g_free(version_of(file, file->len));
		file->data[i] = was;
	}
}

const UnitTest unit_tests[] = {
	UNIT_TEST("/go-build/a_program_says_its_version", test_a_program_says_its_version),
	UNIT_TEST("/go-build/a_file_that_was_cut_says_nothing",
		  test_a_file_that_was_cut_says_nothing),
	UNIT_TEST("/go-build/sizes_are_not_believed", test_sizes_are_not_believed),
	{ 0 },
};
