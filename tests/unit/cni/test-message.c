/* SPDX-License-Identifier: Apache-2.0 */
#include "message.h"

#include <rdmad/error.h>
#include <rdmad/fd.h>
#include <string.h>
#include <sys/mman.h>

#include "shim/io.h"
#include "shim/message.h"
#include "support/unit.h"

static GByteArray *request_bytes(CniMessageHead head)
{
	GByteArray *bytes = g_byte_array_new();

	g_byte_array_append(bytes, (const guint8 *)&head, sizeof(head));
	g_byte_array_append(bytes, (const guint8 *)"A=b\0{}", 6);
	return bytes;
}

static const CniMessageHead good = { CNI_MESSAGE_MAGIC, CNI_MESSAGE_VERSION, 0, 4, 2 };

static void test_what_the_shim_does_not_send_is_refused(void)
{
	static const struct {
		const char *what;
		CniMessageHead head;
		guint n_fds;
		gboolean taken;
	} cases[] = {
		{ "good", { CNI_MESSAGE_MAGIC, 1, 0, 4, 2 }, 0, TRUE },
		{ "another magic", { 7, 1, 0, 4, 2 }, 0, FALSE },
		{ "a newer version", { CNI_MESSAGE_MAGIC, 2, 0, 4, 2 }, 0, FALSE },
		{ "more than there is", { CNI_MESSAGE_MAGIC, 1, 0, 4, 3 }, 0, FALSE },
		{ "less than there is", { CNI_MESSAGE_MAGIC, 1, 0, 3, 2 }, 0, FALSE },
		{ "lengths that overflow", { CNI_MESSAGE_MAGIC, 1, 0, 0xffffffff, 7 }, 0, FALSE },
		{ "a namespace is missing",
		  { CNI_MESSAGE_MAGIC, 1, CNI_MESSAGE_HAS_NETNS, 4, 2 },
		  0,
		  FALSE },
		{ "a descriptor too many", { CNI_MESSAGE_MAGIC, 1, 0, 4, 2 }, 1, FALSE },
		{ "the input is not a file",
		  { CNI_MESSAGE_MAGIC, 1, CNI_MESSAGE_IN_FILE, 6, 2 },
		  1,
		  FALSE },
	};
	int ends[2];

	g_assert_cmpint(pipe(ends), ==, 0);
	for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
		g_autoptr(GByteArray) bytes = request_bytes(cases[i].head);
		g_autoptr(GError) error = NULL;
		g_auto(CniMessage) message = { 0 };

		g_test_message("%s", cases[i].what);
		g_assert_cmpint(cni_message_read(bytes->data, bytes->len, ends, cases[i].n_fds,
						 &message, &error),
				==, cases[i].taken);
		if (!cases[i].taken)
			g_assert_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID);
	}
	close(ends[0]);
	close(ends[1]);
}

static void test_a_message_that_is_cut_off_anywhere_is_refused(void)
{
	g_autoptr(GByteArray) bytes = request_bytes(good);

	for (guint size = 0; size < bytes->len; size++) {
		g_auto(CniMessage) message = { 0 };

		g_assert_false(cni_message_read(bytes->data, size, NULL, 0, &message, NULL));
	}
}

static void test_environment_and_input_are_found(void)
{
	g_autoptr(GByteArray) bytes = request_bytes(good);
	g_autoptr(GError) error = NULL;
	g_auto(CniMessage) message = { 0 };

	g_assert_true(cni_message_read(bytes->data, bytes->len, NULL, 0, &message, &error));
	g_assert_no_error(error);
	g_assert_cmpmem(message.environment, message.environment_length, "A=b", 4);
	g_assert_cmpmem(message.input, message.input_length, "{}", 2);
	g_assert_false(message.has_netns);
}

static void test_a_large_input_is_in_a_file(void)
{
	rdmad_autofd int fd = memfd_create("input", MFD_CLOEXEC);
	CniMessageHead head = { CNI_MESSAGE_MAGIC, 1, CNI_MESSAGE_IN_FILE | CNI_MESSAGE_HAS_NETNS,
				6, 3 };
	const int fds[] = { -1, fd };
	g_autoptr(GByteArray) bytes = request_bytes(head);
	g_autoptr(GError) error = NULL;
	g_auto(CniMessage) message = { 0 };

	g_assert_cmpint(write_all(fd, "xyz", 3), ==, 0);
	g_assert_true(cni_message_read(bytes->data, bytes->len, fds, 2, &message, &error));
	g_assert_no_error(error);
	g_assert_cmpmem(message.input, message.input_length, "xyz", 3);
	g_assert_true(message.has_netns);
}

static GByteArray *spooled_bytes(void)
{
	CniSpoolHead head = { .magic = CNI_SPOOL_MAGIC,
			      .version = CNI_MESSAGE_VERSION,
			      .environment = 4,
			      .input = 2,
			      .netns_device = 4,
			      .netns_inode = 4026532000,
			      .boot_id = "b" };
	GByteArray *bytes = g_byte_array_new();

	head.sum = fnv(fnv(FNV_BEGIN, &head, sizeof(head)), "A=b\0{}", 6);
	g_byte_array_append(bytes, (const guint8 *)&head, sizeof(head));
	g_byte_array_append(bytes, (const guint8 *)"A=b\0{}", 6);
	return bytes;
}

static void test_a_spooled_del_comes_back_as_it_was(void)
{
	g_autoptr(GByteArray) bytes = spooled_bytes();
	g_autoptr(GError) error = NULL;
	g_auto(CniMessage) message = { 0 };

	g_assert_true(cni_spooled_read(bytes->data, bytes->len, &message, &error));
	g_assert_no_error(error);
	g_assert_cmpmem(message.environment, message.environment_length, "A=b", 4);
	g_assert_cmpmem(message.input, message.input_length, "{}", 2);
	g_assert_cmpuint(message.netns_inode, ==, 4026532000);
	g_assert_cmpstr(message.boot_id, ==, "b");
}

static void test_a_spooled_del_that_is_damaged_is_refused(void)
{
	g_autoptr(GByteArray) bytes = spooled_bytes();

	for (guint size = 0; size < bytes->len; size++) {
		g_auto(CniMessage) message = { 0 };

		g_assert_false(cni_spooled_read(bytes->data, size, &message, NULL));
	}
	for (guint i = 0; i < bytes->len; i++) {
		g_auto(CniMessage) message = { 0 };

		bytes->data[i] ^= 1;
		g_assert_false(cni_spooled_read(bytes->data, bytes->len, &message, NULL));
		bytes->data[i] ^= 1;
	}
}

static void test_a_large_answer_is_in_a_file(void)
{
	static const gsize sizes[] = { 0, 1, CNI_MESSAGE_INLINE_MAX, CNI_MESSAGE_INLINE_MAX + 1 };

	for (guint i = 0; i < G_N_ELEMENTS(sizes); i++) {
		g_autofree char *text = g_strnfill(sizes[i], 'x');
		rdmad_autofd int fd = -1;
		g_autoptr(GByteArray) answer = cni_answer_new(1, text, &fd, NULL);
		CniAnswerHead head;

		memcpy(&head, answer->data, sizeof(head));
		g_assert_cmpuint(head.status, ==, 1);
		g_assert_cmpuint(head.output, ==, sizes[i]);
		g_assert_cmpint(fd >= 0, ==, sizes[i] > CNI_MESSAGE_INLINE_MAX);
		g_assert_cmpuint(answer->len, ==, sizeof(head) + (fd >= 0 ? 0 : sizes[i]));
	}
}

static void test_only_names_of_records_are_records(void)
{
	g_assert_true(cni_spooled_name_check("0123456789abcdef0123456789abcdef"));
	g_assert_false(cni_spooled_name_check(".0123456789abcdef0123456789abcdef.7"));
	g_assert_false(cni_spooled_name_check("0123456789abcdef0123456789abcdeg"));
	g_assert_false(cni_spooled_name_check(""));
}

const UnitTest unit_tests[] = {
	UNIT_TEST("/message/refused", test_what_the_shim_does_not_send_is_refused),
	UNIT_TEST("/message/cut-off", test_a_message_that_is_cut_off_anywhere_is_refused),
	UNIT_TEST("/message/parts", test_environment_and_input_are_found),
	UNIT_TEST("/message/file", test_a_large_input_is_in_a_file),
	UNIT_TEST("/message/spooled", test_a_spooled_del_comes_back_as_it_was),
	UNIT_TEST("/message/damaged", test_a_spooled_del_that_is_damaged_is_refused),
	UNIT_TEST("/message/answer", test_a_large_answer_is_in_a_file),
	UNIT_TEST("/message/names", test_only_names_of_records_are_records),
	{ 0 },
};
