/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Random operations on real boxes of a real libvirtd, against the simplest model there is: a box is
 * what its disk has, a snapshot is a copy of that. Every third operation is cut off by SIGKILL after a
 * random step, and the next command for the box has to make it whole; then its content must be that of
 * before or of after. Run by model.sh, in the lab.
 *
 *	chain-model OPERATIONS [SEED]
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/run.h"
#include "base/str.h"
#include "tests/vm/bare-box.h"
#include "vmm/layer-read.h"
#include "vmm/network.h"

enum { BOXES = 6, LABELS = 6 };

struct model_box {
	bool there, running;
	char name[32];
	struct bare_content now;
	size_t labels_len;
	char labels[LABELS][32];
	struct bare_content frozen[LABELS];
};

static virConnectPtr conn;
static virStoragePoolPtr pool;
static struct model_box boxes[BOXES];
static unsigned long operation_now, next_number = 1, kills, tried;
static unsigned long long seed_now;

static unsigned pick(unsigned below)
{
	seed_now = seed_now * 6364136223846793005ULL + 1442695040888963407ULL;
	return (unsigned)((seed_now >> 33) % below);
}

/* ---- reading back ---- */

static bool same_label(const struct box *real, const struct model_box *m, size_t i)
{
	struct meta_snapshot *s = meta_snapshot_find(&real->meta, m->labels[i]);
	_cleanup_free_ char *path = NULL;
	struct error err = { 0 };

	if (!s)
		return false;
	path = pool_path(pool, s->layer, &err);
	if (!path)
		bare_die("%s", err.text);
	return bare_same(path, &m->frozen[i]);
}

static bool same(const struct model_box *m)
{
	_cleanup_box_ struct box real = { 0 };
	struct box_hardware hw = { 0 };
	struct error err = { 0 };
	enum box_state state = BOX_STOPPED;

	if (box_find(conn, m->name, &real, &err) < 0)
		return err.kind == ERROR_NOT_FOUND && !m->there;
	if (box_hardware(&real, &hw, &err) < 0 || box_get_state(&real, &state, &err) < 0)
		bare_die("%s", err.text);
	if (!m->there || real.meta.operation.name[0] || m->running != (state != BOX_STOPPED) ||
		real.meta.snapshots.len != m->labels_len)
		return false;
	if (m->running)
		bare_flush(m->name);
	if (!bare_same(hw.disk, &m->now))
		return false;
	for (size_t i = 0; i < m->labels_len; i++)
		if (!same_label(&real, m, i))
			return false;
	return true;
}

/* Lines that the program writes and that have the text with a hexadecimal digit behind it. */
static size_t count_lines(const char *const *argv, const char *part)
{
	_cleanup_str_ struct str text = STR_INIT;
	struct run run = { .argv = argv, .output = &text, .timeout_ms = 60000 };
	struct error err = { 0 };
	size_t count = 0;

	if (run_program(&run, NULL, &err) < 0)
		bare_die("%s", err.text);
	for (const char *at = str_get(&text); (at = strstr(at, part));) {
		if (isxdigit((unsigned char)at[strlen(part)])) {
			at += strcspn(at, "\n");
			count++;
		} else {
			at += strlen(part);
		}
	}
	return count;
}

/* What there is of others: before the first operation. */
static struct {
	size_t reservations, ports, elements, domains, volumes;
} at_start, present;

static void look_around(void)
{
	static const char *const net[] = { "virsh", "-q", "net-dumpxml", NETWORK_NAME, NULL };
	static const char *const rules[] = { "nft", "list", "ruleset", NULL };
	static const char *const ports[] = { "ls", "/run/box/ports", NULL };
	_cleanup_volumes_ struct virt_volumes volumes = { 0 };
	_cleanup_domains_ struct virt_domains domains = { 0 };
	struct error err = { 0 };

	domains.len = virConnectListAllDomains(conn, &domains.items, 0);
	if (domains.len < 0 || pool_list(pool, &volumes, &err) < 0)
		bare_die("cannot list domains or volumes");
	present.domains = (size_t)domains.len;
	present.reservations = count_lines(net, "<host mac='");
	present.ports = count_lines(ports, "-");
	present.elements = count_lines(rules, "\"bxt");
	present.volumes = 0;
	for (int i = 0; i < volumes.len; i++) {
		const char *name = virStorageVolGetName(volumes.items[i]);

		present.volumes += str_starts(name, "box-") || str_starts(name, "lock-");
	}
}

/* One address for each box, and the rules know the running ones alone. */
static void check_network(void)
{
	size_t there = at_start.reservations, running = at_start.ports;

	look_around();
	for (size_t i = 0; i < BOXES; i++) {
		there += boxes[i].there;
		running += boxes[i].running;
	}
	if (present.reservations != there || present.ports != running)
		bare_die(
			"operation %lu: %zu reservations for %zu boxes, the hook knows %zu where %zu run",
			operation_now, present.reservations, there, present.ports, running);
	if ((present.elements > at_start.elements) != (running > at_start.ports))
		bare_die("operation %lu: %zu boxes run, and %zu lines of the rules name their taps",
			operation_now, running, present.elements);
}

/* Every chain is in order, and every layer is needed. */
static void check_graph(void)
{
	struct layer_graph g = { 0 };
	struct error err = { 0 };

	if (pool_refresh(pool, &err) < 0 || layer_graph_read(conn, pool, &g, &err) < 0)
		bare_die("%s", err.text);
	for (size_t b = 0; b < g.boxes_len; b++)
		if (layer_graph_check(&g, &g.boxes[b], &err) < 0)
			bare_die("operation %lu: %s", operation_now, err.text);
	for (size_t i = 0; i < g.len; i++) {
		bool needed = g.layers[i].kind != LAYER_BOX;

		for (size_t b = 0; b < g.boxes_len && !needed; b++)
			needed = layer_box_needs(&g, &g.boxes[b], i);
		if (!needed)
			bare_die("operation %lu: nobody needs %s", operation_now, g.layers[i].name);
	}
	layer_graph_done(&g);
}

/* ---- running box, sometimes to be killed ---- */

/* The environment with BOX_FAULT; lent until the next call. */
static const char *const *environment(const char *fault)
{
	static const char *env[256];
	size_t n = 0;

	for (char **e = environ; *e && n < ARRAY_LEN(env) - 2; e++)
		env[n++] = *e;
	if (fault)
		env[n++] = fault;
	env[n] = NULL;
	return env;
}

/* Some command that changes nothing but recovers what a killed one left. */
static void next_command(void)
{
	const char *const argv[] = { "box", "start", "no-such-box", NULL };

	(void)bare_run(argv, NULL, true);
}

/* Steps by operation; those that the plan at hand does not have kill nobody. */
struct steps_of {
	const char *operation;
	const char *steps[9]; /* NULL-terminated */
};
static const struct steps_of snapshot_steps = { "snapshot",
	{ "0", "intend", "create", "switch", "pivot", "record" } };
static const struct steps_of restore_steps = { "restore",
	{ "intend", "create", "stop", "switch", "start", "delete", "clear" } };
static const struct steps_of forget_steps = { "forget",
	{ "intend", "pull", "commit", "forget", "move", "delete", "clear" } };
static const struct steps_of rename_steps = { "rename",
	{ "0", "mark", "name", "define", "console" } };
static const struct steps_of remove_steps = { "rm",
	{ "0", "mark", "stop", "layers", "seed", "address", "console", "domain" } };

/*
 * Run box. Every third time it is told to kill itself after a random step of the operation: then it is
 * done, half done, or not begun. True if it ended by itself, and then it must have succeeded.
 */
static bool run_box(const struct steps_of *of, const char *const *argv)
{
	char fault[64];
	bool kill = pick(3) == 0;
	unsigned count = 0;
	int status;

	while (of->steps[count])
		count++;
	(void)snprintf(fault, sizeof(fault), "BOX_FAULT=%s.%s:kill", of->operation,
		of->steps[pick(count)]);
	status = bare_run(argv, kill ? environment(fault) : NULL, true);
	tried++;
	if (status == 128 + 9) {
		kills++;
		next_command();
		return false;
	}
	if (status != 0 && of != &restore_steps) {
		(void)bare_run(argv, NULL, false);
		bare_die("operation %lu: box %s %s failed with status %d", operation_now, argv[1],
			argv[2], status);
	}
	return true;
}

/* The box is what it was or what it was to become; the model takes the one that it is. */
static void settle(size_t slot, const struct model_box *after, bool done)
{
	if (same(after))
		boxes[slot] = *after;
	else if (done || !same(&boxes[slot]))
		bare_die("operation %lu: box %s has other content than it had or was to have",
			operation_now, boxes[slot].name);
}

/* ---- operations ---- */

static void new_name(char name[32])
{
	(void)snprintf(name, 32, "m%d-%lu", (int)getpid(), next_number++);
}

static struct model_box *free_slot(void)
{
	for (size_t i = 0; i < BOXES; i++)
		if (!boxes[i].there)
			return &boxes[i];
	return NULL;
}

static void do_new(size_t slot)
{
	struct model_box *m = free_slot();

	(void)slot;
	if (!m)
		return;
	*m = (struct model_box){ .there = true, .now.slot[0] = 200 };
	new_name(m->name);
	bare_new(conn, pool, m->name, NULL);
}

static void do_write(size_t slot)
{
	struct model_box *m = &boxes[slot];
	unsigned where = pick(BARE_SLOTS);

	m->now.slot[where] = (unsigned char)(1 + pick(255));
	bare_put(conn, m->name, where, m->now.slot[where]);
}

static void do_power(size_t slot)
{
	struct model_box *m = &boxes[slot];
	const char *const argv[] = { "virsh", "-q", m->running ? "destroy" : "start", m->name,
		NULL };

	if (bare_run(argv, NULL, false) != 0)
		bare_die("operation %lu: cannot start or stop %s", operation_now, m->name);
	m->running = !m->running;
}

static void do_snapshot(size_t slot)
{
	struct model_box after = boxes[slot];
	char *label = after.labels[after.labels_len];
	const char *const argv[] = { "box", "snapshot", after.name, label, NULL };

	if (after.labels_len == LABELS)
		return;
	(void)snprintf(label, 32, "s%lu", next_number++);
	after.frozen[after.labels_len++] = after.now;
	settle(slot, &after, run_box(&snapshot_steps, argv));
}

static void do_restore(size_t slot)
{
	struct model_box after = boxes[slot];
	size_t which = after.labels_len ? pick((unsigned)after.labels_len) : 0;
	const char *const argv[] = { "box", "restore", "--force", after.name, after.labels[which],
		NULL };

	if (after.labels_len == 0)
		return;
	after.now = after.frozen[which];
	settle(slot, &after, run_box(&restore_steps, argv));
}

static void do_forget(size_t slot)
{
	struct model_box after = boxes[slot];
	size_t which = after.labels_len ? pick((unsigned)after.labels_len) : 0;
	char label[32];
	const char *const argv[] = { "box", "snapshot", after.name, "--remove", label, NULL };

	if (after.labels_len == 0)
		return;
	(void)snprintf(label, sizeof(label), "%s", after.labels[which]);
	after.labels_len--;
	memmove(after.labels[which], after.labels[which + 1],
		(after.labels_len - which) * sizeof(after.labels[0]));
	memmove(&after.frozen[which], &after.frozen[which + 1],
		(after.labels_len - which) * sizeof(after.frozen[0]));
	settle(slot, &after, run_box(&forget_steps, argv));
}

static void do_rename(size_t slot)
{
	struct model_box after = boxes[slot], before = boxes[slot];
	const char *const argv[] = { "box", "rename", before.name, after.name, NULL };

	if (after.running)
		return;
	new_name(after.name);
	(void)run_box(&rename_steps, argv);
	boxes[slot] = same(&after) ? after : before;
	if (!same(&boxes[slot]))
		bare_die("operation %lu: box %s was not renamed to %s", operation_now, before.name,
			after.name);
}

static void do_remove(size_t slot)
{
	struct model_box after = boxes[slot];
	const char *const argv[] = { "box", "rm", "--force", after.name, NULL };

	after.there = false;
	after.running = false;
	settle(slot, &after, run_box(&remove_steps, argv));
}

static void clone_from(size_t slot, const char *label, const struct bare_content *content)
{
	struct model_box *m = free_slot();
	_cleanup_clone_ struct clone clone = { 0 };
	struct error err = { 0 };
	char from[80];

	if (!m)
		return;
	(void)snprintf(from, sizeof(from), "%s%s%s", boxes[slot].name, label ? "/" : "",
		label ? label : "");
	if (clone_open(conn, from, &clone, &err) < 0 || clone_freeze(&clone, NULL, &err) < 0)
		bare_die("operation %lu: %s", operation_now, err.text);
	*m = (struct model_box){ .there = true, .now = *content };
	new_name(m->name);
	bare_new(conn, pool, m->name, &clone);
}

static void do_clone_snapshot(size_t slot)
{
	size_t which;

	if (boxes[slot].labels_len == 0)
		return;
	which = pick((unsigned)boxes[slot].labels_len);
	clone_from(slot, boxes[slot].labels[which], &boxes[slot].frozen[which]);
}

static void do_clone_box(size_t slot)
{
	clone_from(slot, NULL, &boxes[slot].now);
}

/* ---- the run ---- */

static const struct {
	void (*run)(size_t slot);
	unsigned weight;
} operations[] = {
	{ do_new, 3 },
	{ do_write, 24 },
	{ do_power, 8 },
	{ do_snapshot, 16 },
	{ do_restore, 9 },
	{ do_forget, 9 },
	{ do_clone_snapshot, 5 },
	{ do_clone_box, 4 },
	{ do_rename, 3 },
	{ do_remove, 4 },
};

static size_t pick_operation(void)
{
	unsigned sum = 0, dice;
	size_t i = 0;

	for (size_t j = 0; j < ARRAY_LEN(operations); j++)
		sum += operations[j].weight;
	for (dice = pick(sum); dice >= operations[i].weight; i++)
		dice -= operations[i].weight;
	return i;
}

static void check_all_boxes(void)
{
	for (size_t i = 0; i < BOXES; i++)
		if (boxes[i].there && !same(&boxes[i]))
			bare_die("operation %lu: box %s has other content than it had",
				operation_now, boxes[i].name);
	check_network();
}

static void one_operation(void)
{
	size_t op = pick_operation(), slot = pick(BOXES);

	for (size_t i = 0; i < BOXES && !boxes[slot].there; i++)
		slot = (slot + 1) % BOXES;
	if (!boxes[slot].there)
		op = 0;
	operations[op].run(slot);
	check_graph();
	if (operation_now % 10 == 0)
		check_all_boxes();
}

/* Nothing but what was there before: no layer, lock, domain, reservation, element of a set. */
static void check_nothing_left(void)
{
	check_network();
	if (present.domains != at_start.domains || present.volumes != at_start.volumes ||
		present.elements != at_start.elements)
		bare_die(
			"left: %zu domains, %zu volumes, %zu lines of rules; there were %zu, %zu, %zu",
			present.domains, present.volumes, present.elements, at_start.domains,
			at_start.volumes, at_start.elements);
}

int main(int argc, char **argv)
{
	struct error err = { 0 };
	unsigned long wanted;

	if (argc < 2 || argc > 3)
		bare_die("usage: chain-model OPERATIONS [SEED]");
	wanted = strtoul(argv[1], NULL, 10);
	seed_now = argc == 3 ? strtoull(argv[2], NULL, 10) : (unsigned long long)time(NULL);
	(void)printf("chain-model %lu %llu\n", wanted, seed_now);
	(void)fflush(stdout);
	conn = virt_open(NULL, &err);
	pool = conn ? pool_open(conn, &err) : NULL;
	if (!pool)
		bare_die("%s", err.text);
	look_around();
	at_start = present;
	for (operation_now = 1; operation_now <= wanted; operation_now++)
		one_operation();
	check_all_boxes();
	for (size_t i = 0; i < BOXES; i++)
		while (boxes[i].there)
			do_remove(i);
	check_nothing_left();
	(void)printf("%lu operations, %lu commands, %lu of them killed\n", wanted, tried, kills);
	(void)virStoragePoolFree(pool);
	(void)virConnectClose(conn);
	return 0;
}
