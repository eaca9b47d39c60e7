/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starts commands all at once and tells how long each took, from its exec to its exit
 *
 * All processes are there before the first exec, so that none is measured while others are being
 * made.  On standard input for each command: three 32-bit numbers (arguments, variables, bytes of
 * input), then the arguments and variables, each ended by a NUL, and the input.  Prints a line for
 * each: exit status, microseconds, those of them that it and its children had a CPU.
 */
#include <err.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define COMMANDS_MAX 1024
#define STRINGS_MAX  256

typedef struct {
	char *argv[STRINGS_MAX + 1], *envp[STRINGS_MAX + 1];
	int input;
	pid_t pid;
} Command;

static int64_t now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static char *read_string(void)
{
	char *text = NULL;
	size_t size = 0;

	if (getdelim(&text, &size, '\0', stdin) <= 0)
		errx(2, "the input ends within a command");
	return text;
}

static int read_input(uint32_t size)
{
	char *text = malloc(size + 1);
	int fd = memfd_create("input", 0);

	if (!text || fd < 0 || fread(text, 1, size, stdin) != size ||
	    write(fd, text, size) != (ssize_t)size || lseek(fd, 0, SEEK_SET) < 0)
		err(2, "cannot keep the input of a command");
	free(text);
	return fd;
}

/* 0: there is no further one. */
static int read_command(Command *command)
{
	uint32_t sizes[3];

	if (fread(sizes, sizeof(sizes), 1, stdin) != 1)
		return 0;
	if (!sizes[0] || sizes[0] > STRINGS_MAX || sizes[1] > STRINGS_MAX)
		errx(2, "%u arguments, %u variables", sizes[0], sizes[1]);
	for (uint32_t i = 0; i < sizes[0]; i++)
		command->argv[i] = read_string();
	for (uint32_t i = 0; i < sizes[1]; i++)
		command->envp[i] = read_string();
	command->input = read_input(sizes[2]);
	return 1;
}

/* The child executes the command when the other end of `gate` is closed. */
static void prepare(Command *command, const int gate[2])
{
	char unused;

	command->pid = fork();
	if (command->pid < 0)
		err(2, "fork");
	if (command->pid)
		return;
	close(gate[1]);
	if (dup2(command->input, STDIN_FILENO) < 0 || !freopen("/dev/null", "w", stdout) ||
	    read(gate[0], &unused, 1) != 0)
		_exit(126);
	closefrom(3);
	execve(command->argv[0], command->argv, command->envp);
	_exit(127);
}

static int64_t time_us(const struct timeval *time)
{
	return (int64_t)time->tv_sec * 1000000 + time->tv_usec;
}

static void wait_all(const Command *commands, int n, int64_t began)
{
	for (int left = n; left; left--) {
		struct rusage usage;
		int status;
		const pid_t pid = wait4(-1, &status, 0, &usage);
		const int64_t took = now_us() - began;

		if (pid < 0)
			err(2, "wait");
		for (int i = 0; i < n; i++)
			if (commands[i].pid == pid)
				printf("%d %lld %lld\n",
				       WIFEXITED(status) ? WEXITSTATUS(status) : 128,
				       (long long)took,
				       (long long)(time_us(&usage.ru_utime) +
						   time_us(&usage.ru_stime)));
	}
}

int main(void)
{
	static Command commands[COMMANDS_MAX];
	int gate[2], n = 0;
	int64_t began;

	if (pipe(gate) < 0)
		err(2, "pipe");
	while (n < COMMANDS_MAX && read_command(&commands[n]))
		n++;
	for (int i = 0; i < n; i++)
		prepare(&commands[i], gate);
	usleep(20000); /* until the last one waits as well */
	began = now_us();
	close(gate[1]);
	wait_all(commands, n, began);
	return 0;
}
