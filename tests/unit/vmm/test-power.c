/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Against libvirt's test driver, whose guests shut down at once; slow guests are tested in the lab. */
#include "tests/unit/test.h"

#include "vmm/power.h"

#define XML                                                                                   \
	"<domain type='test'><name>web</name><memory>65536</memory><os><type>hvm</type></os>" \
	"<metadata><b:box xmlns:b='urn:box:domain' schema='1'/></metadata></domain>"

static int set_up(void **state)
{
	struct error err = { 0 };
	virConnectPtr conn = virt_open("test:///default", &err);

	*state = conn;
	if (!conn)
		return -1;
	return virDomainFree(virDomainDefineXML(conn, XML));
}

static int tear_down(void **state)
{
	return virConnectClose(*state) < 0 ? -1 : 0;
}

static enum box_state state_of(struct box *box)
{
	struct error err = { 0 };
	enum box_state state = BOX_STOPPED;

	assert_ok(box_get_state(box, &state, &err), &err);
	return state;
}

static void test_the_wanted_state_is_a_success(void **state)
{
	virConnectPtr conn = *state;
	struct error err = { 0 };
	_cleanup_box_ struct box box = { 0 };

	assert_ok(box_find(conn, "web", &box, &err), &err);
	assert_ok(power_down(conn, &box, 1000, &err), &err);
	assert_ok(power_off(&box, &err), &err);
	assert_ok(power_on(conn, &box, NULL, &err), &err);
	assert_int_equal(state_of(&box), BOX_RUNNING);
	assert_ok(power_on(conn, &box, NULL, &err), &err);
	assert_ok(power_down(conn, &box, 60000, &err), &err);
	assert_int_equal(state_of(&box), BOX_STOPPED);
}

static void test_a_paused_box_is_resumed_or_pulled(void **state)
{
	virConnectPtr conn = *state;
	struct error err = { 0 };
	_cleanup_box_ struct box box = { 0 };

	assert_ok(box_find(conn, "web", &box, &err), &err);
	assert_ok(power_on(conn, &box, NULL, &err), &err);
	assert_int_equal(virDomainSuspend(box.dom), 0);
	assert_int_equal(state_of(&box), BOX_PAUSED);
	assert_ok(power_on(conn, &box, NULL, &err), &err);
	assert_int_equal(state_of(&box), BOX_RUNNING);
	assert_int_equal(virDomainSuspend(box.dom), 0);
	assert_ok(power_down(conn, &box, 60000, &err), &err);
	assert_int_equal(state_of(&box), BOX_STOPPED);
	assert_ok(power_on(conn, &box, NULL, &err), &err);
	assert_ok(power_off(&box, &err), &err);
	assert_int_equal(state_of(&box), BOX_STOPPED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_wanted_state_is_a_success),
		cmocka_unit_test(test_a_paused_box_is_resumed_or_pulled),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
