/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Theory: between fork and exec the child is this program with a copy of its memory, single-threaded,
 * so it may allocate. First of all it drops every descriptor that is not its own: it may stay here for
 * as long as the user's profile takes, and a copy of another session's pipe would keep that pipe open.
 *
 * A login environment is what the user's shell makes of /etc/profile and the user's own profile. The
 * child lets the shell run them in a process of its own (no terminal input, output to /dev/null, so
 * that a chatty profile cannot spoil the command's streams), whose last act is to exec this program
 * with "environ FD": that writes the environment to a memory file. The child then execs the command
 * itself. So argv is never joined into a shell's text, a failed exec has its true errno, and a profile
 * that breaks leaves the plain environment. What came out is remembered: see agent/login-memory.h.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/frame-field.h"
#include "agent/login-memory.h"
#include "agent/process.h"
#include "base/fd.h"

enum { REPORT_FD = 3, ENVIRON_FD = 4 };

NORETURN static void give_up(enum refuse_reason reason, int errnum)
{
	struct process_failure failure = { reason, (uint32_t)errnum };

	(void)!write(REPORT_FD, &failure, sizeof(failure));
	_exit(127);
}

static void own_descriptors(const struct process_spec *spec, int report)
{
	for (int i = 0; i < 3; i++) {
		if (dup2(spec->stdio[i], i) < 0)
			give_up(REFUSE_SYSTEM, errno);
	}
	if (report != REPORT_FD && dup3(report, REPORT_FD, O_CLOEXEC) < 0)
		_exit(127);
	if (spec->env_file >= 0 && dup3(spec->env_file, ENVIRON_FD, O_CLOEXEC) < 0)
		give_up(REFUSE_SYSTEM, errno);
	(void)syscall(SYS_close_range, spec->env_file >= 0 ? ENVIRON_FD + 1 : ENVIRON_FD, ~0U, 0);
}

static void own_session(bool tty)
{
	sigset_t none;

	sigemptyset(&none);
	/* The one that the agent ignores (agent/main.c); handlers do not outlive an exec. */
	(void)signal(SIGPIPE, SIG_DFL);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	(void)setsid();
	if (tty)
		(void)ioctl(0, TIOCSCTTY, 0);
	(void)umask(022);
}

static void own_score(void)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	/* The agent asks to be spared when memory runs out; what it starts is not. */
	if (fd >= 0) {
		(void)!write(fd, "0", 1);
		(void)close(fd);
	}
}

static void become(const struct account *a)
{
	if (geteuid() != 0) {
		if (a->uid != geteuid())
			give_up(REFUSE_USER, EPERM);
		return;
	}
	if (setgroups(a->groups.len, a->groups.items) < 0 ||
		setresgid(a->gid, a->gid, a->gid) < 0 || setresuid(a->uid, a->uid, a->uid) < 0)
		give_up(REFUSE_USER, errno);
}

static void enter(const struct process_spec *spec)
{
	if (spec->cwd) {
		if (chdir(spec->cwd) < 0)
			give_up(REFUSE_CWD, errno);
	} else if (chdir(spec->account->home) < 0 && chdir("/") < 0) {
		give_up(REFUSE_CWD, errno);
	}
}

/* NULL-terminated, lent strings. The child never frees: it becomes another program. */
static char **array_of(const struct text_vec *v)
{
	char **array = calloc(v->len + 1, sizeof(*array));

	if (!array)
		give_up(REFUSE_SYSTEM, ENOMEM);
	if (v->len)
		memcpy(array, v->items, v->len * sizeof(*array));
	return array;
}

/* A shell that takes -l -c and runs profiles; the user's own if it is known to be one. */
static const char *profile_shell(const struct account *a)
{
	const char *const known[] = { "bash", "zsh", "dash", "sh", "ksh", "mksh", "fish", "ash" };
	const char *base = strrchr(a->shell, '/');

	for (size_t i = 0; base && i < ARRAY_LEN(known); i++) {
		if (str_equal(base + 1, known[i]) && access(a->shell, X_OK) == 0)
			return a->shell;
	}
	return access("/bin/bash", X_OK) == 0 ? "/bin/bash" : "/bin/sh";
}

NORETURN static void run_profile(const struct process_spec *spec, char **env)
{
	_cleanup_str_ struct str script = STR_INIT;
	const char *shell = profile_shell(spec->account);
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	char *argv[] = { (char *)shell, (char *)"-l", (char *)"-c", NULL, NULL };

	str_printf(&script, "exec '%s' environ %d", spec->program, ENVIRON_FD);
	argv[3] = script.data;
	if (null >= 0 && !script.failed && fcntl(ENVIRON_FD, F_SETFD, 0) == 0) {
		for (int i = 0; i < 3; i++)
			(void)dup2(null, i);
		(void)execve(shell, argv, env);
	}
	_exit(127);
}

/* ENVIRON_FD, unless own_descriptors has made it of the file that is given. */
static bool open_environ(const struct process_spec *spec)
{
	int file;

	if (spec->env_file >= 0)
		return true;
	file = memfd_create("environment", MFD_CLOEXEC);
	return file == ENVIRON_FD || (file >= 0 && dup3(file, ENVIRON_FD, O_CLOEXEC) == ENVIRON_FD);
}

static void login_environment(const struct process_spec *spec, struct text_vec *env)
{
	pid_t pid;

	if (strchr(spec->program, '\'') || !open_environ(spec))
		return;
	pid = fork();
	if (pid == 0)
		run_profile(spec, array_of(env));
	if (pid > 0) {
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
			;
		if (login_read(ENVIRON_FD, env) && spec->env_file >= 0)
			login_complete(ENVIRON_FD);
	}
}

static void set_request_environment(const struct process_spec *spec, struct text_vec *env)
{
	struct error err = { 0 };

	vec_foreach(char *, entry, spec->env) {
		if (environment_set(env, *entry, &err) < 0)
			give_up(REFUSE_SYSTEM, ENOMEM);
	}
}

NORETURN static void exec_shell(const struct account *a)
{
	_cleanup_str_ struct str name = STR_INIT;
	const char *base = strrchr(a->shell, '/');

	str_printf(&name, "-%s", base ? base + 1 : a->shell);
	if (!name.failed)
		(void)execl(a->shell, name.data, (char *)NULL);
	give_up(REFUSE_EXEC, errno);
}

NORETURN static void become_command(const struct process_spec *spec, int report)
{
	struct text_vec env =
		*spec->login_env; /* a copy: entries are replaced, never the parent's */
	char **argv;

	own_descriptors(spec, report);
	own_session(spec->tty);
	own_score();
	become(spec->account);
	enter(spec);
	set_request_environment(spec, &env);
	if (spec->login && !spec->shell && spec->program) {
		login_environment(spec, &env);
		set_request_environment(spec, &env);
	}
	environ = array_of(&env);
	if (spec->shell)
		exec_shell(spec->account);
	argv = array_of(spec->args);
	errno = EINVAL;
	if (argv[0])
		(void)execvp(argv[0], argv);
	give_up(REFUSE_EXEC, errno);
}

static int pidfd_of(pid_t pid, struct error *err)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);

	if (fd < 0)
		return error_errno(err, errno, "cannot watch process %d", pid);
	return fd;
}

int process_spawn(struct process *ret, const struct process_spec *spec, int epoll, int *ret_report,
	struct error *err)
{
	_cleanup_close_ int report = -1;
	_cleanup_close_ int theirs = -1;
	int pair[2], pidfd;
	pid_t pid;

	*ret = (struct process){ .pidfd = SOURCE_NONE };
	if (pipe2(pair, O_CLOEXEC) < 0)
		return error_errno(err, errno, "cannot make a pipe");
	report = pair[0];
	theirs = pair[1];
	if (fd_set_nonblock(report, err) < 0)
		return -1;
	pid = fork();
	if (pid < 0)
		return error_errno(err, errno, "cannot start a process");
	if (pid == 0)
		become_command(spec, theirs);
	pidfd = pidfd_of(pid, err);
	if (pidfd < 0 || source_open(&ret->pidfd, epoll, pidfd, err) < 0) {
		(void)kill(pid, SIGKILL);
		(void)waitpid(pid, NULL, 0);
		return -1;
	}
	ret->pid = pid;
	*ret_report = fd_take(&report);
	return 0;
}
