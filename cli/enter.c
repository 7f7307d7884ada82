/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Theory: signals that are meant for the command are blocked while it runs and read from a descriptor,
 * so that none is lost and no handler runs in the middle of libvirt's code. SIGTSTP is not among them:
 * without a terminal in the box Ctrl-Z stops this program, whose streams then stand still, and with one
 * it is a byte like any other. What ends the program in other ways (a fault) finds the terminal's
 * settings restored by cli/tty.
 */
#include "cli/enter.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/fd.h"
#include "cli/interrupt.h"
#include "cli/tty.h"
#include "vmm/guest.h"

enum { ENV_MAX = 4 };

static const int passed_on[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH };

/* Variables that describe the person's terminal. Nothing else of the environment goes along. */
static const char *const terminal_names[] = { "TERM", "COLORTERM", "COLORFGBG" };

struct way_in {
	sigset_t before;
	int signal_fd; /* -1: none */
	char *env[ENV_MAX]; /* owned texts, NULL-terminated */
};

static void way_in_done(struct way_in *way)
{
	if (way->signal_fd >= 0) {
		(void)close(way->signal_fd);
		(void)sigprocmask(SIG_SETMASK, &way->before, NULL);
	}
	for (size_t i = 0; way->env[i]; i++)
		free(way->env[i]);
	tty_restore();
}

/* Signals that were ignored when we started (nohup) stay so. */
static int way_in_signals(struct way_in *way, struct error *err)
{
	struct sigaction action;
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < ARRAY_LEN(passed_on); i++)
		if (sigaction(passed_on[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN)
			sigaddset(&set, passed_on[i]);
	(void)sigprocmask(SIG_BLOCK, &set, &way->before);
	way->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (way->signal_fd >= 0)
		return 0;
	error_errno(err, errno, "cannot watch for signals");
	(void)sigprocmask(SIG_SETMASK, &way->before, NULL);
	return -1;
}

static int way_in_env(struct way_in *way, struct error *err)
{
	size_t count = 0;

	for (size_t i = 0; i < ARRAY_LEN(terminal_names); i++) {
		const char *value = getenv(terminal_names[i]);

		if (!value || !*value)
			continue;
		way->env[count] = str_format(err, "%s=%s", terminal_names[i], value);
		if (!way->env[count++])
			return -1;
	}
	return 0;
}

/* A terminal in the box, and ours raw if we have one. */
static int way_in_terminal(
	struct session *s, struct way_in *way, struct guest_exec *request, struct error *err)
{
	request->flags |= GUEST_TTY;
	request->tty_fd = s->out_tty ? STDOUT_FILENO : STDIN_FILENO;
	if (!tty_size(request->tty_fd, &request->rows, &request->cols))
		request->rows = request->cols = 0;
	if (way_in_env(way, err) < 0)
		return -1;
	request->env = (const char *const *)way->env;
	return s->in_tty ? tty_raw(STDIN_FILENO, err) : 0;
}

/* What the command line called the program: for errors. */
static const char *program_of(const struct enter *enter)
{
	return enter->argv ? enter->argv[0] : "the login shell";
}

static int tell_result(struct session *s, const struct box *box, const struct enter *enter,
	const struct guest_result *result, struct error *err)
{
	_cleanup_str_ struct str program = STR_INIT;

	if (result->outcome != GUEST_NOT_EXECUTABLE) {
		s->status = guest_result_status(result);
		return 0;
	}
	s->fault = FAULT_NOT_EXECUTABLE;
	str_append_escaped(&program, program_of(enter), strlen(program_of(enter)), false);
	return error_set(err, ERROR_FAILED, "cannot execute '%s' in box '%s': %s",
		str_get(&program), box->name, result->detail);
}

/* The box answered and does not want to: an unknown user, a missing home, no processes left. */
static enum fault fault_of_refusal(const struct error *err)
{
	return err->kind == ERROR_NOT_FOUND || err->kind == ERROR_FAILED ? FAULT_NOT_EXECUTABLE
									 : FAULT_AGENT_UNREACHABLE;
}

/* The box runs and its agent is silent: what else leads into it, if it stays. */
static int no_guest(const struct box *box, struct error *err)
{
	int state = VIR_DOMAIN_NOSTATE;

	if (err->kind == ERROR_UNREACHABLE && !*box->meta.operation.name &&
		virDomainGetState(box->dom, &state, NULL, 0) == 0 && state == VIR_DOMAIN_RUNNING)
		error_hint(err, "; another way in: box virsh %s -- console", box->name);
	return -1;
}

int enter_box(
	struct session *s, const struct box *box, const struct enter *enter, struct error *err)
{
	_cleanup_(guest_close_p) struct guest *guest = NULL;
	_cleanup_(way_in_done) struct way_in way = { .signal_fd = -1 };
	struct guest_exec request = {
		.argv = enter->argv,
		.user = enter->user,
		.flags = enter->plain  ? 0
			 : enter->argv ? GUEST_LOGIN
				       : GUEST_LOGIN | GUEST_SHELL,
		.timeout_ms = enter->timeout_ms,
		.stdin_fd = STDIN_FILENO,
		.stdout_fd = STDOUT_FILENO,
		.stderr_fd = STDERR_FILENO,
	};
	struct guest_wait wait = { 0 };
	struct guest_result result;

	s->fault = FAULT_AGENT_UNREACHABLE;
	progress_begin(&s->progress, s->command->name, "open", NULL);
	guest = guest_open(box->dom, &wait, err);
	progress_end(&s->progress);
	if (!guest)
		return no_guest(box, err);
	/* A signal that was noted before they were blocked was meant for the command, too. */
	if (way_in_signals(&way, err) < 0 || interrupt_check(err) < 0)
		return -1;
	request.signal_fd = way.signal_fd;
	if (((s->in_tty && s->out_tty) || enter->force_tty) &&
		way_in_terminal(s, &way, &request, err) < 0)
		return -1;
	progress_begin(&s->progress, s->command->name, "command", NULL);
	if (guest_exec(guest, &request, &result, err) < 0) {
		s->fault = fault_of_refusal(err);
		return -1;
	}
	progress_end(&s->progress);
	return tell_result(s, box, enter, &result, err);
}
