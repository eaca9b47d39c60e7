/* SPDX-License-Identifier: Apache-2.0 */
/* A job that reads the machine's files for doctor, because reading may block */
#include <errno.h>
#include <rdmad/device.h>
#include <rdmad/fd.h>
#include <rdmad/inventory.h>
#include <rdmad/socket-file.h>
#include <rdmad/sysroot.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "api/doctor.h"
#include "base/go-build.h"
#include "base/unix-socket.h"
#include "hardware/sysroot.h"

typedef struct {
	const RdmadSysroot *sysroot; /* outlives the workers */
	char *kubelet_dir, *state_dir;
	GPtrArray *uverbs; /* paths of device files */
} Input;

static void input_free(gpointer data)
{
	Input *input = data;

	g_free(input->kubelet_dir);
	g_free(input->state_dir);
	g_ptr_array_unref(input->uverbs);
	g_free(input);
}

gpointer doctor_files_input(const RdmadServices *services)
{
	Input *input = g_new0(Input, 1);

	input->sysroot = services->sysroot;
	input->kubelet_dir = g_strdup(services->kubelet_dir);
	input->state_dir = g_strdup(services->state_dir);
	input->uverbs = g_ptr_array_new_with_free_func(g_free);
	for (guint i = 0; i < rdmad_inventory_count(services->inventory); i++) {
		const RdmadDevice *dev = rdmad_inventory_nth(services->inventory, i);
		const RdmadChardev *uverbs = rdmad_device_chardev(dev, RDMAD_CHARDEV_UVERBS);

		if (uverbs)
			g_ptr_array_add(input->uverbs, g_strdup(uverbs->path));
	}
	return input;
}

/* Returns FALSE after an error that says nothing about the file, such as a lack of descriptors. */
static gboolean is_missing(const RdmadSysroot *sysroot, const char *path)
{
	rdmad_sysroot_passing_error();
	return !rdmad_sysroot_exists(sysroot, path) && !rdmad_sysroot_passing_error();
}

static void read_devices(DoctorFiles *files, const Input *input)
{
	files->infiniband_missing = is_missing(input->sysroot, "sys/class/infiniband");
	files->rdma_cm_missing = is_missing(input->sysroot, "dev/infiniband/rdma_cm");
	files->missing = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	for (guint i = 0; i < input->uverbs->len; i++) {
		const char *path = input->uverbs->pdata[i];

		if (*path == '/' && is_missing(input->sysroot, path + 1))
			g_hash_table_add(files->missing, g_strdup(path));
	}
}

static void read_socket(DoctorSocket *socket, const char *dir, const char *name)
{
	RdmadSocketFile file;

	socket->path = g_build_filename(dir, name, "kubelet.sock", NULL);
	socket->exists = rdmad_socket_file_identify(socket->path, &file);
	socket->dead = socket->exists && rdmad_socket_file_is_dead(socket->path);
}

/* Reads the version of the process that listens at the socket.  Never executes the program, which
 * may be any file. */
static void read_version(DoctorFiles *files, const Input *input)
{
	rdmad_autofd int fd = rdmad_unix_connect(SOCK_STREAM, files->plugins.path, NULL);
	rdmad_autofd int program = -1;

	files->kubelet_pid = fd < 0 ? 0 : rdmad_unix_peer_process(fd);
	if (files->kubelet_pid)
		program = rdmad_sysroot_open_program(input->sysroot, files->kubelet_pid);
	if (program >= 0)
		files->kubelet_version = rdmad_go_build_version(program, "k8s.io/kubernetes");
}

static void read_kubelet(DoctorFiles *files, const Input *input)
{
	const char *dir = input->kubelet_dir;
	g_autofree char *registry = g_build_filename(dir, "plugins_registry", NULL);

	files->kubelet_dir = g_file_test(dir, G_FILE_TEST_IS_DIR);
	if (!files->kubelet_dir)
		return;
	read_socket(&files->plugins, dir, "device-plugins");
	read_socket(&files->pods, dir, "pod-resources");
	if (files->plugins.exists && !files->plugins.dead)
		read_version(files, input);
	files->registry_dir = g_file_test(registry, G_FILE_TEST_IS_DIR);
}

static void read_database(DoctorFiles *files, const Input *input)
{
	struct stat st;

	if (!input->state_dir)
		return;
	files->database = g_build_filename(input->state_dir, "rdmad.db", NULL);
	if (stat(files->database, &st) < 0)
		files->database_errnum = errno;
	else
		files->database_size = st.st_size;
}

static gpointer files_read(gpointer data, const RdmadJob *job, GError **error)
{
	const Input *input = data;
	DoctorFiles *files = g_new0(DoctorFiles, 1);

	files->kernel = rdmad_sysroot_read(input->sysroot, "proc/sys/kernel/osrelease",
					   &files->kernel_error);
	if (!rdmad_sysroot_read_int(input->sysroot, "proc/sys/fs/inotify/max_user_instances",
				    &files->inotify_instances, NULL))
		files->inotify_instances = RDMAD_UNKNOWN;
	files->libraries = doctor_libraries();
	read_devices(files, input);
	read_kubelet(files, input);
	read_database(files, input);
	return files;
}

static void files_free(gpointer data)
{
	DoctorFiles *files = data;

	g_free(files->kernel);
	g_clear_error(&files->kernel_error);
	g_free(files->libraries);
	g_hash_table_unref(files->missing);
	g_free(files->plugins.path);
	g_free(files->pods.path);
	g_free(files->kubelet_version);
	g_free(files->database);
	g_free(files);
}

const RdmadJobClass doctor_files_class = {
	.name = "api-doctor",
	.run = files_read,
	.done = api_resource_read,
	.free_input = input_free,
	.free_result = files_free,
};
