/* SPDX-License-Identifier: Apache-2.0 */
/* Uses responses of kernel 6.12 for a soft-RoCE device in place of a socket (ld's --wrap) */
#include <errno.h>
#include <netlink/msg.h>
#include <rdma/rdma_netlink.h>
#include <rdmad/device.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/loop.h"
#include "base/work.h"
#include "hardware/device.h"
#include "hardware/counters/users.h"
#include "failing-calls.h"
#include "machine.h"
#include "../support/clock.h"
#include "../support/unit.h"

#define RECORDED MACHINES_DIR "/../fuzz/seeds/netlink/restrack-"
#define PID	 "216" /* of the recorded answers */
#define UID	 "0e7f1ca3-1b2c-4d5e-8f90-a1b2c3d4e5f6"
#define ID	 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define IN_POD	 "0::/kubepods/burstable/pod" UID "/" ID "\n"

/* The queried part of the kernel.  `refused` is a kind that fails with `errnum`. */
static struct {
	GString *asked;
	const char *refused;
	int errnum;
	int qp_errnum; /* returned in place of queue pairs */
	guint qp_messages;
	gint64 qp_message_us; /* duration of each message */
	guint32 mr_thread;    /* creator of memory regions; 0: as recorded */
	int answered;
} kernel;

static const char *kind_name(guint16 type)
{
	switch (RDMA_NL_GET_OP(type)) {
	case RDMA_NLDEV_CMD_RES_GET:
		return "summary";
	case RDMA_NLDEV_CMD_RES_QP_GET:
		return "qp";
	case RDMA_NLDEV_CMD_RES_CQ_GET:
		return "cq";
	case RDMA_NLDEV_CMD_RES_MR_GET:
		return "mr";
	case RDMA_NLDEV_CMD_RES_PD_GET:
		return "pd";
	case RDMA_NLDEV_CMD_RES_CTX_GET:
		return "ctx";
	default:
		return "other";
	}
}

/* Returns 0, or E2BIG if `each` ended the response. */
static int give_message(const struct nlmsghdr *msg, RdmadNetlinkEach each, gpointer data)
{
	const gboolean of_qp = RDMA_NL_GET_OP(msg->nlmsg_type) == (guint)RDMA_NLDEV_CMD_RES_QP_GET;

	for (guint i = 0; i < (of_qp ? kernel.qp_messages : 1); i++) {
		now_us += of_qp ? kernel.qp_message_us : 0;
		if (!each(msg, data))
			return E2BIG;
	}
	return 0;
}

static void set_thread(char *bytes, gsize size, guint32 thread)
{
	const struct {
		guint16 size, type;
		guint32 pid;
	} recorded = { 8, RDMA_NLDEV_ATTR_RES_PID, (guint32)atoi(PID) };
	char *at = memmem(bytes, size, &recorded, sizeof(recorded));

	g_assert_nonnull(at);
	memcpy(at + NLA_HDRLEN, &thread, sizeof(thread));
}

static int give_recorded(const char *kind, RdmadNetlinkEach each, gpointer data)
{
	g_autofree char *path = g_strconcat(RECORDED, kind, NULL);
	g_autofree char *bytes = NULL;
	struct nlmsghdr *msg;
	int errnum = 0, left;
	gsize size;

	g_assert_true(g_file_get_contents(path, &bytes, &size, NULL));
	if (kernel.mr_thread && g_str_equal(kind, "mr"))
		set_thread(bytes, size, kernel.mr_thread);
	left = (int)size;
	for (msg = (void *)bytes; !errnum && nlmsg_ok(msg, left); msg = nlmsg_next(msg, &left))
		if (msg->nlmsg_type >= NLMSG_MIN_TYPE)
			errnum = give_message(msg, each, data);
	return errnum;
}

gboolean __wrap_rdmad_netlink_ask_each(RdmadNetlink *nl, struct nl_msg *request,
				       RdmadNetlinkEach each, void (*restart)(gpointer data),
				       gpointer data, GError **error);
int __wrap_rdmad_netlink_errnum(const RdmadNetlink *nl);

gboolean __wrap_rdmad_netlink_ask_each(RdmadNetlink *nl, struct nl_msg *request,
				       RdmadNetlinkEach each, void (*restart)(gpointer data),
				       gpointer data, GError **error)
{
	const char *kind = kind_name(nlmsg_hdr(request)->nlmsg_type);

	g_assert_true(nl == (gpointer)&kernel);
	g_string_append_printf(kernel.asked, "%s ", kind);
	restart(data);
	if (!g_strcmp0(kind, kernel.refused))
		kernel.answered = kernel.errnum;
	else if (kernel.qp_errnum && g_str_equal(kind, "qp"))
		kernel.answered = kernel.qp_errnum;
	else
		kernel.answered = give_recorded(kind, each, data);
	nlmsg_free(request);
	return kernel.answered == 0;
}

int __wrap_rdmad_netlink_errnum(const RdmadNetlink *nl)
{
	return kernel.answered;
}

typedef struct {
	TestMachine *machine;
	RdmadDevice *dev;
	RdmadBackoff *backoff;
	RdmadDeviceUsers *users;
	gint begun; /* atomic: the worker has begun */
} Fixture;

/* As recorded, but without the list of contexts, as before Linux 5.13. */
static void setup(Fixture *f, gconstpointer data)
{
	now_us = 1;
	kernel.asked = g_string_new(NULL);
	kernel.refused = "ctx";
	kernel.errnum = EINVAL;
	kernel.qp_errnum = 0;
	kernel.qp_messages = 1;
	kernel.qp_message_us = 0;
	kernel.mr_thread = 0;
	f->machine = test_machine_new_empty();
	f->dev = rdmad_device_new("rxe0", "rxe0");
	f->dev->index = 0;
	f->backoff = rdmad_backoff_new();
	f->users = rdmad_device_users_new(f->machine->root, f->dev);
}

static void teardown(Fixture *f, gconstpointer data)
{
	rdmad_device_users_free(f->users);
	rdmad_backoff_unref(f->backoff);
	rdmad_device_unref(f->dev);
	test_machine_free(f->machine);
	g_string_free(kernel.asked, TRUE);
}

static void put_cgroup(const Fixture *f, const char *text)
{
	test_machine_put(f->machine, "proc/" PID "/cgroup", text, -1);
}

static void print_user(GString *text, const RdmadDeviceUser *user)
{
	static const char *const kinds[] = { "qp", "cq", "mr", "cm_id", "pd", "srq", "ctx" };

	g_string_append_printf(text, "%u %s %s:", user->pid, user->pod_uid ? user->pod_uid : "-",
			       user->container_id ? user->container_id : "-");
	for (guint kind = 0; kind < RDMAD_USES_KINDS; kind++)
		if (user->objects[kind])
			g_string_append_printf(text, " %s=%u", kinds[kind], user->objects[kind]);
	g_string_append_c(text, '\n');
}

static RdmadReading *read_users(const Fixture *f, RdmadNetlink *nl, const RdmadJob *job)
{
	g_auto(RdmadReadingBuilder) builder = {
		.root = f->machine->root,
		.dev = f->dev,
		.rdma = nl,
		.backoff = f->backoff,
		.job = job,
		.clock = fake_clock,
	};

	g_string_truncate(kernel.asked, 0);
	rdmad_reading_builder_init(&builder);
	rdmad_device_users_read(f->users, &builder);
	return rdmad_reading_builder_finish(&builder);
}

static void assert_users(const Fixture *f, const char *expected)
{
	g_autoptr(RdmadReading) reading = read_users(f, (gpointer)&kernel, NULL);
	g_autoptr(GString) text = g_string_new(NULL);

	g_assert_cmpint(reading->users_errnum, ==, 0);
	for (guint i = 0; i < reading->n_users; i++)
		print_user(text, &reading->users[i]);
	g_assert_cmpstr(text->str, ==, expected);
}

static void assert_errnum(const Fixture *f, RdmadNetlink *nl, int errnum)
{
	g_autoptr(RdmadReading) reading = read_users(f, nl, NULL);

	g_assert_cmpint(reading->users_errnum, ==, errnum);
	g_assert_cmpuint(reading->n_users, ==, 0);
}

static void test_objects_are_of_the_pod_whose_process_made_them(Fixture *f, gconstpointer data)
{
	put_cgroup(f, IN_POD);
	assert_users(f,
		     "0 - -: qp=1 cq=1 pd=1 ctx=1\n" PID " " UID " " ID ": qp=1 cq=1 mr=1 pd=1\n");
}

static void test_threads_of_a_process_are_one_user(Fixture *f, gconstpointer data)
{
	kernel.mr_thread = 217;
	test_machine_put(f->machine, "proc/" PID "/status", "Name:\ta\nTgid:\t200\nPid:\t216\n",
			 -1);
	test_machine_put(f->machine, "proc/217/status", "Name:\tb\nTgid:\t200\nPid:\t217\n", -1);
	test_machine_put(f->machine, "proc/200/cgroup", IN_POD, -1);
	assert_users(f, "0 - -: qp=1 cq=1 pd=1 ctx=1\n200 " UID " " ID ": qp=1 cq=1 mr=1 pd=1\n");
}

static void test_a_thread_of_an_unknown_process_is_a_user(Fixture *f, gconstpointer data)
{
	static const char *const texts[] = { "",
					     "Tgid:\t200\n",
					     "Name:\ta\nTgid:\t0\n",
					     "Name:\ta\nTgid:\tx\n",
					     "Name:\ta\nTgid:\t-1\n",
					     "Name:\ta\nTgid:\t99999999999999999999\n" };

	put_cgroup(f, IN_POD);
	for (gsize i = 0; i < G_N_ELEMENTS(texts); i++) {
		test_machine_put(f->machine, "proc/" PID "/status", texts[i], -1);
		assert_users(f, "0 - -: qp=1 cq=1 pd=1 ctx=1\n" PID " " UID " " ID
				": qp=1 cq=1 mr=1 pd=1\n");
	}
}

static void test_only_what_there_is_is_asked_for(Fixture *f, gconstpointer data)
{
	assert_users(f, "0 - -: qp=1 cq=1 pd=1 ctx=1\n" PID " - -: qp=1 cq=1 mr=1 pd=1\n");
	g_assert_cmpstr(kernel.asked->str, ==, "summary qp cq mr pd ctx ");
}

/* Any contents and any type of file are harmless. */
static void test_a_cgroup_without_a_uid_is_no_pod(Fixture *f, gconstpointer data)
{
	g_autofree char *huge = g_strnfill(RDMAD_SYSROOT_MAX + 1, '/');
	g_autofree char *path = g_build_filename(f->machine->dir, "proc/" PID "/cgroup", NULL);
	const char *const texts[] = { "", "0::/\n", "0::/kubepods/pod\xff\xfe\n", huge };

	for (gsize i = 0; i < G_N_ELEMENTS(texts); i++) {
		put_cgroup(f, texts[i]);
		assert_users(f, "0 - -: qp=1 cq=1 pd=1 ctx=1\n" PID " - -: qp=1 cq=1 mr=1 pd=1\n");
	}
	g_assert_cmpint(remove(path), ==, 0);
	g_assert_cmpint(mkfifo(path, 0600), ==, 0);
	assert_users(f, "0 - -: qp=1 cq=1 pd=1 ctx=1\n" PID " - -: qp=1 cq=1 mr=1 pd=1\n");
}

/* Lets each call of a reading fail once. */
static void test_an_error_that_may_pass_is_no_process_without_a_pod(Fixture *f, gconstpointer data)
{
	static const int errnums[] = { EMFILE, ENFILE, ENOMEM, EIO, EPERM };
	static const char expected[] =
		"0 - -: qp=1 cq=1 pd=1 ctx=1\n200 " UID " " ID ": qp=1 cq=1 mr=1 pd=1\n";
	guint calls;

	test_machine_put(f->machine, "proc/" PID "/status", "Name:\ta\nTgid:\t200\n", -1);
	test_machine_put(f->machine, "proc/200/cgroup", IN_POD, -1);
	fault.count = 0;
	assert_users(f, expected);
	calls = fault.count;
	g_assert_cmpuint(calls, >=, 4);
	for (guint at = 1; at <= calls; at++)
		for (gsize i = 0; i < G_N_ELEMENTS(errnums); i++) {
			fault.count = 0;
			fault.at = at;
			fault.errnum = errnums[i];
			assert_errnum(f, (gpointer)&kernel, errnums[i]);
			fault.at = 0;
			assert_users(f, expected);
		}
}

/* Of a process that has ended, /proc has no file, or one that cannot be read. */
static void test_a_process_that_has_ended_is_in_no_pod(Fixture *f, gconstpointer data)
{
	static const struct {
		const char *path;
		guint at;
		int errnum;
	} cases[] = {
		{ "proc/" PID "/cgroup", 0, ENOENT },
		{ "proc/" PID "/cgroup", 0, EACCES },
		{ NULL, 3, ESRCH }, /* the read, after one call for the status and the open */
	};

	put_cgroup(f, IN_POD);
	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		fault.count = 0;
		fault.path = cases[i].path;
		fault.at = cases[i].at;
		fault.errnum = cases[i].errnum;
		assert_users(f, "0 - -: qp=1 cq=1 pd=1 ctx=1\n" PID " - -: qp=1 cq=1 mr=1 pd=1\n");
		fault.path = NULL;
		fault.at = 0;
	}
}

static void test_what_cannot_be_listed_has_a_reason_and_is_not_zero(Fixture *f, gconstpointer data)
{
	static const struct {
		const char *refused;
		int errnum;
	} cases[] = {
		{ "summary", EINVAL }, { "summary", EPERM }, { "qp", EINVAL },
		{ "pd", ENODEV },      { "ctx", ENOMEM },
	};

	for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
		kernel.refused = cases[i].refused;
		kernel.errnum = cases[i].errnum;
		assert_errnum(f, (gpointer)&kernel, cases[i].errnum);
	}
}

/* Drivers without query_qp(). */
static void test_what_the_driver_cannot_list_does_not_hide_the_rest(Fixture *f, gconstpointer data)
{
	g_autoptr(RdmadReading) reading = NULL;

	kernel.qp_errnum = EOPNOTSUPP;
	assert_users(f, "0 - -: qp=2 cq=1 pd=1 ctx=1\n" PID " - -: cq=1 mr=1 pd=1\n");
	reading = read_users(f, (gpointer)&kernel, NULL);
	g_assert_cmpuint(reading->users_unlisted, ==, 1u << RDMAD_USES_QP | 1u << RDMAD_USES_CTX);
}

static void test_without_rdma_netlink_nobody_is_known(Fixture *f, gconstpointer data)
{
	assert_errnum(f, NULL, EOPNOTSUPP);
	rdmad_device_users_free(f->users);
	f->dev->index = RDMAD_UNKNOWN;
	f->users = rdmad_device_users_new(f->machine->root, f->dev);
	assert_errnum(f, (gpointer)&kernel, EOPNOTSUPP);
	g_assert_cmpstr(kernel.asked->str, ==, "");
}

/* The driver may query its firmware for each queue pair. */
static void test_a_list_that_takes_too_long_is_paused(Fixture *f, gconstpointer data)
{
	kernel.qp_message_us = RDMAD_DEVICE_USERS_MAX_US / 4;
	kernel.qp_messages = 1000;
	assert_errnum(f, (gpointer)&kernel, ETIMEDOUT);
	g_assert_cmpstr(kernel.asked->str, ==, "summary qp ");
	g_assert_cmpint(now_us, ==, 1 + RDMAD_DEVICE_USERS_MAX_US);

	kernel.qp_message_us = 0;
	kernel.qp_messages = 1;
	now_us += RDMAD_DEVICE_USERS_AGAIN_US - 1;
	assert_errnum(f, (gpointer)&kernel, ETIMEDOUT);
	g_assert_cmpstr(kernel.asked->str, ==, "");
	now_us++;
	assert_users(f, "0 - -: qp=1 cq=1 pd=1 ctx=1\n" PID " - -: qp=1 cq=1 mr=1 pd=1\n");
}

static gpointer read_when_cancelled(gpointer input, const RdmadJob *job, GError **error)
{
	Fixture *f = input;

	g_atomic_int_set(&f->begun, 1);
	while (!rdmad_job_cancelled(job))
		g_usleep(1000);
	return read_users(f, (gpointer)&kernel, job);
}

/* Otherwise each reading would end late and without its counters. */
static void test_a_cancelled_list_is_paused_too(Fixture *f, gconstpointer data)
{
	static const RdmadJobClass klass = { .name = "read",
					     .run = read_when_cancelled,
					     .free_result = (GDestroyNotify)rdmad_reading_free };
	RdmadLoop *loop = rdmad_loop_new();
	RdmadWorkers *workers = rdmad_workers_new(loop, 1, NULL);
	RdmadJob *job = rdmad_work_submit(workers, NULL, &klass, f, 0, NULL, NULL);

	while (!g_atomic_int_get(&f->begun))
		g_usleep(1000);
	rdmad_job_cancel(job);
	rdmad_workers_free(workers);
	rdmad_loop_free(loop);
	g_assert_cmpstr(kernel.asked->str, ==, "summary qp ");
	assert_errnum(f, (gpointer)&kernel, ETIMEDOUT);
}

#define TEST(name)                                                                                 \
	UNIT_FIXTURE_TEST("/device-users/" #name, Fixture, NULL, setup, test_##name, teardown)

const UnitTest unit_tests[] = {
	TEST(objects_are_of_the_pod_whose_process_made_them),
	TEST(threads_of_a_process_are_one_user),
	TEST(a_thread_of_an_unknown_process_is_a_user),
	TEST(only_what_there_is_is_asked_for),
	TEST(a_cgroup_without_a_uid_is_no_pod),
	TEST(an_error_that_may_pass_is_no_process_without_a_pod),
	TEST(a_process_that_has_ended_is_in_no_pod),
	TEST(what_cannot_be_listed_has_a_reason_and_is_not_zero),
	TEST(what_the_driver_cannot_list_does_not_hide_the_rest),
	TEST(without_rdma_netlink_nobody_is_known),
	TEST(a_list_that_takes_too_long_is_paused),
	TEST(a_cancelled_list_is_paused_too),
	{ 0 },
};
