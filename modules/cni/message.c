/* SPDX-License-Identifier: Apache-2.0 */
#include "message.h"

#include <errno.h>
#include <rdmad/error.h>
#include <rdmad/fd.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "shim/io.h"
#include "shim/message.h"

void cni_message_clear(CniMessage *message)
{
	g_clear_pointer(&message->environment, g_free);
	g_clear_pointer(&message->input, g_free);
}

static gboolean malformed(GError **error, const char *what)
{
	g_set_error(error, RDMAD_ERROR, RDMAD_ERROR_INVALID, "a message of rdmad-cni: %s", what);
	return FALSE;
}

/* The uncounted NUL terminates the text for string functions. */
static char *copy(const void *bytes, gsize size)
{
	char *text = g_malloc(size + 1);

	memcpy(text, bytes, size);
	text[size] = '\0';
	return text;
}

/* ---- requests ---- */

/* Reads a memory file of exactly the announced size.  The sender may change it meanwhile; then the
 * request is malformed or a different one, as the sender likes. */
static gboolean input_read(int fd, gsize size, CniMessage *message, GError **error)
{
	struct stat status;
	gsize n_read = 0;

	if (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode) || status.st_size != (off_t)size)
		return malformed(error, "its input is not a file of the announced size");
	message->input = g_malloc0(size + 1);
	while (n_read < size) {
		const ssize_t n = pread(fd, message->input + n_read, size - n_read, (off_t)n_read);

		if (n == 0)
			return malformed(error, "its input ends early");
		if (n < 0 && errno != EINTR)
			return rdmad_error_errno(error, errno, "the input of rdmad-cni");
		n_read += n > 0 ? (gsize)n : 0;
	}
	message->input_length = size;
	return TRUE;
}

static gboolean head_check(const CniMessageHead *head, gsize rest, guint n_fds, GError **error)
{
	const gboolean in_file = (head->flags & CNI_MESSAGE_IN_FILE) != 0;

	if (head->magic != CNI_MESSAGE_MAGIC || head->version != CNI_MESSAGE_VERSION)
		return malformed(error, "of another version");
	if (head->environment > CNI_SHIM_ENVIRONMENT_MAX || head->input > CNI_SHIM_INPUT_MAX)
		return malformed(error, "too large");
	if (rest != head->environment + (in_file ? 0 : (gsize)head->input))
		return malformed(error, "its lengths do not add up");
	if (n_fds != (guint)in_file + ((head->flags & CNI_MESSAGE_HAS_NETNS) != 0))
		return malformed(error, "its descriptors are not those it announces");
	return TRUE;
}

gboolean cni_message_read(const guint8 *bytes, gsize size, const int *fds, guint n_fds,
			  CniMessage *message, GError **error)
{
	CniMessageHead head;

	*message = (CniMessage){ 0 };
	if (size < sizeof(head))
		return malformed(error, "too short");
	memcpy(&head, bytes, sizeof(head));
	if (!head_check(&head, size - sizeof(head), n_fds, error))
		return FALSE;
	message->has_netns = (head.flags & CNI_MESSAGE_HAS_NETNS) != 0;
	message->environment = copy(bytes + sizeof(head), head.environment);
	message->environment_length = head.environment;
	if (head.flags & CNI_MESSAGE_IN_FILE)
		return input_read(fds[n_fds - 1], head.input, message, error);
	message->input = copy(bytes + sizeof(head) + head.environment, head.input);
	message->input_length = head.input;
	return TRUE;
}

/* ---- the spool ---- */

gboolean cni_spooled_name_check(const char *name)
{
	return strlen(name) == 32 && strspn(name, "0123456789abcdef") == 32;
}

static guint64 spooled_sum(CniSpoolHead head, const guint8 *rest, gsize size)
{
	head.sum = 0;
	return fnv(fnv(FNV_BEGIN, &head, sizeof(head)), rest, size);
}

gboolean cni_spooled_read(const guint8 *bytes, gsize size, CniMessage *message, GError **error)
{
	const guint8 *rest = bytes + sizeof(CniSpoolHead);
	CniSpoolHead head;

	*message = (CniMessage){ 0 };
	if (size < sizeof(head))
		return malformed(error, "a spooled DEL is cut off");
	memcpy(&head, bytes, sizeof(head));
	if (head.magic != CNI_SPOOL_MAGIC || head.version != CNI_MESSAGE_VERSION ||
	    head.environment > CNI_SHIM_ENVIRONMENT_MAX || head.input > CNI_SHIM_INPUT_MAX ||
	    size - sizeof(head) != (gsize)head.environment + head.input ||
	    head.sum != spooled_sum(head, rest, size - sizeof(head)) ||
	    !memchr(head.boot_id, '\0', sizeof(head.boot_id)))
		return malformed(error, "a spooled DEL is cut off or damaged");
	message->environment = copy(rest, head.environment);
	message->environment_length = head.environment;
	message->input = copy(rest + head.environment, head.input);
	message->input_length = head.input;
	message->netns_device = head.netns_device;
	message->netns_inode = head.netns_inode;
	memcpy(message->boot_id, head.boot_id, sizeof(message->boot_id));
	return TRUE;
}

/* ---- answers ---- */

static int output_file(const char *text, gsize size, GError **error)
{
	rdmad_autofd int fd = memfd_create("cni-output", MFD_CLOEXEC);

	if (fd < 0 || write_all(fd, text, size) < 0) {
		rdmad_error_errno(error, errno, "the answer to rdmad-cni");
		return -1;
	}
	return rdmad_steal_fd(&fd);
}

GByteArray *cni_answer_new(int status, const char *text, int *fd, GError **error)
{
	const gsize size = text ? strlen(text) : 0;
	CniAnswerHead head = { .magic = CNI_MESSAGE_MAGIC,
			       .version = CNI_MESSAGE_VERSION,
			       .status = (guint32)status,
			       .output = (guint32)size };
	GByteArray *answer;

	*fd = -1;
	g_assert(size <= CNI_SHIM_INPUT_MAX);
	if (size > CNI_MESSAGE_INLINE_MAX) {
		head.flags = CNI_MESSAGE_IN_FILE;
		*fd = output_file(text, size, error);
		if (*fd < 0)
			return NULL;
	}
	answer = g_byte_array_new();
	g_byte_array_append(answer, (const guint8 *)&head, sizeof(head));
	if (size && *fd < 0)
		g_byte_array_append(answer, (const guint8 *)text, (guint)size);
	return answer;
}
