/* SPDX-License-Identifier: GPL-2.0-or-later */
/* box-agent: see docs/man/box-agent.8.scd. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/identity.h"
#include "base/log.h"
#include "base/parse.h"
#include "config.h"

static const char usage[] =
	"usage: box-agent serve [--fd FD]...   serve on the ports box.agent.N, or on these descriptors\n"
	"       box-agent identity --boot      give this machine its own identity if it has another's\n"
	"       box-agent ready                write /run/box/ready: did the first boot go well\n"
	"       box-agent --version | --help\n"
	"BOX_ROOT stands for \"/\" in tests.\n";

static int fail(const struct error *err)
{
	(void)fprintf(stderr, "box-agent: %s\n", err->text);
	return 1;
}

static int usage_error(void)
{
	(void)fputs(usage, stderr);
	return 2;
}

/* Descriptors 0 to 2 are used by what it starts: they must not become something else. */
static void own_stdio(void)
{
	int fd;

	do {
		fd = open("/dev/null", O_RDWR);
	} while (fd >= 0 && fd < 3);
	if (fd >= 3)
		(void)close(fd);
}

/* Whatever whoever started us ignores: what we start begins with none of that. */
static void own_signals(void)
{
	for (int sig = 1; sig < NSIG; sig++)
		(void)signal(sig, SIG_DFL);
	(void)signal(SIGPIPE, SIG_IGN);
}

static int add_descriptors(struct agent *a, int argc, char **argv, struct error *err)
{
	for (int i = 0; i < argc; i += 2) {
		uint64_t fd;

		if (!str_equal(argv[i], "--fd") || i + 1 == argc)
			return error_set(err, ERROR_USAGE, "unknown argument '%s'", argv[i]);
		if (parse_u64(argv[i + 1], 0, 65535, "--fd", &fd, err) < 0)
			return -1;
		if (fcntl((int)fd, F_SETFD, FD_CLOEXEC) < 0)
			return error_errno(err, errno, "descriptor %d", (int)fd);
		if (agent_add(a, (int)fd, "", err) < 0)
			return -1;
	}
	return 0;
}

static int serve(const char *root, int argc, char **argv)
{
	static struct agent agent;
	static char program[4096];
	ssize_t len = readlink("/proc/self/exe", program, sizeof(program) - 1);
	struct error err = { 0 };
	int result;

	if (agent_open(&agent, root, len > 0 ? program : NULL, &err) < 0)
		return fail(&err);
	result = argc ? add_descriptors(&agent, argc, argv, &err) : agent_add_ports(&agent, &err);
	if (result == 0)
		result = agent_run(&agent, &err);
	agent_done(&agent);
	return result < 0 ? fail(&err) : 0;
}

static int dump_environment(const char *text)
{
	struct error err = { 0 };
	uint64_t fd;

	if (parse_u64(text, 0, 65535, "descriptor", &fd, &err) < 0)
		return fail(&err);
	return process_dump_environment((int)fd) < 0;
}

int main(int argc, char **argv)
{
	const char *root = getenv("BOX_ROOT"), *verb = argc > 1 ? argv[1] : "";
	struct error err = { 0 };

	if (!root)
		root = "";
	if (str_equal(verb, "environ") && argc == 3)
		return dump_environment(argv[2]);
	own_stdio();
	own_signals();
	log_debug_enable(getenv("BOX_DEBUG") != NULL);
	if (str_equal(verb, "serve"))
		return serve(root, argc - 2, argv + 2);
	if (str_equal(verb, "identity") && argc == 3 && str_equal(argv[2], "--boot"))
		return identity_boot(root, &err) < 0 ? fail(&err) : 0;
	if (str_equal(verb, "ready") && argc == 2)
		return stages_conclude(root, &err) < 0 ? fail(&err) : 0;
	if (str_equal(verb, "--version") && argc == 2)
		return puts("box-agent " BOX_VERSION) < 0;
	if (str_equal(verb, "--help") && argc == 2)
		return fputs(usage, stdout) < 0;
	return usage_error();
}
