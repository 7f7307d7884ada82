/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Theory: the settings from before are saved once, and "raw" tells whether they have to be put back.
 * Putting back is one tcsetattr, which may be called from a signal handler. A handler for a signal that
 * ends the process restores, resets the signal to its default and raises it again, so that the parent
 * sees the truth about how we died. A signal that was ignored when we started (nohup) stays ignored.
 */
#include "cli/tty.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>

static const int ending[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGALRM, SIGABRT, SIGSEGV,
	SIGBUS, SIGFPE, SIGILL, SIGXCPU };

static struct termios before, during;
static volatile sig_atomic_t raw_fd = -1; /* the terminal that is raw; -1: none */
static volatile sig_atomic_t stopped_fd = -1; /* restored by SIGTSTP, to be raw again on SIGCONT */
static bool prepared;

void tty_restore(void)
{
	int fd = (int)raw_fd, saved = errno;

	raw_fd = -1;
	if (fd >= 0)
		(void)tcsetattr(fd, TCSADRAIN, &before);
	errno = saved;
}

static void raise_default(int sig)
{
	sigset_t one;

	(void)signal(sig, SIG_DFL);
	sigemptyset(&one);
	sigaddset(&one, sig);
	(void)raise(sig);
	/* Pending until the handler returns, unless it is unblocked here. */
	(void)sigprocmask(SIG_UNBLOCK, &one, NULL);
}

static void on_ending(int sig)
{
	tty_restore();
	raise_default(sig);
}

static void on_stop(int sig)
{
	int saved = errno;

	stopped_fd = raw_fd;
	tty_restore();
	raise_default(sig); /* returns when the process continues */
	errno = saved;
}

static void on_continue(int sig)
{
	struct sigaction stop = { .sa_handler = on_stop, .sa_flags = SA_RESTART };
	int fd = (int)stopped_fd, saved = errno;

	(void)sig;
	stopped_fd = -1;
	(void)sigaction(SIGTSTP, &stop, NULL);
	if (fd >= 0 && tcsetattr(fd, TCSADRAIN, &during) == 0)
		raw_fd = fd;
	errno = saved;
}

static void handle(int sig, void (*handler)(int))
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = SA_RESTART }, old;

	if (sigaction(sig, NULL, &old) == 0 && old.sa_handler == SIG_DFL)
		(void)sigaction(sig, &action, NULL);
}

int tty_raw(int fd, struct error *err)
{
	if (tcgetattr(fd, &before) < 0)
		return error_errno(err, errno, "cannot read the terminal's settings");
	during = before;
	cfmakeraw(&during);
	if (!prepared) {
		for (size_t i = 0; i < ARRAY_LEN(ending); i++)
			handle(ending[i], on_ending);
		handle(SIGTSTP, on_stop);
		handle(SIGCONT, on_continue);
		(void)atexit(tty_restore);
		prepared = true;
	}
	/* Known as raw before it is, so that a signal in between finds something to restore. */
	raw_fd = fd;
	if (tcsetattr(fd, TCSADRAIN, &during) == 0)
		return 0;
	raw_fd = -1;
	return error_errno(err, errno, "cannot put the terminal into raw mode");
}

bool tty_size(int fd, unsigned *ret_rows, unsigned *ret_columns)
{
	struct winsize size = { 0 };

	if (ioctl(fd, TIOCGWINSZ, &size) < 0 || !size.ws_row || !size.ws_col)
		return false;
	*ret_rows = size.ws_row;
	*ret_columns = size.ws_col;
	return true;
}
