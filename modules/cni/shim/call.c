/* SPDX-License-Identifier: Apache-2.0 */
#include "shim/rdmad-cni.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define FIRST_PAUSE_MS 5
#define LAST_PAUSE_MS  200

/* ---- connecting ---- */

static CallOutcome outcome_of(int errnum)
{
	switch (errnum) {
	case ENOENT:
	case ECONNREFUSED:
	case ECONNRESET:
	case EPIPE:
	case EAGAIN:	 /* the queue is full */
	case EPROTOTYPE: /* a socket of another type listens there, for now */
		return CALL_UNREACHABLE;
	case ETIMEDOUT:
		return CALL_TIMED_OUT;
	default:
		return CALL_REFUSED;
	}
}

/* Returns a descriptor, or -1. */
static int daemon_connect(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd, errnum;

	if (strlen(path) >= sizeof(address.sun_path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memcpy(address.sun_path, path, strlen(path) + 1);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0)
		return fd;
	errnum = errno;
	close(fd);
	errno = errnum;
	return -1;
}

/* ---- the request ---- */

/* Returns a memory file with the input, or -1. */
static int input_file(const ShimRequest *request)
{
	const int fd = memfd_create("cni-input", MFD_CLOEXEC);

	if (fd >= 0 && write_all(fd, request->input, request->input_size) == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

static int message_send(int fd, const struct msghdr *message, Deadline deadline)
{
	for (;;) {
		if (sendmsg(fd, message, MSG_NOSIGNAL) >= 0)
			return 0;
		if (errno != EINTR && errno != EAGAIN)
			return -1;
		if (errno == EAGAIN && wait_for(fd, POLLOUT, deadline) < 0)
			return -1;
	}
}

static void descriptors_put(struct msghdr *message, const int *fds, int n)
{
	struct cmsghdr *control = message->msg_control;

	if (!n) {
		message->msg_control = NULL;
		message->msg_controllen = 0;
		return;
	}
	message->msg_controllen = CMSG_SPACE(sizeof(int) * (size_t)n);
	control->cmsg_level = SOL_SOCKET;
	control->cmsg_type = SCM_RIGHTS;
	control->cmsg_len = CMSG_LEN(sizeof(int) * (size_t)n);
	memcpy(CMSG_DATA(control), fds, sizeof(int) * (size_t)n);
}

static int request_send(int fd, const ShimRequest *request, int file, Deadline deadline)
{
	CniMessageHead head = { .magic = CNI_MESSAGE_MAGIC,
				.version = CNI_MESSAGE_VERSION,
				.environment = request->environment_size,
				.input = request->input_size };
	struct iovec parts[] = {
		{ &head, sizeof(head) },
		{ (char *)request->environment, request->environment_size },
		{ (char *)request->input, file >= 0 ? 0 : request->input_size },
	};
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(2 * sizeof(int))] = { 0 };
	struct msghdr message = { .msg_iov = parts, .msg_iovlen = 3, .msg_control = control };
	int fds[2], n = 0;

	if (request->netns >= 0) {
		head.flags |= CNI_MESSAGE_HAS_NETNS;
		fds[n++] = request->netns;
	}
	if (file >= 0) {
		head.flags |= CNI_MESSAGE_IN_FILE;
		fds[n++] = file;
	}
	descriptors_put(&message, fds, n);
	return message_send(fd, &message, deadline);
}

static int request_put(int fd, const ShimRequest *request, Deadline deadline)
{
	int file = -1, status, errnum;

	if (request->input_size > CNI_MESSAGE_INLINE_MAX && (file = input_file(request)) < 0)
		return -1;
	status = request_send(fd, request, file, deadline);
	errnum = errno;
	if (file >= 0)
		close(file);
	errno = errnum;
	return status;
}

/* ---- the answer ---- */

static int received_file(struct msghdr *message)
{
	struct cmsghdr *control = CMSG_FIRSTHDR(message);
	int fd = -1;

	if (control && control->cmsg_type == SCM_RIGHTS &&
	    control->cmsg_len >= CMSG_LEN(sizeof(fd)))
		memcpy(&fd, CMSG_DATA(control), sizeof(fd));
	return fd;
}

static int64_t file_read(int file, CallAnswer *answer, uint32_t size)
{
	uint32_t n_read = 0;

	while (n_read < size) {
		const ssize_t n = pread(file, answer->output + n_read, size - n_read, n_read);

		if (n == 0 || (n < 0 && errno != EINTR))
			break;
		n_read += n > 0 ? (uint32_t)n : 0;
	}
	return n_read;
}

/* Returns -1 with EPROTO for an unknown or damaged answer. */
static int answer_take(const char *bytes, size_t size, int file, CallAnswer *answer)
{
	CniAnswerHead head;
	int64_t n_read;

	errno = EPROTO;
	if (size < sizeof(head))
		return -1;
	memcpy(&head, bytes, sizeof(head));
	if (head.magic != CNI_MESSAGE_MAGIC || head.version != CNI_MESSAGE_VERSION ||
	    head.output > sizeof(answer->output) ||
	    !(head.flags & CNI_MESSAGE_IN_FILE) != (file < 0))
		return -1;
	n_read = file >= 0 ? file_read(file, answer, head.output) : (int64_t)(size - sizeof(head));
	if (file < 0 && n_read == head.output)
		memcpy(answer->output, bytes + sizeof(head), head.output);
	answer->status = head.status;
	answer->size = head.output;
	return n_read == head.output ? 0 : -1;
}

static int answer_get(int fd, CallAnswer *answer, Deadline deadline)
{
	char bytes[CNI_MESSAGE_SIZE_MAX];
	struct iovec part = { bytes, sizeof(bytes) };
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))];
	struct msghdr message = { .msg_iov = &part,
				  .msg_iovlen = 1,
				  .msg_control = control,
				  .msg_controllen = sizeof(control) };
	ssize_t n;
	int file, status;

	if (wait_for(fd, POLLIN, deadline) < 0)
		return -1;
	do
		n = recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n <= 0) {
		errno = n ? errno : ECONNRESET;
		return -1;
	}
	file = received_file(&message);
	status = answer_take(bytes, message.msg_flags & MSG_TRUNC ? 0 : (size_t)n, file, answer);
	if (file >= 0)
		close(file);
	return status;
}

static CallOutcome call_once(const ShimRequest *request, const char *path, Deadline deadline,
			     CallAnswer *answer)
{
	const int fd = daemon_connect(path);
	int status, errnum;

	if (fd < 0)
		return outcome_of(errno);
	status = request_put(fd, request, deadline);
	if (status == 0)
		status = answer_get(fd, answer, deadline);
	errnum = errno;
	close(fd);
	return status == 0 ? CALL_ANSWERED : outcome_of(errnum);
}

CallOutcome call_daemon(const ShimRequest *request, const char *path, int64_t wait_ms,
			Deadline deadline, CallAnswer *answer)
{
	const Deadline retry_until = deadline_in(wait_ms);
	int64_t pause = FIRST_PAUSE_MS;

	for (;;) {
		const CallOutcome outcome = call_once(request, path, deadline, answer);
		const int left = deadline_left(retry_until);

		if (outcome != CALL_UNREACHABLE || !left || !deadline_left(deadline))
			return outcome;
		sleep_ms(pause < left ? pause : left);
		pause = pause * 2 < LAST_PAUSE_MS ? pause * 2 : LAST_PAUSE_MS;
	}
}
