/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/test.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "probe/serve.h"
#include "tests/unit/vmm/drill-world.h"
#include "vmm/drill-host.h"
#include "vmm/drill-link.h"

static void test_neighbours(void **state)
{
	static const char arp[] =
		"IP address       HW type     Flags       HW address            Mask     Device\n"
		"10.20.30.40      0x1         0x2         02:00:00:00:00:01     *        lan0\n"
		"10.20.30.41      0x1         0x0         00:00:00:00:00:00     *        lan0\n"
		"10.88.0.2        0x1         0x2         52:54:00:00:00:0a     *        boxnet\n"
		"10.20.30.40      0x1         0x6         02:00:00:00:00:01     *        lan1\n"
		"nonsense\n";
	_cleanup_(drill_addresses_done) struct drill_addresses list = VEC_INIT;
	struct error err = { 0 };

	(void)state;
	assert_ok(drill_host_neighbours(arp, NET_BRIDGE, &list, &err), &err);
	assert_int_equal(list.len, 1);
	assert_int_equal(list.items[0], NEIGHBOUR);
}

static void test_services(void **state)
{
	static const char tcp[] =
		"  sl  local_address rem_address   st tx_queue rx_queue\n"
		"   0: 00000000:0016 00000000:0000 0A 00000000:00000000 00:00000000 0 0 0 1\n"
		"   1: 0100007F:0277 00000000:0000 0A 00000000:00000000 00:00000000 0 0 0 1\n"
		"   2: 0101580A:0035 00000000:0000 0A 00000000:00000000 00:00000000 0 0 0 1\n"
		"   3: 0271CB0A:01BB 0371CB0A:9999 01 00000000:00000000 00:00000000 0 0 0 1\n"
		"   4: 0271CB0A:1F90 00000000:0000 0A 00000000:00000000 00:00000000 0 0 0 1\n"
		"   5: 0371CB0A:1F90 00000000:0000 0A 00000000:00000000 00:00000000 0 0 0 1\n";
	_cleanup_(drill_addresses_done) struct drill_addresses list = VEC_INIT;
	struct error err = { 0 };

	(void)state;
	assert_ok(drill_host_services(tcp, &list, &err), &err);
	assert_int_equal(list.len, 2);
	assert_int_equal(list.items[0], 22);
	assert_int_equal(list.items[1], 8080);
}

static void test_ports_are_free_and_different(void **state)
{
	_cleanup_(drill_world_done) struct drill_world w = { .bridge = NET_BRIDGE };
	struct sockaddr_in on = { .sin_family = AF_INET };
	struct error err = { 0 };
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	(void)state;
	assert_ok(drill_host_look(&w, true, &err), &err);
	assert_true(w.host);
	assert_int_not_equal(w.box_port, w.other_port);
	on.sin_port = htons(w.door);
	on.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_int_equal(bind(fd, (struct sockaddr *)&on, sizeof(on)), 0);
	close(fd);
	vec_foreach(const uint32_t, addr, &w.addresses)
		assert_true(*addr >> 24 != 127);
}

static void test_listener_of_a_process(void **state)
{
	struct drill_domain domain = { .known = true };
	struct sockaddr_in on = { .sin_family = AF_INET };
	struct drill_finding f = { 0 };
	int pids[2] = { getpid(), getpid() }, fd;

	(void)state;
	drill_check_listener(&domain, pids, &f);
	assert_int_equal(f.answer, ANSWER_YES);
	fd = socket(AF_INET, SOCK_STREAM, 0);
	on.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_int_equal(bind(fd, (struct sockaddr *)&on, sizeof(on)), 0);
	drill_check_listener(&domain, pids, &f);
	assert_int_equal(f.answer, ANSWER_YES); /* bound, but nobody can connect */
	assert_int_equal(listen(fd, 1), 0);
	drill_check_listener(&domain, pids, &f);
	assert_int_equal(f.answer, ANSWER_NO);
	close(fd);
	fd = socket(AF_INET, SOCK_DGRAM, 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&on, sizeof(on)), 0);
	drill_check_listener(&domain, pids, &f);
	assert_int_equal(f.answer, ANSWER_NO);
	close(fd);
	pids[1] = 0;
	drill_check_listener(&domain, pids, &f);
	assert_int_equal(f.answer, ANSWER_UNSEEN);
	strcpy(domain.listener, "a graphics server");
	drill_check_listener(&domain, pids, &f);
	assert_int_equal(f.answer, ANSWER_NO);
}

static void test_hook(void **state)
{
	static const char *const uuids[2] = { "01234567-89ab-4cde-8f01-23456789abcd",
		"01234567-89ab-4cde-8f01-23456789abce" };
	char dir[] = "/tmp/box-test-XXXXXX", hook[64], record[128];
	struct drill_finding f = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_non_null(mkdtemp(dir));
	(void)snprintf(hook, sizeof(hook), "%s/hook", dir);
	drill_check_hook(hook, dir, uuids, &f);
	assert_int_equal(f.answer, ANSWER_NO);
	assert_ok(file_replace(AT_FDCWD, hook, "x", 1, 0644, &err), &err);
	drill_check_hook(hook, dir, uuids, &f);
	assert_int_equal(f.answer, ANSWER_NO);
	assert_non_null(strstr(f.text, "no program"));
	assert_ok(file_replace(AT_FDCWD, hook, "x", 1, 0755, &err), &err);
	drill_check_hook(hook, dir, uuids, &f);
	assert_int_equal(f.answer, ANSWER_NO);
	assert_non_null(strstr(f.text, "has not let in"));
	for (int i = 0; i < 2; i++) {
		(void)snprintf(record, sizeof(record), "%s/%s", dir, uuids[i]);
		assert_ok(file_replace(AT_FDCWD, record, "x", 1, 0644, &err), &err);
	}
	drill_check_hook(hook, dir, uuids, &f);
	assert_int_equal(f.answer, ANSWER_YES);
	assert_ok(file_remove_tree(dir, &err), &err);
}

/* ---- links ---- */

struct heard {
	char text[4096];
	size_t len;
};

static void hear(size_t n, unsigned id, const char *text, void *data)
{
	struct heard *h = data;

	h->len += (size_t)snprintf(
		h->text + h->len, sizeof(h->text) - h->len, "%zu/%u %s\n", n, id, text);
}

/* Turn until the link is dead or ten seconds are over. */
static void turn_all(struct drill_wait *wait)
{
	struct error err = { 0 };

	while (drill_link_alive(&wait->links[0])) {
		if (drill_links_turn(wait, 10000, &err) != 1)
			fail_msg("nothing comes: %s", err.text);
	}
}

static void link_of(const char *const *argv, struct drill_link *link, struct heard *heard)
{
	struct drill_wait wait = { link, 1, -1, hear, heard };
	struct error err = { 0 };

	*heard = (struct heard){ 0 };
	assert_ok(drill_link_open(link, argv, &err), &err);
	drill_link_send(link, "%d facts", 7);
	turn_all(&wait);
}

static void test_link_lines(void **state)
{
	struct drill_link link = DRILL_LINK_INIT(SERVE_HELLO);
	struct heard heard;

	(void)state;
	/* Lines before the greeting, without a number, with too large a one are nobody's. */
	link_of((const char *[]){ "/bin/sh", "-c",
			"echo 1 early; echo 'box-probe 1'; read l; echo \"7 got $l\"; echo x; echo '9999 y';"
			"echo '0 z'; printf '8 half'; echo problem >&2",
			NULL },
		&link, &heard);
	assert_string_equal(heard.text, "0/7 got 7 facts\n");
	assert_true(link.hello);
	assert_string_equal(link.tail, "problem");
	drill_link_close(&link);
}

static void test_link_flood_and_garbage(void **state)
{
	struct drill_link link = DRILL_LINK_INIT(SERVE_HELLO);
	struct heard heard;

	(void)state;
	link_of((const char *[]){ "/bin/sh", "-c",
			"echo 'box-probe 1'; head -c 300000 /dev/zero | tr '\\0' a; echo; echo '3 after';"
			"head -c 300000 /dev/zero | tr '\\0' '\\033' >&2",
			NULL },
		&link, &heard);
	assert_string_equal(heard.text, "0/3 after\n");
	assert_true(strlen(link.tail) < LINK_TAIL_MAX);
	assert_null(strchr(link.tail, 0x1b));
	drill_link_close(&link);
}

static void test_link_of_nothing(void **state)
{
	struct drill_link link = DRILL_LINK_INIT(SERVE_HELLO);
	struct error err = { 0 };

	(void)state;
	assert_int_equal(
		drill_link_open(&link, (const char *[]){ "/no/such/probe", NULL }, &err), -1);
	assert_error(&err, ERROR_NOT_FOUND, "/no/such/probe");
	drill_link_close(&link);
	drill_link_send(&link, "1 facts");
	assert_false(drill_link_alive(&link));
}

/* What ignores the end of its input is killed, with all that it started. */
static void test_link_that_does_not_end(void **state)
{
	struct drill_link link = DRILL_LINK_INIT(SERVE_HELLO);
	struct error err = { 0 };
	pid_t pid;

	(void)state;
	assert_ok(
		drill_link_open(&link,
			(const char *[]){ "/bin/sh", "-c", "sleep 1000 & sleep 1000", NULL }, &err),
		&err);
	pid = link.pid;
	drill_link_close(&link);
	assert_int_equal(link.pid, 0);
	assert_int_equal(kill(pid, 0), -1);
}

static void test_link_interrupt(void **state)
{
	struct drill_link link = DRILL_LINK_INIT(SERVE_HELLO);
	struct error err = { 0 };
	struct heard heard = { 0 };
	int pair[2];

	(void)state;
	assert_int_equal(pipe(pair), 0);
	assert_int_equal(write(pair[1], "x", 1), 1);
	assert_int_equal(drill_links_turn(&(struct drill_wait){ &link, 1, pair[0], hear, &heard },
				 10000, &err),
		-1);
	assert_error(&err, ERROR_INTERRUPTED, "interrupted");
	close(pair[0]);
	close(pair[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_neighbours),
		cmocka_unit_test(test_services),
		cmocka_unit_test(test_ports_are_free_and_different),
		cmocka_unit_test(test_listener_of_a_process),
		cmocka_unit_test(test_hook),
		cmocka_unit_test(test_link_lines),
		cmocka_unit_test(test_link_flood_and_garbage),
		cmocka_unit_test(test_link_of_nothing),
		cmocka_unit_test(test_link_that_does_not_end),
		cmocka_unit_test(test_link_interrupt),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
