/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmm/copy-side.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>

#include "base/fd.h"
#include "base/run.h"
#include "images/place.h"

static void close_and_forget(int *fd)
{
	if (*fd >= 0)
		(void)close(fd_take(fd));
}

/* A line of box-copy's, made harmless by run_program. */
static void on_line(const char *text, void *data)
{
	static const char left_out[] = "left out ";
	struct copy_side *side = data;
	const struct copy_observer *o = side->observer;
	unsigned long long done, total;
	int kind, at = 0;

	if (sscanf(text, "progress %llu %llu", &done, &total) == 2) {
		if (o->progress)
			o->progress(done, total, o->data);
	} else if (str_starts(text, left_out)) {
		if (o->left_out)
			o->left_out(text + strlen(left_out), o->data);
	} else if (sscanf(text, "error %d %n", &kind, &at) == 1 && at) {
		error_set(&side->told, (enum error_kind)kind, "%s", text + at);
	}
}

static void run_side(struct copy_side *side)
{
	const char *argv[COPY_SIDE_ARGS + 1] = { side->program };
	const struct run run = {
		.argv = argv,
		.cwd = side->cwd,
		.stdin_fd = side->in_fd > 0 ? side->in_fd : 0,
		.stdout_fd = side->out_fd > 0 ? side->out_fd : 0,
		.timeout_ms = side->timeout_ms,
		.interrupt_fd = side->interrupt_fd,
		.line = on_line,
		.data = side,
	};
	int status;

	for (size_t i = 0; side->argv[i]; i++)
		argv[i + 1] = side->argv[i];
	side->result = run_program(&run, &status, &side->err);
	if (side->result == 0)
		return;
	/* Its own words; the tail of its stderr is progress. Ended from outside it has said nothing. */
	if (side->told.kind != ERROR_NONE && status == 1)
		side->err = side->told;
	else if (side->err.kind == ERROR_FAILED && status > 128)
		error_set(
			&side->err, ERROR_FAILED, "box-copy was ended by signal %d", status - 128);
}

static void *thread_main(void *data)
{
	struct copy_side *side = data;
	const uint64_t one = 1;

	run_side(side);
	atomic_store(&side->failed, side->result < 0);
	/* Now the other end of a pipe notices. */
	close_and_forget(&side->in_fd);
	close_and_forget(&side->out_fd);
	(void)!write(side->ended_fd, &one, sizeof(one));
	return NULL;
}

/* Signals are the first thread's, which knows what to do with them. */
static int thread_start(struct copy_side *side)
{
	sigset_t all, before;
	int errnum;

	sigfillset(&all);
	(void)pthread_sigmask(SIG_BLOCK, &all, &before);
	errnum = pthread_create(&side->thread, NULL, thread_main, side);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	return errnum;
}

int copy_side_start(struct copy_side *side, struct error *err)
{
	int errnum;

	side->program = place_libexec("box-copy", err);
	side->ended_fd = side->program ? eventfd(0, EFD_CLOEXEC) : -1;
	if (side->program && side->ended_fd < 0)
		error_errno(err, errno, "cannot make an event descriptor");
	if (side->ended_fd >= 0) {
		errnum = thread_start(side);
		side->running = errnum == 0;
		if (errnum)
			error_errno(err, errnum, "cannot start a thread");
	}
	if (side->running)
		return 0;
	close_and_forget(&side->in_fd);
	close_and_forget(&side->out_fd);
	return -1;
}

int copy_side_ended_fd(const struct copy_side *side)
{
	return side->ended_fd;
}

bool copy_side_failed(struct copy_side *side)
{
	return atomic_load(&side->failed);
}

int copy_side_join(struct copy_side *side, struct error *err)
{
	(void)pthread_join(side->thread, NULL);
	side->running = false;
	if (side->result < 0)
		*err = side->err;
	return side->result;
}

void copy_side_done(struct copy_side *side)
{
	struct error ignored = { 0 };

	if (side->running)
		(void)!copy_side_join(side, &ignored);
	if (side->program)
		close_and_forget(&side->ended_fd);
	free(side->program);
	side->program = NULL;
}
