/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/interrupt.h"

#include <errno.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <unistd.h>

static const int signals[] = { SIGINT, SIGTERM, SIGHUP };

static volatile sig_atomic_t raised; /* the signal's number */
static volatile sig_atomic_t wake_fd = -1;

static void on_signal(int sig)
{
	const uint64_t one = 1;
	int saved = errno;

	raised = sig;
	(void)!write((int)wake_fd, &one, sizeof(one));
	errno = saved;
}

int interrupt_watch(struct error *err)
{
	/* No SA_RESTART: a read for an answer, say, must end. */
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND }, old;
	int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

	if (fd < 0)
		return error_errno(err, errno, "cannot make an event descriptor");
	wake_fd = fd;
	for (size_t i = 0; i < ARRAY_LEN(signals); i++)
		if (sigaction(signals[i], NULL, &old) == 0 && old.sa_handler == SIG_DFL)
			(void)sigaction(signals[i], &action, NULL);
	return 0;
}

const volatile sig_atomic_t *interrupt_flag(void)
{
	return &raised;
}

int interrupt_fd(void)
{
	return (int)wake_fd;
}

int interrupt_check(struct error *err)
{
	return raised ? error_set(err, ERROR_INTERRUPTED, "interrupted") : 0;
}

void interrupt_die(void)
{
	if (!raised)
		return;
	(void)signal((int)raised, SIG_DFL);
	(void)raise((int)raised);
}
