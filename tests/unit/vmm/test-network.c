/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The pure part: reading a network and choosing an address. Reservations are tested in the lab. */
#include "tests/unit/test.h"

#include "base/str.h"
#include "vmm/network.h"

#define NET(mask, hosts)                                                            \
	"<network><name>boxnet</name><ip address='10.88.0.1' " mask "><dhcp>" hosts \
	"</dhcp></ip></network>"

static void test_view_reads_subnet_and_reservations(void **state)
{
	struct error err = { 0 };
	_cleanup_network_view_ struct network_view view = { 0 };

	(void)state;
	assert_ok(network_view_parse(NET("netmask='255.255.255.0'",
					     "<host mac='52:54:00:00:00:01' ip='10.88.0.2'/>"
					     "<host mac='52:54:00:00:00:02' ip='10.88.0.4'/>"),
			  &view, &err),
		&err);
	assert_int_equal(view.gateway, 0x0a580001);
	assert_int_equal(view.prefix, 24);
	assert_int_equal(view.hosts.len, 2);
	assert_int_equal(network_view_find(&view, "52:54:00:00:00:02")->address, 0x0a580004);
	assert_null(network_view_find(&view, "52:54:00:00:00:03"));
}

static void refuses(const char *xml, const char *part)
{
	struct error err = { 0 };
	struct network_view view = { 0 };

	assert_int_equal(network_view_parse(xml, &view, &err), -1);
	if (!strstr(err.text, part))
		fail_msg("text '%s', wanted '%s'", err.text, part);
}

static void test_other_networks_are_refused(void **state)
{
	(void)state;
	refuses("<network><name>boxnet</name></network>", "has no address");
	refuses(NET("", ""), "no subnet");
	refuses(NET("prefix='31'", ""), "no subnet");
	refuses(NET("prefix='24'", "<host mac='x' ip='10.88.0.300'/>"), "reserved address");
}

static void test_choice_is_lowest_free_and_knows_the_ends(void **state)
{
	struct error err = { 0 };
	_cleanup_network_view_ struct network_view view = { 0 };
	uint32_t leased[] = { 0x0a580003, 0x0a580005 };
	char mac[18] = "52:54:00:00:00:10";

	(void)state;
	assert_ok(network_view_parse(
			  NET("prefix='29'", "<host mac='52:54:00:00:00:01' ip='10.88.0.2'/>"),
			  &view, &err),
		&err);
	assert_int_equal(network_choose(&view, NULL, 0, 0), 0x0a580003);
	assert_int_equal(network_choose(&view, leased, 2, 0), 0x0a580004);
	assert_int_equal(network_choose(&view, leased, 2, 4), 0x0a580006); /* .5 is lent out */
	assert_int_equal(network_choose(&view, leased, 2, 5), 0x0a580006);
	assert_int_equal(
		network_choose(&view, leased, 2, 6), 0x0a580004); /* round, past the gateway */
	assert_int_equal(network_choose(&view, leased, 2, UINT32_MAX), 0x0a580004);
	for (uint32_t a = 3; a <= 6; a++) {
		struct network_host host = { .address = 0x0a580000 + a };

		strcpy(host.mac, mac);
		assert_int_equal(network_choose(&view, NULL, 0, 0), 0x0a580000 + a);
		assert_ok(network_hosts_push(&view.hosts, host, &err), &err);
	}
	assert_int_equal(network_choose(&view, NULL, 0, 0), 0); /* .7 is the broadcast address */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_view_reads_subnet_and_reservations),
		cmocka_unit_test(test_other_networks_are_refused),
		cmocka_unit_test(test_choice_is_lowest_free_and_knows_the_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
