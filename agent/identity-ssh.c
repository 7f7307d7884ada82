/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The SSH host keys of an identity. */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/identity-item.h"
#include "base/run.h"

#define SERVER "/etc/ssh/sshd_config"

enum { KEYGEN_MS = 60000 };

static int remove_keys(const char *folder, struct error *err)
{
	DIR *dir = opendir(folder);
	int failed = 0;

	for (struct dirent *d = dir ? readdir(dir) : NULL; d; d = readdir(dir)) {
		if (str_starts(d->d_name, "ssh_host_") && strstr(d->d_name, "_key") &&
			unlinkat(dirfd(dir), d->d_name, 0) < 0)
			failed = errno;
	}
	if (dir)
		(void)closedir(dir);
	return failed ? error_errno(err, failed, "cannot remove SSH host keys in '%s'", folder) : 0;
}

/* Of one type: whatever speaks SSH today takes it, and each costs a part of a second in an emulated guest. */
static int make_key(const char *folder, struct error *err)
{
	_cleanup_free_ char *file = str_format(err, "%s/ssh_host_ed25519_key", folder);
	const char *argv[] = { "ssh-keygen", "-q", "-N", "", "-C", "", "-t", "ed25519", "-f", file,
		NULL };
	const struct run run = { .argv = argv, .timeout_ms = KEYGEN_MS };

	(void)setenv("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", 1);
	return file ? run_program(&run, NULL, err) : -1;
}

void identity_drop_ssh_keys(const struct identity_context *c, const char *value)
{
	_cleanup_free_ char *folder = NULL;
	struct error ignored = { 0 };

	if (!str_equal(value, "new"))
		return;
	folder = identity_path(c, "/etc/ssh", &ignored);
	if (folder)
		(void)!remove_keys(folder, &ignored);
}

void identity_start_ssh_keys(const struct identity_context *c, const char *value)
{
	_cleanup_free_ char *folder = NULL, *server = NULL;
	struct error ignored = { 0 };
	pid_t pid;

	folder = identity_path(c, "/etc/ssh", &ignored);
	server = identity_path(c, SERVER, &ignored);
	if (!folder || !server || !str_equal(value, "new") || access(server, F_OK) < 0)
		return;
	pid = fork();
	if (pid == 0)
		_exit(remove_keys(folder, &ignored) == 0 && make_key(folder, &ignored) == 0
				? EXIT_SUCCESS
				: EXIT_FAILURE);
	*c->key_maker = MAX(pid, 0);
}

/* True when a process was at it and has made them. */
static bool made_meanwhile(const struct identity_context *c)
{
	pid_t pid = *c->key_maker;
	int status = 0;

	*c->key_maker = 0;
	while (pid && waitpid(pid, &status, 0) < 0) {
		if (errno != EINTR)
			return false;
	}
	return pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* One that runs all the time, and not for a connection only: it has read its keys already. */
static bool server_runs(const struct identity_context *c)
{
	_cleanup_str_ struct str pid = STR_INIT;
	struct error ignored = { 0 };

	return c->live && identity_line(c, "/run/sshd.pid", &pid, &ignored) == 0;
}

/* What could not be made meanwhile is made here, where a failure can be told. */
int identity_ssh_keys(
	const struct identity_context *c, const char *value, struct str *into, struct error *err)
{
	_cleanup_free_ char *folder = identity_path(c, "/etc/ssh", err);
	_cleanup_free_ char *server = identity_path(c, SERVER, err);
	const char *restart[] = { "systemctl", "--no-block", "try-restart", "ssh.service",
		"sshd.service", NULL };
	struct error ignored = { 0 };

	if (!folder || !server)
		return -1;
	if (!str_equal(value, "new"))
		return error_set(err, ERROR_INVALID, "only 'new' can be asked for");
	if (access(server, F_OK) < 0) {
		str_append(into, "none"); /* no SSH server here */
		return str_ok(into, err);
	}
	if (!made_meanwhile(c) && (remove_keys(folder, err) < 0 || make_key(folder, err) < 0))
		return -1;
	if (server_runs(c))
		(void)!identity_run(restart, &ignored);
	return identity_line(c, "/etc/ssh/ssh_host_ed25519_key.pub", into, err);
}
