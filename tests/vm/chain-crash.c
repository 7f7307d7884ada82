/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Every operation on a box's layers, broken right after each of its steps, in four ways: the step after it
 * fails; box is killed; libvirtd is killed and started again while box stands still; the pool is full while
 * box goes on. Then the next command comes. Afterwards the box is what it was or what it was to be, in
 * name, power, snapshots and content; every chain is whole and every layer needed; of another box nothing is
 * left. Run by crash-chain.sh, in the lab, with the pool on a small file system of its own.
 *
 * Before that it runs undisturbed, with --timing: what it has of steps is in its row, and nothing else.
 *
 *	chain-crash [WAY|WORD...]	fail kill libvirtd full; a row's name or any of its words; default: all
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/run.h"
#include "base/str.h"
#include "tests/vm/chain-world.h"

static unsigned broken, finished;

enum way { FAIL, KILL, LIBVIRTD, FULL, WAYS };
static const char *const ways[WAYS] = { "fail", "kill", "libvirtd", "full" };

#define ANYWHERE "*"
enum { ARGS = 8, STEPS = 10 };

struct operation {
	const char *name; /* of its steps */
	const char *argv[ARGS]; /* of box */
	struct wanted before, after;
	const char *steps[STEPS]; /* NULL-terminated; delete stands for delete-3 as well */
	const char *nameless; /* broken here, a layer without a name may be one more in the chain */
	unsigned deep, flat; /* layers without a name: before, after */
};

/* A clone: no guest is in it, so it never becomes usable and is undone in the end. */
#define CLONE(source)                                                 \
	{                                                             \
		"new", "copy", "--memory", "256MiB", "--from", source \
	}
#define STOPPED(labels)                 \
	{                               \
		"web", false, 3, labels \
	}
#define RUNNING(labels)                \
	{                              \
		"web", true, 3, labels \
	}
#define NEW_STEPS                                                           \
	{                                                                   \
		"0", "define", "address", "freeze", "disk", "seed", "start" \
	}
#define FLATTEN_STEPS                                                \
	{                                                            \
		"0", "intend", "pull", "delete", "delete-2", "clear" \
	}

static const struct operation operations[] = {
	{ "snapshot", { "snapshot", "web", "c" }, STOPPED("ab"), STOPPED("abc"),
		{ "0", "intend", "create", "switch" }, NULL, 0, 0 },
	{ "snapshot", { "snapshot", "web", "c" }, RUNNING("ab"), RUNNING("abc"),
		{ "0", "intend", "create", "pivot", "record" }, NULL, 0, 0 },
	{ "snapshot", { "snapshot", "web", "c", "--live" }, RUNNING("ab"), RUNNING("abc"),
		{ "0", "intend", "create", "pivot", "record" }, NULL, 0, 0 },
	{ "restore", { "restore", "web", "a", "--force" }, STOPPED("ab"), { "web", false, 1, "ab" },
		{ "0", "intend", "create", "switch", "delete", "clear" }, NULL, 0, 0 },
	{ "restore", { "restore", "web", "a", "--force" }, RUNNING("ab"), { "web", true, 1, "ab" },
		{ "0", "intend", "create", "stop", "switch", "start", "delete", "clear" }, NULL, 0,
		0 },
	{ "forget", { "snapshot", "web", "--remove", "b" }, STOPPED("ab"), STOPPED("a"),
		{ "0", "intend", "pull", "forget", "delete", "clear" }, NULL, 0, 0 },
	{ "forget", { "snapshot", "web", "--remove", "b" }, RUNNING("ab"), RUNNING("a"),
		{ "0", "intend", "pull", "forget", "delete", "clear" }, NULL, 0, 0 },
	{ "forget", { "snapshot", "web", "--remove", "a" }, RUNNING("ab"), RUNNING("b"),
		{ "0", "intend", "forget", "commit", "move", "delete", "clear" }, "forget", 0, 0 },
	{ "rename", { "rename", "web", "api" }, STOPPED("ab"), { "api", false, 3, "ab" },
		{ "0", "mark", "name", "define", "console" }, NULL, 0, 0 },
	{ "rm", { "rm", "web", "--force" }, RUNNING("ab"), { NULL, false, 0, "" },
		{ "0", "mark", "stop", "layers", "seed", "address", "console", "domain" }, NULL, 0,
		0 },
	{ "new", CLONE("web"), STOPPED("ab"), STOPPED("ab"), NEW_STEPS, ANYWHERE, 0, 0 },
	{ "new", CLONE("web"), RUNNING("ab"), RUNNING("ab"), NEW_STEPS, ANYWHERE, 0, 0 },
	{ "new", CLONE("web/a"), STOPPED("ab"), STOPPED("ab"), NEW_STEPS, NULL, 0, 0 },
	{ "freeze", CLONE("web"), STOPPED("ab"), STOPPED("ab"),
		{ "0", "intend", "create", "switch" }, ANYWHERE, 0, 0 },
	{ "freeze", CLONE("web"), RUNNING("ab"), RUNNING("ab"),
		{ "0", "intend", "create", "pivot", "record" }, ANYWHERE, 0, 0 },
	{ "flatten", { "snapshot", "web", "c" }, STOPPED("ab"), STOPPED("abc"), FLATTEN_STEPS, NULL,
		36, 0 },
	{ "flatten", CLONE("web"), RUNNING("ab"), RUNNING("ab"), FLATTEN_STEPS, ANYWHERE, 36, 0 },
	/* nothing can be merged under a name: the top becomes a copy of all */
	{ "flatten", { "snapshot", "web", "c" }, RUNNING("ab"), RUNNING("abc"),
		{ "0", "intend", "pull", "clear" }, NULL, 64, 64 },
};

/* ---- as it is ---- */

/* One layer more may be there than is said. */
static bool has_spare(const struct operation *op, const char *step, enum way way)
{
	/* the disk is full: what comes next may have failed in turn */
	return op->nameless &&
	       (way == FULL || str_equal(op->nameless, ANYWHERE) || str_equal(step, op->nameless));
}

static bool is_about(size_t nameless, unsigned wanted, bool spare)
{
	return nameless == wanted || (spare && nameless == wanted + 1);
}

static void make(const struct operation *op)
{
	size_t nameless = 0;

	if (world_is(&op->before, op->deep) && !world_leftover(&op->before, &nameless) &&
		nameless == op->deep)
		return;
	world_make(op->deep, op->before.running);
	if (!world_is(&op->before, op->deep) || world_leftover(&op->before, &nameless) ||
		nameless != op->deep)
		bare_die("%s: web is not what it should be to begin with", op->name);
}

/* Any command mends what a dead process left; what one that failed left, the next for that box does. */
static void next_command(const struct operation *op)
{
	const char *const any[] = { "box", "start", "no-such-box", NULL };
	const char *const same[] = { "box", "start", "web", NULL };

	(void)bare_run(op->after.name ? any : same, NULL, true);
}

/* ---- the steps that there are ---- */

struct steps_seen {
	const struct operation *op;
	char operation[32], step[32]; /* of a line of --timing, the last but one; "" */
};

static bool has_step(const struct operation *op, const char *step)
{
	size_t len = strcspn(step, "-");

	for (size_t s = 0; s < STEPS && op->steps[s]; s++)
		if (strncmp(op->steps[s], step, len) == 0 && op->steps[s][len] == '\0')
			return true;
	return false;
}

/* Of a row, or of an operation within it by a row of its own. */
static void check_step(const struct steps_seen *seen)
{
	const struct operation *op = seen->op;

	if (!*seen->operation)
		return;
	for (size_t o = 0; o < ARRAY_LEN(operations); o++) {
		const struct operation *row = &operations[o];
		bool same = str_equal(op->name, seen->operation)
				    ? row == op
				    : row->before.running == op->before.running;

		if (same && str_equal(row->name, seen->operation) && has_step(row, seen->step))
			return;
	}
	bare_die("box %s %s has a step %s.%s, which is in no row of this test's", op->argv[0],
		op->argv[1], seen->operation, seen->step);
}

/* The last line may be of a step that failed: it is looked at when another one follows. */
static void note_line(const char *text, void *data)
{
	struct steps_seen *seen = data;
	const char *timing = strstr(text, "timing ");
	char operation[32], step[32];

	if (!timing || sscanf(timing, "timing %31[^. ].%31s", operation, step) != 2)
		return;
	check_step(seen);
	(void)memcpy(seen->operation, operation, sizeof(operation));
	(void)memcpy(seen->step, step, sizeof(step));
}

/* Undisturbed it does what it is to do, in steps that the table has. */
static void whole(const struct operation *op)
{
	const char *argv[ARGS + 2] = { "box" };
	struct steps_seen seen = { .op = op };
	struct run run = { .argv = argv, .timeout_ms = 300000, .line = note_line, .data = &seen };
	struct error err = { 0 };
	size_t nameless = 0, n = 0;
	const char *leftover;
	bool live = false;

	for (; n < ARGS && op->argv[n]; n++) {
		argv[n + 1] = op->argv[n];
		live |= str_equal(op->argv[n], "--live");
	}
	argv[n + 1] = "--timing";
	make(op);
	if (run_program(&run, NULL, &err) == 0)
		check_step(&seen);
	else if (!str_equal(op->argv[0], "new") && !str_equal(op->argv[0], "restore"))
		bare_die("%s", err.text); /* those wait for a guest that never comes */
	leftover = world_leftover(&op->after, &nameless);
	if (leftover || !world_is(&op->after, op->deep) ||
		!is_about(nameless, op->flat, has_spare(op, "", FAIL)))
		bare_die("%s, undisturbed: %s, %zu layers without a name", op->name,
			leftover ? leftover : "not what it was to be", nameless);
	if (live && !world_has_memory(op->after.name, "c"))
		bare_die("the snapshot has no memory");
}

/* ---- breaking ---- */

/* Start box with BOX_FAULT; its pid. */
static pid_t start_box(const struct operation *op, const char *fault)
{
	pid_t pid = fork();

	if (pid < 0)
		bare_die("cannot fork");
	if (pid == 0) {
		const char *argv[ARGS + 2] = { "box" };
		int null = open("/dev/null", O_RDWR | O_CLOEXEC);

		for (size_t i = 0; i < ARGS && op->argv[i]; i++)
			argv[i + 1] = op->argv[i];
		(void)dup2(null, STDIN_FILENO);
		(void)dup2(null, STDOUT_FILENO);
		(void)dup2(null, STDERR_FILENO);
		if (setenv("BOX_FAULT", fault, 1) == 0)
			(void)execvp("box", (char *const *)argv);
		_exit(126);
	}
	return pid;
}

static void expect(pid_t pid, int flags, bool (*right)(int status), const char *fault)
{
	int status = 0;

	if (waitpid(pid, &status, flags) != pid || !right(status))
		bare_die("%s: box ended in an unexpected way (%x)", fault, (unsigned)status);
}

static bool has_failed(int status)
{
	return WIFEXITED(status) && WEXITSTATUS(status) == 1;
}

static bool was_killed(int status)
{
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

static bool has_stopped(int status)
{
	return WIFSTOPPED(status);
}

static bool has_exited(int status)
{
	return WIFEXITED(status) && WEXITSTATUS(status) <= 1;
}

static void break_it(const struct operation *op, const char *step, enum way way)
{
	static const char *const suffix[WAYS] = { "fail", "kill", "stop", "stop" };
	char fault[64];
	pid_t pid;

	(void)snprintf(fault, sizeof(fault), "%s.%s:%s", op->name, step, suffix[way]);
	alarm(300); /* a command that hangs fails the test */
	pid = start_box(op, fault);
	if (way == FAIL) /* of a long chain that stays so there is but a warning */
		expect(pid, 0, op->deep ? has_exited : has_failed, fault);
	if (way == KILL)
		expect(pid, 0, was_killed, fault);
	if (way == LIBVIRTD || way == FULL) {
		expect(pid, WUNTRACED, has_stopped, fault);
		if (way == LIBVIRTD)
			world_restart_libvirtd();
		else
			world_fill_pool();
		(void)kill(pid, SIGCONT);
		expect(pid, 0, has_exited, fault);
	}
	if (way == FULL) {
		next_command(op); /* recovers, or leaves it: but loses nothing */
		world_empty_pool();
	}
	next_command(op);
	alarm(0);
}

static void one(const struct operation *op, const char *step, enum way way)
{
	const char *power = op->before.running ? "running" : "stopped";
	bool spare = has_spare(op, step, way);
	const struct wanted *now = &op->before;
	size_t nameless = 0;
	const char *leftover;

	make(op);
	break_it(op, step, way);
	if (world_is(&op->after, op->deep))
		now = &op->after;
	else if (!world_is(&op->before, op->deep))
		bare_die("%s of a %s box, %s after %s: neither as before nor as it was to be",
			op->name, power, ways[way], step);
	leftover = world_leftover(now, &nameless);
	if (leftover)
		bare_die("%s of a %s box, %s after %s: %s", op->name, power, ways[way], step,
			leftover);
	if (!is_about(nameless, op->deep, spare) && !is_about(nameless, op->flat, spare))
		bare_die("%s of a %s box, %s after %s: %zu layers without a name", op->name, power,
			ways[way], step, nameless);
	broken++;
	finished += now == &op->after;
}

/* Caught, not ignored: what is ignored stays so in the programs that are started. */
static void on_pipe(int signal)
{
	(void)signal;
}

static bool is_way(const char *word)
{
	for (enum way way = FAIL; way < WAYS; way++)
		if (str_equal(word, ways[way]))
			return true;
	return false;
}

/* None of the words is a way, or one of them is this one. */
static bool is_way_asked(char **words, enum way way)
{
	bool any = false;

	for (; *words; words++) {
		if (str_equal(*words, ways[way]))
			return true;
		any |= is_way(*words);
	}
	return !any;
}

static bool has_word(const struct operation *op, const char *word)
{
	if (str_equal(op->name, word))
		return true;
	for (size_t i = 0; i < ARGS && op->argv[i]; i++)
		if (str_equal(op->argv[i], word))
			return true;
	return false;
}

/* None of the words is one of a row's, or one of them is this one's. */
static bool is_asked(char **words, const struct operation *op)
{
	bool any = false;

	for (; *words; words++) {
		if (has_word(op, *words))
			return true;
		any |= !is_way(*words);
	}
	return !any;
}

static void all_steps(const struct operation *op, enum way way)
{
	for (size_t s = 0; s < STEPS && op->steps[s]; s++)
		one(op, op->steps[s], way);
	(void)printf("%s by box %s%s, %s: %u broken so far, %u as it was to be\n", op->name,
		op->argv[0], op->before.running ? " of a running box" : "", ways[way], broken,
		finished);
	(void)fflush(stdout);
}

int main(int argc, char **argv)
{
	const struct wanted nothing = { .labels = "" };
	const char *leftover;
	size_t nameless;

	(void)argc;
	(void)signal(SIGPIPE, on_pipe); /* connections to a libvirtd that was killed */
	world_open();
	for (size_t o = 0; o < ARRAY_LEN(operations); o++) {
		if (!is_asked(argv + 1, &operations[o]))
			continue;
		whole(&operations[o]);
		for (enum way way = FAIL; way < WAYS; way++)
			if (is_way_asked(argv + 1, way))
				all_steps(&operations[o], way);
	}
	if (!broken)
		bare_die("nothing was asked for that is in the table");
	world_remove();
	leftover = world_is(&nothing, 0) ? world_leftover(&nothing, &nameless) : "a box";
	if (leftover)
		bare_die("at the end: %s", leftover);
	world_close();
	return 0;
}
