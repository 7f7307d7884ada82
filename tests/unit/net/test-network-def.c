/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/golden.h"

#include "base/xml.h"
#include "net/network-def.h"

static char *make(bool pinned)
{
	struct net_config c;
	struct error err = { 0 };
	char *xml;

	net_config_default(&c);
	if (pinned) {
		c.subnet = 0xac1e0000;
		c.prefix = 20;
		assert_ok(net_config_set_dns(&c, "9.9.9.9", &err), &err);
	}
	xml = network_def_xml(&c, &err);
	if (!xml)
		fail_msg("%s", err.text);
	return xml;
}

static void test_default_network(void **state)
{
	_cleanup_free_ char *xml = make(false);

	(void)state;
	assert_golden("network/default.xml", xml);
}

static void test_pinned_network(void **state)
{
	_cleanup_free_ char *xml = make(true);

	(void)state;
	assert_golden("network/pinned.xml", xml);
}

static void test_nothing_registers_a_name(void **state)
{
	_cleanup_free_ char *xml = make(false);

	(void)state;
	assert_null(strstr(xml, "<host"));
	assert_null(strstr(xml, "<domain"));
	assert_non_null(strstr(xml, "dhcp-ignore-names"));
	assert_non_null(strstr(xml, "no-hosts"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_default_network),
		cmocka_unit_test(test_pinned_network),
		cmocka_unit_test(test_nothing_registers_a_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
