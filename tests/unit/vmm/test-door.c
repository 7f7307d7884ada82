/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which doors exclude one another. What opens them is tested in tests/net/expose.sh. */
#include "tests/unit/test.h"

#include <stdio.h>

#include "vmm/door.h"

static void add_box(struct box_rows *rows, const char *name, const char *uuid)
{
	struct box_row row = { .state = BOX_STOPPED };
	struct error err = { 0 };

	snprintf(row.name, sizeof(row.name), "%s", name);
	snprintf(row.uuid, sizeof(row.uuid), "%s", uuid);
	assert_ok(box_rows_push(rows, row, &err), &err);
}

static void add_door(struct box_row *row, uint16_t port, uint16_t host)
{
	struct error err = { 0 };

	assert_ok(meta_doors_push(
			  &row->meta.doors, (struct meta_door){ .port = port, .host = host }, &err),
		&err);
}

static int make_rows(void **state)
{
	static struct box_rows rows;

	rows = (struct box_rows)VEC_INIT;
	add_box(&rows, "db", "1");
	add_box(&rows, "web", "2");
	add_door(&rows.items[0], 5432, 5432);
	add_door(&rows.items[1], 80, 8080);
	*state = &rows;
	return 0;
}

static int free_rows(void **state)
{
	box_rows_free(*state);
	return 0;
}

static int check(
	struct box_rows *rows, const char *uuid, uint16_t port, uint16_t host, struct error *err)
{
	const struct meta_door door = { .port = port, .host = host };

	return door_check(rows, uuid, &door, err);
}

static void test_ports_of_the_host_are_taken_once(void **state)
{
	struct error err = { 0 };

	assert_ok(check(*state, "2", 5432, 5433, &err), &err);
	assert_ok(check(*state, "3", 80, 80, &err), &err); /* the box's own port is nobody else's */
	assert_int_equal(check(*state, "2", 22, 5432, &err), -1);
	assert_error(&err, ERROR_EXISTS,
		"127.0.0.1:5432 is the door to port 5432 of box 'db'; choose another HOSTPORT");
	assert_int_equal(check(*state, "2", 22, 8080, &err), -1);
	assert_error(&err, ERROR_EXISTS, "127.0.0.1:8080 is the door to port 80 of box 'web'");
}

static void test_a_port_of_a_box_has_one_door(void **state)
{
	struct error err = { 0 };

	assert_int_equal(check(*state, "2", 80, 8081, &err), -1);
	assert_error(&err, ERROR_EXISTS,
		"port 80 of box 'web' has a door already, at 127.0.0.1:8080; to take it away: box expose web --remove 80");
	assert_int_equal(check(*state, "2", 80, 8080, &err), -1);
	assert_error(&err, ERROR_EXISTS, "has a door already");
}

static void test_doors_have_an_end(void **state)
{
	struct box_rows *rows = *state;
	struct error err = { 0 };

	for (uint16_t i = 1; i < META_DOORS_MAX; i++)
		add_door(&rows->items[1], (uint16_t)(1000 + i), (uint16_t)(1000 + i));
	assert_int_equal(check(rows, "2", 22, 2222, &err), -1);
	assert_error(&err, ERROR_NO_SPACE, "box 'web' has 64 doors");
	assert_ok(check(rows, "1", 22, 2222, &err), &err);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			test_ports_of_the_host_are_taken_once, make_rows, free_rows),
		cmocka_unit_test_setup_teardown(
			test_a_port_of_a_box_has_one_door, make_rows, free_rows),
		cmocka_unit_test_setup_teardown(test_doors_have_an_end, make_rows, free_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
