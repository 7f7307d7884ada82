/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Every operation on a box's layers, broken right after each of its steps, in four ways: the step after it
 * fails; box is killed; libvirtd is killed and started again while box stands still; the pool is full while
 * box goes on. Then the next command comes. Afterwards the box is what it was or what it was to be, in
 * name, power, snapshots and content; every chain is whole and every layer needed. Run by crash-chain.sh,
 * in the lab, with the pool on a small file system of its own.
 *
 *	chain-crash [WAY|OPERATION...]	fail kill libvirtd full, snapshot restore forget rename rm; default: all
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/str.h"
#include "tests/vm/bare-box.h"
#include "vmm/layer-read.h"

static virConnectPtr conn;
static virStoragePoolPtr pool;
static unsigned broken, finished, undone;

enum way { FAIL, KILL, LIBVIRTD, FULL, WAYS };
static const char *const ways[WAYS] = { "fail", "kill", "libvirtd", "full" };

/* Slot 0 of the disk has value; labels a, b, c are there or not, frozen with 1, 2, 3. */
struct wanted {
	const char *name;
	bool running;
	unsigned char value;
	const char *labels;
};

struct operation {
	const char *name; /* of its steps */
	const char *argv[6]; /* of box */
	struct wanted before, after;
	const char *steps[9]; /* NULL-terminated */
	const char *nameless; /* broken here, a layer whose label is gone may stay in the chain */
};

static const struct operation operations[] = {
	{ "snapshot", { "snapshot", "web", "c" }, { "web", false, 3, "ab" },
		{ "web", false, 3, "abc" }, { "0", "intend", "create", "switch" }, NULL },
	{ "snapshot", { "snapshot", "web", "c" }, { "web", true, 3, "ab" },
		{ "web", true, 3, "abc" }, { "0", "intend", "create", "pivot", "record" }, NULL },
	{ "restore", { "restore", "web", "a", "--force" }, { "web", false, 3, "ab" },
		{ "web", false, 1, "ab" }, { "0", "intend", "create", "switch", "delete", "clear" },
		NULL },
	{ "restore", { "restore", "web", "a", "--force" }, { "web", true, 3, "ab" },
		{ "web", true, 1, "ab" },
		{ "0", "intend", "create", "stop", "switch", "start", "delete", "clear" }, NULL },
	{ "forget", { "snapshot", "web", "--remove", "b" }, { "web", false, 3, "ab" },
		{ "web", false, 3, "a" }, { "0", "intend", "pull", "forget", "delete", "clear" },
		NULL },
	{ "forget", { "snapshot", "web", "--remove", "b" }, { "web", true, 3, "ab" },
		{ "web", true, 3, "a" }, { "0", "intend", "pull", "forget", "delete", "clear" },
		NULL },
	{ "forget", { "snapshot", "web", "--remove", "a" }, { "web", true, 3, "ab" },
		{ "web", true, 3, "b" },
		{ "0", "intend", "forget", "commit", "move", "delete", "clear" }, "forget" },
	{ "rename", { "rename", "web", "api" }, { "web", false, 3, "ab" },
		{ "api", false, 3, "ab" }, { "0", "mark", "name", "define", "console" }, NULL },
	{ "rm", { "rm", "web", "--force" }, { "web", true, 3, "ab" }, { NULL, false, 0, "" },
		{ "0", "mark", "stop", "layers", "seed", "address", "console", "domain" }, NULL },
};

/* ---- the world ---- */

static void open_libvirt(void)
{
	struct error err = { 0 };

	if (pool)
		(void)virStoragePoolFree(pool);
	if (conn)
		(void)virConnectClose(conn);
	conn = virt_open(NULL, &err);
	pool = conn ? pool_open(conn, &err) : NULL;
	if (!pool)
		bare_die("%s", err.text);
}

static pid_t libvirtd_pid(void)
{
	FILE *f = fopen("/run/libvirtd.pid", "re");
	long pid = 0;

	if (!f || fscanf(f, "%ld", &pid) != 1 || pid <= 1)
		bare_die("libvirtd's pid is not known");
	(void)fclose(f);
	return (pid_t)pid;
}

static void pause_ms(long ms)
{
	const struct timespec pause = { .tv_nsec = ms * 1000000 };

	(void)nanosleep(&pause, NULL);
}

static void restart_libvirtd(void)
{
	const char *const argv[] = { "reaper.py", "libvirtd", "-d", "--timeout", "0", NULL };
	pid_t pid = libvirtd_pid();

	if (kill(pid, SIGKILL) < 0)
		bare_die("cannot kill libvirtd");
	for (int i = 0; kill(pid, 0) == 0; i++) {
		if (i == 1000)
			bare_die("libvirtd does not die");
		pause_ms(10);
	}
	if (bare_run(argv, NULL, false) != 0)
		bare_die("libvirtd does not start");
	open_libvirt();
}

/* Into a file that is no volume's: until nothing more goes in. */
static void fill_pool(void)
{
	static const char zeros[65536];
	int fd = open(BARE_FOLDER "/ballast", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	if (fd < 0)
		bare_die("cannot make the ballast");
	for (size_t size = sizeof(zeros); size >= 512; size /= 2)
		while (write(fd, zeros, size) > 0)
			;
	(void)close(fd);
}

static void empty_pool(void)
{
	if (unlink(BARE_FOLDER "/ballast") < 0)
		bare_die("cannot remove the ballast");
}

static void power(const char *name, bool on)
{
	virDomainPtr dom = virDomainLookupByName(conn, name);

	if (!dom || (on ? virDomainCreate(dom) : virDomainDestroy(dom)) < 0)
		bare_die("cannot start or stop %s: %s", name, virGetLastErrorMessage());
	(void)virDomainFree(dom);
}

static void box_must(const char *verb, const char *name, const char *argument)
{
	const char *const argv[] = { "box", verb, name, argument, "--quiet", NULL };

	if (bare_run(argv, NULL, false) != 0)
		bare_die("box %s %s failed", verb, name);
}

/* web with 1, 2, 3 in slot 0 at snapshots a, b and now. */
static void make(const struct operation *op)
{
	for (int i = 0; i < 2; i++) {
		const char *name = i ? "api" : "web";
		virDomainPtr dom = virDomainLookupByName(conn, name);

		if (dom)
			box_must("rm", name, "--force");
		if (dom)
			(void)virDomainFree(dom);
	}
	bare_new(conn, pool, "web", NULL);
	bare_put(conn, "web", 0, 1);
	box_must("snapshot", "web", "a");
	bare_put(conn, "web", 0, 2);
	box_must("snapshot", "web", "b");
	if (op->before.running)
		power("web", true);
	bare_put(conn, "web", 0, 3);
}

/* ---- looking ---- */

/* The first slots of the disks that the program writes: the image's marker is where nothing was. */
static bool has_value(const char *path, unsigned char value)
{
	return bare_same(path, &(struct bare_content){ { value } });
}

static bool has_labels(const struct box *box, const char *labels)
{
	if (box->meta.snapshots.len != strlen(labels))
		return false;
	for (const char *c = labels; *c; c++) {
		char label[] = { *c, '\0' };
		struct meta_snapshot *s = meta_snapshot_find(&box->meta, label);
		_cleanup_free_ char *path = NULL;
		struct error err = { 0 };

		if (!s)
			return false;
		path = pool_path(pool, s->layer, &err);
		if (!path || !has_value(path, (unsigned char)(*c - 'a' + 1)))
			return false;
	}
	return true;
}

static bool is_there(const char *name)
{
	virDomainPtr dom = virDomainLookupByName(conn, name);

	if (dom)
		(void)virDomainFree(dom);
	return dom != NULL;
}

static bool is(const struct wanted *w)
{
	_cleanup_box_ struct box box = { 0 };
	struct box_hardware hw = { 0 };
	struct error err = { 0 };
	enum box_state state = BOX_STOPPED;

	if (!w->name)
		return !is_there("web") && !is_there("api");
	if (is_there(str_equal(w->name, "web") ? "api" : "web") ||
		box_find(conn, w->name, &box, &err) < 0)
		return false;
	if (box_hardware(&box, &hw, &err) < 0 || box_get_state(&box, &state, &err) < 0)
		bare_die("%s", err.text);
	if (w->running != (state == BOX_RUNNING) || box.meta.operation.name[0])
		return false;
	if (w->running)
		bare_flush(w->name);
	return has_value(hw.disk, w->value) && has_labels(&box, w->labels);
}

/* Nothing is left over but spare nameless layers; what is wrong, or NULL. */
static const char *find_leftover(const struct wanted *w, size_t spare)
{
	static char text[2048];
	struct layer_graph g = { 0 };
	struct error err = { 0 };
	size_t layers = 0, wanted = w->name ? strlen(w->labels) + 1 : 0;

	if (pool_refresh(pool, &err) < 0 || layer_graph_read(conn, pool, &g, &err) < 0)
		bare_die("%s", err.text);
	for (size_t i = 0; i < g.len; i++)
		layers += g.layers[i].kind == LAYER_BOX;
	text[0] = '\0';
	if (g.boxes_len && layer_graph_check(&g, &g.boxes[0], &err) < 0)
		(void)snprintf(text, sizeof(text), "%s", err.text);
	else if (layers < wanted || layers > wanted + spare)
		(void)snprintf(text, sizeof(text), "%zu layers, not %zu", layers, wanted);
	layer_graph_done(&g);
	if (!text[0] && virConnectNumOfDomains(conn) != (w->name && w->running))
		(void)snprintf(text, sizeof(text), "other domains run");
	return text[0] ? text : NULL;
}

/* ---- breaking ---- */

/* Any command mends what a dead process left; what one that failed left, the next for that box does. */
static void next_command(const struct operation *op)
{
	const char *const any[] = { "box", "start", "no-such-box", NULL };
	const char *const same[] = { "box", "start", "web", NULL };

	(void)bare_run(op->after.name ? any : same, NULL, true);
}

/* Start box with BOX_FAULT; its pid. */
static pid_t start_box(const struct operation *op, const char *fault)
{
	pid_t pid = fork();

	if (pid < 0)
		bare_die("cannot fork");
	if (pid == 0) {
		const char *argv[8] = { "box" };
		int null = open("/dev/null", O_RDWR | O_CLOEXEC);

		for (size_t i = 0; i < ARRAY_LEN(op->argv) && op->argv[i]; i++)
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
	if (way == FAIL)
		expect(pid, 0, has_failed, fault);
	if (way == KILL)
		expect(pid, 0, was_killed, fault);
	if (way == LIBVIRTD || way == FULL) {
		expect(pid, WUNTRACED, has_stopped, fault);
		if (way == LIBVIRTD)
			restart_libvirtd();
		else
			fill_pool();
		(void)kill(pid, SIGCONT);
		expect(pid, 0, has_exited, fault);
	}
	if (way == FULL) {
		next_command(op); /* recovers, or leaves it: but loses nothing */
		empty_pool();
	}
	next_command(op);
	alarm(0);
}

static void one(const struct operation *op, const char *step, enum way way)
{
	const char *power_text = op->before.running ? "running" : "stopped";
	size_t spare = op->nameless && str_equal(step, op->nameless);
	const struct wanted *now = &op->before;
	const char *leftover;

	if (!is(&op->before) || find_leftover(&op->before, 0))
		make(op);
	break_it(op, step, way);
	if (is(&op->after))
		now = &op->after;
	else if (!is(&op->before))
		bare_die("%s of a %s box, %s after %s: neither as before nor as it was to be",
			op->name, power_text, ways[way], step);
	/* the disk is full: what comes next may have failed in turn */
	leftover = find_leftover(now, spare || (op->nameless && way == FULL));
	if (leftover)
		bare_die("%s of a %s box, %s after %s: %s", op->name, power_text, ways[way], step,
			leftover);
	broken++;
	if (now == &op->after)
		finished++;
	else
		undone++;
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

/* None of the words is of the kind, or one of them is this one. */
static bool is_asked(char **words, const char *name, bool way)
{
	bool any = false;

	for (; *words; words++) {
		if (is_way(*words) != way)
			continue;
		if (str_equal(*words, name))
			return true;
		any = true;
	}
	return !any;
}

static void all_steps(const struct operation *op, enum way way)
{
	for (size_t s = 0; op->steps[s]; s++)
		one(op, op->steps[s], way);
	(void)printf("%s%s, %s: %u broken so far, %u finished, %u undone\n", op->name,
		op->before.running ? " of a running box" : "", ways[way], broken, finished, undone);
	(void)fflush(stdout);
}

int main(int argc, char **argv)
{
	const struct wanted nothing = { .labels = "" };
	const char *leftover;

	(void)argc;
	(void)signal(SIGPIPE, on_pipe); /* connections to a libvirtd that was killed */
	open_libvirt();
	for (size_t o = 0; o < ARRAY_LEN(operations); o++)
		for (enum way way = FAIL; way < WAYS; way++)
			if (is_asked(argv + 1, operations[o].name, false) &&
				is_asked(argv + 1, ways[way], true))
				all_steps(&operations[o], way);
	make(&operations[0]);
	box_must("rm", "web", "--force");
	leftover = find_leftover(&nothing, 0);
	if (leftover)
		bare_die("at the end: %s", leftover);
	(void)virStoragePoolFree(pool);
	(void)virConnectClose(conn);
	return 0;
}
