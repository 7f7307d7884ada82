/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Theory: one loop polls standard input and a pipe for each child. A child's output is passed on line
 * by line, so that lines of different probes never mix. A probe has ended when its pipe is closed; only
 * then is it waited for, and its status printed behind its last line. Children die with this process
 * (PR_SET_PDEATHSIG), also when it is killed. What is done at once is done in this process: an emulated
 * machine takes milliseconds for a fork, and most lines of a drill send one packet.
 */
#include "probe/serve.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "base/fd.h"
#include "base/parse.h"

enum { CHILDREN_MAX = 400 };

struct lines {
	char text[SERVE_LINE_MAX];
	size_t len;
};

struct child {
	unsigned id;
	pid_t pid;
	int fd;
	struct lines lines;
};

struct server {
	const struct serve_verbs *verbs;
	struct child *children; /* owned; count of CHILDREN_MAX are in use */
	size_t count;
	struct lines input;
};

/* Add a byte; true when a line is complete (an overlong one is cut). text is then NUL-terminated. */
static bool lines_add(struct lines *l, char c)
{
	if (c != '\n') {
		if (l->len < sizeof(l->text) - 1)
			l->text[l->len++] = c;
		return false;
	}
	l->text[l->len] = '\0';
	l->len = 0;
	return true;
}

static void say(unsigned id, const char *text)
{
	printf("%u %s\n", id, text);
	fflush(stdout);
}

static void refuse(unsigned id, const char *text)
{
	say(id, text);
	say(id, ".1");
}

NORETURN static void child_run(const struct server *s, char **argv, int argc, int out)
{
	int status;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)signal(SIGPIPE, SIG_DFL);
	if (getppid() == 1 || dup2(out, 1) < 0 || dup2(out, 2) < 0)
		_exit(1);
	(void)close(0);
	status = s->verbs->run(argc, argv);
	fflush(stdout);
	_exit(status);
}

/* In this process: what it prints is caught, and passed on line by line. */
static void run_here(struct server *s, unsigned id, int argc, char **argv)
{
	_cleanup_free_ char *text = NULL;
	FILE *out = stdout, *errs = stderr, *caught;
	char end[16], *save = NULL;
	size_t len = 0;
	int status;

	caught = open_memstream(&text, &len);
	if (!caught) {
		refuse(id, "error: out of memory");
		return;
	}
	stdout = stderr = caught;
	status = s->verbs->run(argc, argv);
	stdout = out;
	stderr = errs;
	(void)fclose(caught);
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		say(id, line);
	(void)snprintf(end, sizeof(end), ".%d", status);
	say(id, end);
}

static void child_start(struct server *s, unsigned id, int argc, char **argv)
{
	int pair[2];
	pid_t pid;

	if (s->count == CHILDREN_MAX || pipe2(pair, O_CLOEXEC) < 0) {
		refuse(id, "error: too many probes at once");
		return;
	}
	fflush(stdout);
	pid = fork();
	if (pid == 0)
		child_run(s, argv, argc, pair[1]);
	(void)close(pair[1]);
	if (pid < 0) {
		(void)close(pair[0]);
		refuse(id, "error: cannot start the probe");
		return;
	}
	s->children[s->count++] = (struct child){ .id = id, .pid = pid, .fd = pair[0] };
}

static void child_end(struct server *s, struct child *c)
{
	char text[16];
	int status = 0;

	(void)close(c->fd);
	while (waitpid(c->pid, &status, 0) < 0 && errno == EINTR)
		;
	(void)snprintf(text, sizeof(text), ".%d",
		WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
	if (c->lines.len && lines_add(&c->lines, '\n'))
		say(c->id, c->lines.text);
	say(c->id, text);
	*c = s->children[--s->count];
}

static struct child *child_find(struct server *s, unsigned id)
{
	for (size_t i = 0; i < s->count; i++) {
		if (s->children[i].id == id)
			return &s->children[i];
	}
	return NULL;
}

/* One line of input. */
static void obey(struct server *s, char *line)
{
	char *argv[SERVE_WORDS_MAX + 1] = { NULL }, *save = NULL;
	struct error err = { 0 };
	struct child *old;
	uint64_t id = 0;
	int argc = 0;

	for (char *word = strtok_r(line, " ", &save); word && argc < SERVE_WORDS_MAX;
		word = strtok_r(NULL, " ", &save))
		argv[argc++] = word;
	if (argc < 2 || parse_u64(argv[0], 1, SERVE_IDS_MAX, "id", &id, &err) < 0) {
		say(0, "error: a line is ID VERB ARGUMENTS");
		return;
	}
	old = child_find(s, (unsigned)id);
	if (strcmp(argv[1], "stop") == 0) {
		if (old)
			(void)kill(old->pid, SIGTERM);
	} else if (old) {
		say((unsigned)id, "error: this id is in use");
	} else if (s->verbs->is_quick(argv[1])) {
		run_here(s, (unsigned)id, argc - 1, argv + 1);
	} else {
		child_start(s, (unsigned)id, argc - 1, argv + 1);
	}
}

/* Pass on what a child printed; 0 when its stream has ended. */
static int child_read(struct child *c)
{
	char buf[2048];
	ssize_t n = read(c->fd, buf, sizeof(buf));

	for (ssize_t i = 0; i < n; i++) {
		if (lines_add(&c->lines, buf[i]))
			say(c->id, c->lines.text);
	}
	return n > 0 || (n < 0 && errno == EINTR);
}

static int input_read(struct server *s)
{
	char buf[4096];
	ssize_t n = read(0, buf, sizeof(buf));

	for (ssize_t i = 0; i < n; i++) {
		if (lines_add(&s->input, buf[i]))
			obey(s, s->input.text);
	}
	return n > 0 || (n < 0 && errno == EINTR);
}

static void serve_end(struct server *s)
{
	for (size_t i = 0; i < s->count; i++)
		(void)kill(s->children[i].pid, SIGKILL);
	while (s->count)
		child_end(s, &s->children[0]);
}

int serve(const struct serve_verbs *verbs, struct error *err)
{
	_cleanup_free_ struct child *children = calloc(CHILDREN_MAX, sizeof(*children));
	struct server s = { .verbs = verbs, .children = children };
	struct pollfd fds[CHILDREN_MAX + 1];

	if (!children)
		return error_oom(err);
	printf("%s\n", SERVE_HELLO);
	fflush(stdout);
	for (;;) {
		size_t count = s.count;

		fds[0] = (struct pollfd){ .fd = 0, .events = POLLIN };
		for (size_t i = 0; i < count; i++)
			fds[i + 1] = (struct pollfd){ .fd = s.children[i].fd, .events = POLLIN };
		if (poll(fds, count + 1, -1) < 0 && errno != EINTR)
			return error_errno(err, errno, "cannot wait for probes");
		/* From the end: an ended child's place is taken by the last one. */
		for (size_t i = count; i > 0; i--) {
			if (fds[i].revents && !child_read(&s.children[i - 1]))
				child_end(&s, &s.children[i - 1]);
		}
		if (fds[0].revents && !input_read(&s)) {
			serve_end(&s);
			return 0;
		}
	}
}
