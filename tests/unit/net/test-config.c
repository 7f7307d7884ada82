/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/test.h"

#include "net/blocked.h"
#include "net/config.h"

static void test_what_is_written_is_read_back(void **state)
{
	_cleanup_str_ struct str text = STR_INIT;
	struct net_config want, got = { 0 };
	struct error err = { 0 };

	(void)state;
	net_config_default(&want);
	want.subnet = 0x0a600000;
	want.prefix = 20;
	net_config_format(&want, &text);
	assert_ok(net_config_parse(str_get(&text), "file", &got, &err), &err);
	assert_memory_equal(&want, &got, sizeof(want));
}

static void test_derived_addresses(void **state)
{
	struct net_config c;
	char buf[18];

	(void)state;
	net_config_default(&c);
	assert_string_equal(net_format_ipv4(net_gateway(&c), buf), "10.88.0.1");
	assert_string_equal(net_format_ipv4(net_broadcast(&c), buf), "10.88.0.255");
	assert_true(net_is_box_address(&c, 0x0a580002));
	assert_true(net_is_box_address(&c, 0x0a5800fe));
	assert_false(net_is_box_address(&c, 0x0a580000));
	assert_false(net_is_box_address(&c, 0x0a580001));
	assert_false(net_is_box_address(&c, 0x0a5800ff));
	assert_false(net_is_box_address(&c, 0x0a580102));
}

static void assert_refused(const char *text, const char *part)
{
	struct net_config c = { 0 };
	struct error err = { 0 };

	assert_int_equal(net_config_parse(text, "net.conf", &c, &err), -1);
	assert_error(&err, ERROR_INVALID, part);
	assert_int_equal(c.prefix, 0);
}

static void test_bad_files_are_refused_with_the_line(void **state)
{
	(void)state;
	assert_refused("subnet 10.88.0.0/24\ndns 1.1.1.1\nbridge br0\n",
		"net.conf:3: unknown word 'bridge'");
	assert_refused("subnet 10.88.0.0/24\nsubnet 10.89.0.0/24\n",
		"net.conf:2: 'subnet' is given twice");
	assert_refused("subnet 10.88.0.0/24\n", "no line 'dns'");
	assert_refused("dns 1.1.1.1\n", "no line 'subnet'");
	assert_refused("subnet 10.88.0.0/30\ndns 1.1.1.1\n", "from /16 to /28");
	assert_refused("subnet 10.88.0.1/24\ndns 1.1.1.1\n", "net.conf:1");
	assert_refused("subnet 10.88.0.0/24\ndns\n", "no resolver");
	assert_refused("", "no line 'subnet'");
}

static void test_resolvers_must_be_public(void **state)
{
	static const char *const bad[] = { "192.168.1.1", "10.0.0.53", "127.0.0.53",
		"100.100.100.100", "169.254.169.253", "1.1.1.1 172.16.0.1", "224.0.0.251" };
	struct net_config c;
	struct error err = { 0 };

	(void)state;
	net_config_default(&c);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		assert_int_equal(net_config_set_dns(&c, bad[i], &err), -1);
		assert_error(&err, ERROR_USAGE, "is not public");
	}
	assert_int_equal(c.n_dns, 2);
	assert_ok(net_config_set_dns(&c, " 9.9.9.9,203.0.113.53 ", &err), &err);
	assert_int_equal(c.n_dns, 2);
	assert_int_equal(c.dns[1], 0xcb007135);
	assert_int_equal(
		net_config_set_dns(&c, "1.1.1.1 1.1.1.2 1.1.1.3 1.1.1.4 1.1.1.5", &err), -1);
	assert_error(&err, ERROR_USAGE, "at most 4");
	assert_int_equal(net_config_set_dns(&c, "dns.example", &err), -1);
}

static void test_blocked_ranges_find_their_ends(void **state)
{
	static const struct {
		uint32_t addr;
		const char *cidr; /* NULL: public */
	} rows[] = {
		{ 0x0a000000, "10.0.0.0/8" },
		{ 0x0affffff, "10.0.0.0/8" },
		{ 0x0b000000, NULL },
		{ 0xac0fffff, NULL },
		{ 0xac100000, "172.16.0.0/12" },
		{ 0xac1fffff, "172.16.0.0/12" },
		{ 0xac200000, NULL },
		{ 0x64400000, "100.64.0.0/10" },
		{ 0x647fffff, "100.64.0.0/10" },
		{ 0x64800000, NULL },
		{ 0xc612ffff, "198.18.0.0/15" },
		{ 0xc613ffff, "198.18.0.0/15" },
		{ 0xc6140000, NULL },
		{ 0xc00000ff, "192.0.0.0/24" },
		{ 0xc0000100, NULL },
		{ 0xdfffffff, NULL },
		{ 0xe0000000, "224.0.0.0/4" },
		{ 0xffffffff, "240.0.0.0/4" },
		{ 0x00ffffff, "0.0.0.0/8" },
		{ 0x01000000, NULL },
		{ 0x7f000001, "127.0.0.0/8" },
		{ 0xa9fea9fe, "169.254.0.0/16" },
		{ 0xc0a80000, "192.168.0.0/16" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct blocked *b = blocked_find(rows[i].addr);

		if (rows[i].cidr)
			assert_string_equal(b ? b->cidr : "public", rows[i].cidr);
		else
			assert_null(b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_written_is_read_back),
		cmocka_unit_test(test_derived_addresses),
		cmocka_unit_test(test_bad_files_are_refused_with_the_line),
		cmocka_unit_test(test_resolvers_must_be_public),
		cmocka_unit_test(test_blocked_ranges_find_their_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
