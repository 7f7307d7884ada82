/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Theory: the steps that run are a small stack; its top is what the live line shows. All members are
 * under the lock, which the drawing thread holds only while it composes and writes one line. Nobody
 * waits for the thread but progress_pause, progress_done and progress_message, which take the lock,
 * erase, and so know that nothing is drawn after them. Each line goes out in one write, so that lines
 * of other processes on the same terminal do not land inside it.
 */
#include "base/progress.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/parse.h"
#include "base/str.h"

enum { TICK_MS = 100, KEEP_US = 1000000, COLUMNS_DEFAULT = 80 };

/* Progress that cannot be written is not worth an error: the work goes on. */
static void emit(struct progress *p, const struct str *text)
{
	(void)!write(p->fd, str_get(text), text->len);
}

static void emitf(struct progress *p, const char *fmt, ...) PRINTF_LIKE(2, 3);
static void emitf(struct progress *p, const char *fmt, ...)
{
	_cleanup_str_ struct str text = STR_INIT;
	va_list ap;

	va_start(ap, fmt);
	str_vprintf(&text, fmt, ap);
	va_end(ap);
	emit(p, &text);
}

static void erase(struct progress *p)
{
	if (p->drawn)
		emitf(p, "\r\033[K");
	p->drawn = false;
}

static size_t columns_of(int fd)
{
	struct winsize size = { 0 };

	return ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col ? size.ws_col : COLUMNS_DEFAULT;
}

static void append_elapsed(struct str *text, uint64_t usec)
{
	uint64_t seconds = usec / 1000000;

	if (seconds < 60)
		str_printf(text, "%" PRIu64 ".%" PRIu64 "s", seconds, usec / 100000 % 10);
	else
		str_printf(text, "%" PRIu64 "m%02" PRIu64 "s", seconds / 60, seconds % 60);
}

static void append_transfer(struct str *text, const struct progress_step *step, uint64_t usec)
{
	char done[32], total[32], rate[32];

	if (!step->done_bytes && !step->total_bytes)
		return;
	format_size(step->done_bytes, done, sizeof(done));
	format_size(step->total_bytes, total, sizeof(total));
	/* Whole kilobytes a second, since the digits behind them only flicker. */
	format_size((uint64_t)((double)step->done_bytes * 1e6 / (double)MAX(usec, 1u)) & ~1023ull,
		rate, sizeof(rate));
	str_printf(text, " %s", done);
	if (step->total_bytes)
		str_printf(text, " of %s", total);
	str_printf(text, ", %s/s", rate);
}

/* The innermost step that has something to show. */
static const struct progress_step *shown_step(const struct progress *p)
{
	for (unsigned i = MIN(p->depth, (unsigned)PROGRESS_DEPTH_MAX); i-- > 0;)
		if (p->stack[i].doing[0])
			return &p->stack[i];
	return NULL;
}

static void draw(struct progress *p)
{
	const struct progress_step *step = shown_step(p);
	_cleanup_str_ struct str line = STR_INIT;
	size_t columns;
	uint64_t usec;

	if (!step || p->mode != PROGRESS_LIVE)
		return;
	usec = clock_us() - step->begun;
	str_printf(&line, "box: %s", step->doing);
	if (step->detail[0])
		str_printf(&line, ": %s", step->detail);
	append_transfer(&line, step, usec);
	str_append_char(&line, ' ');
	append_elapsed(&line, usec);
	columns = columns_of(p->fd);
	if (line.data && line.len >= columns) {
		line.len = columns - 1;
		line.data[line.len] = '\0';
	}
	p->drawn = true;
	emitf(p, "\r%s\033[K", str_get(&line));
}

static void *draw_thread(void *data)
{
	struct progress *p = data;

	pthread_mutex_lock(&p->lock);
	while (!p->stop) {
		struct timespec until;

		clock_gettime(CLOCK_MONOTONIC, &until);
		until.tv_nsec += TICK_MS * 1000000L;
		until.tv_sec += until.tv_nsec / 1000000000L;
		until.tv_nsec %= 1000000000L;
		pthread_cond_timedwait(&p->wake, &p->lock, &until);
		if (!p->stop)
			draw(p);
	}
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

/* The thread takes no signal: they are for the one that runs the steps. */
static bool thread_start(struct progress *p)
{
	sigset_t all, before;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	p->drawing = pthread_create(&p->thread, NULL, draw_thread, p) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return p->drawing;
}

void progress_init(struct progress *p, int fd, enum progress_mode mode, bool timing)
{
	pthread_condattr_t attr;

	*p = (struct progress){ .fd = fd, .mode = mode, .timing = timing, .started = clock_us() };
	pthread_mutex_init(&p->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&p->wake, &attr);
	pthread_condattr_destroy(&attr);
}

void progress_done(struct progress *p)
{
	if (!p->started)
		return;
	pthread_mutex_lock(&p->lock);
	p->stop = true;
	pthread_cond_signal(&p->wake);
	pthread_mutex_unlock(&p->lock);
	if (p->drawing)
		pthread_join(p->thread, NULL);
	erase(p);
	if (p->timing)
		emitf(p, "box: timing total %.1f ms\n", (double)(clock_us() - p->started) / 1000);
	pthread_mutex_destroy(&p->lock);
	pthread_cond_destroy(&p->wake);
	*p = (struct progress){ 0 };
}

void progress_begin(struct progress *p, const char *operation, const char *name, const char *doing)
{
	struct progress_step *step;

	if (!p->started)
		return;
	/* The thread is made with the first step: most commands never have one. */
	if (p->mode == PROGRESS_LIVE && !p->drawing && !thread_start(p))
		p->mode = PROGRESS_PLAIN;
	pthread_mutex_lock(&p->lock);
	if (p->depth++ < PROGRESS_DEPTH_MAX) {
		step = &p->stack[p->depth - 1];
		*step = (struct progress_step){ .begun = clock_us() };
		snprintf(step->name, sizeof(step->name), "%s.%s", operation, name);
		snprintf(step->doing, sizeof(step->doing), "%s", doing ? doing : "");
		if (p->mode == PROGRESS_PLAIN && step->doing[0])
			emitf(p, "box: %s\n", step->doing);
		draw(p);
	}
	pthread_mutex_unlock(&p->lock);
}

static void end_step(struct progress *p, const struct progress_step *step)
{
	uint64_t usec = clock_us() - step->begun;
	_cleanup_str_ struct str line = STR_INIT;

	erase(p);
	if (p->mode == PROGRESS_LIVE && usec >= KEEP_US && step->doing[0]) {
		str_printf(&line, "box: %s ", step->doing);
		append_elapsed(&line, usec);
		str_append_char(&line, '\n');
	}
	if (p->timing)
		str_printf(&line, "box: timing %s %.1f ms\n", step->name, (double)usec / 1000);
	if (line.len)
		emit(p, &line);
}

void progress_end(struct progress *p)
{
	if (!p->started || !p->depth)
		return;
	pthread_mutex_lock(&p->lock);
	if (p->depth-- <= PROGRESS_DEPTH_MAX) {
		end_step(p, &p->stack[p->depth]);
		draw(p);
	}
	pthread_mutex_unlock(&p->lock);
}

void progress_took(struct progress *p, const char *operation, const char *name, uint64_t usec)
{
	if (p->started && p->timing)
		progress_message(p, "timing %s.%s %.1f ms", operation, name, (double)usec / 1000);
}

void progress_bytes(struct progress *p, uint64_t done, uint64_t total)
{
	if (!p->started || !p->depth || p->depth > PROGRESS_DEPTH_MAX)
		return;
	pthread_mutex_lock(&p->lock);
	p->stack[p->depth - 1].done_bytes = done;
	p->stack[p->depth - 1].total_bytes = total;
	pthread_mutex_unlock(&p->lock);
}

void progress_detail(struct progress *p, const char *detail)
{
	struct progress_step *step;

	if (!p->started || !p->depth || p->depth > PROGRESS_DEPTH_MAX)
		return;
	pthread_mutex_lock(&p->lock);
	step = &p->stack[p->depth - 1];
	if (!str_equal(step->detail, detail)) {
		snprintf(step->detail, sizeof(step->detail), "%s", detail);
		if (p->mode == PROGRESS_PLAIN && step->doing[0] && *detail)
			emitf(p, "box: %s: %s\n", step->doing, step->detail);
		draw(p);
	}
	pthread_mutex_unlock(&p->lock);
}

void progress_messagev(struct progress *p, const char *fmt, va_list ap)
{
	_cleanup_str_ struct str text = STR_INIT;

	str_append(&text, "box: ");
	str_vprintf(&text, fmt, ap);
	str_append_char(&text, '\n');
	if (!p->started) {
		(void)!write(STDERR_FILENO, str_get(&text), text.len);
		return;
	}
	pthread_mutex_lock(&p->lock);
	erase(p);
	emit(p, &text);
	draw(p);
	pthread_mutex_unlock(&p->lock);
}

void progress_message(struct progress *p, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	progress_messagev(p, fmt, ap);
	va_end(ap);
}

void progress_pause(struct progress *p)
{
	if (!p->started)
		return;
	/* The lock stays taken until progress_resume, which is what keeps the thread still. */
	pthread_mutex_lock(&p->lock);
	erase(p);
}

void progress_resume(struct progress *p)
{
	if (p->started)
		pthread_mutex_unlock(&p->lock);
}

static void observe_begin(const char *operation, const struct step *step, void *data)
{
	progress_begin(data, operation, step->name, step->doing);
}

static void observe_end(const char *operation, const struct step *step, uint64_t usec, void *data)
{
	(void)operation;
	(void)step;
	(void)usec;
	progress_end(data);
}

static void observe_took(const char *operation, const char *step, uint64_t usec, void *data)
{
	progress_took(data, operation, step, usec);
}

struct steps_observer progress_observer(struct progress *p)
{
	return (struct steps_observer){
		.begin = observe_begin, .end = observe_end, .took = observe_took, .data = p
	};
}
