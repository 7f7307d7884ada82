/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/test.h"

#include "base/parse.h"

static void test_size_accepts_binary_units_only(void **state)
{
	struct error err = { 0 };
	uint64_t v = 0;

	(void)state;
	assert_ok(parse_size("2GiB", "--memory", &v, &err), &err);
	assert_int_equal(v, 2ull << 30);
	assert_ok(parse_size("512MiB", "--memory", &v, &err), &err);
	assert_int_equal(v, 512ull << 20);
	assert_int_equal(parse_size("2048", "--memory", &v, &err), -1);
	assert_error(&err, ERROR_USAGE, "--memory: '2048' has no unit; write 2048MiB or 2048GiB");
	assert_int_equal(parse_size("2GB", "--memory", &v, &err), -1);
	assert_error(&err, ERROR_USAGE, "such as 2GiB");
	assert_int_equal(parse_size("-1GiB", "--memory", &v, &err), -1);
	assert_int_equal(parse_size("0GiB", "--memory", &v, &err), -1);
	assert_int_equal(parse_size("99999999999TiB", "--memory", &v, &err), -1);
	assert_int_equal(parse_size("2GiB ", "--memory", &v, &err), -1);
	assert_int_equal(v, 512ull << 20);
}

static void test_u64_refuses_sign_garbage_range(void **state)
{
	struct error err = { 0 };
	uint64_t v = 7;

	(void)state;
	assert_ok(parse_u64("65535", 1, 65535, "port", &v, &err), &err);
	assert_int_equal(parse_u64("0", 1, 65535, "port", &v, &err), -1);
	assert_int_equal(parse_u64("65536", 1, 65535, "port", &v, &err), -1);
	assert_int_equal(parse_u64("+1", 1, 65535, "port", &v, &err), -1);
	assert_int_equal(parse_u64("1x", 1, 65535, "port", &v, &err), -1);
	assert_int_equal(parse_u64("", 1, 65535, "port", &v, &err), -1);
	assert_int_equal(parse_u64("18446744073709551616", 0, UINT64_MAX, "n", &v, &err), -1);
	assert_int_equal(v, 65535);
}

static void test_duration_units(void **state)
{
	struct error err = { 0 };
	uint64_t v = 0;

	(void)state;
	assert_ok(parse_duration("90", "--timeout", &v, &err), &err);
	assert_int_equal(v, 90000);
	assert_ok(parse_duration("2h", "--timeout", &v, &err), &err);
	assert_int_equal(v, 7200000);
	assert_int_equal(parse_duration("0", "--timeout", &v, &err), -1);
	assert_int_equal(parse_duration("5d", "--timeout", &v, &err), -1);
	assert_int_equal(parse_duration("99999999999999h", "--timeout", &v, &err), -1);
}

static void test_cidr_mac_ipv4(void **state)
{
	struct error err = { 0 };
	uint32_t addr = 0;
	unsigned len = 0;
	uint8_t mac[6];

	(void)state;
	assert_ok(parse_cidr("10.88.0.0/24", "BOX_SUBNET", &addr, &len, &err), &err);
	assert_int_equal(addr, 0x0a580000);
	assert_int_equal(len, 24);
	assert_ok(parse_cidr("0.0.0.0/0", "x", &addr, &len, &err), &err);
	assert_int_equal(parse_cidr("10.88.0.1/24", "x", &addr, &len, &err), -1);
	assert_error(&err, ERROR_USAGE, "host bits");
	assert_int_equal(parse_cidr("10.88.0.0", "x", &addr, &len, &err), -1);
	assert_int_equal(parse_cidr("10.88.0.0/33", "x", &addr, &len, &err), -1);
	assert_ok(parse_mac("52:54:00:aB:cd:ef", "mac", mac, &err), &err);
	assert_int_equal(mac[3], 0xab);
	assert_int_equal(parse_mac("52:54:00:ab:cd", "mac", mac, &err), -1);
	assert_int_equal(parse_mac("52-54-00-ab-cd-ef", "mac", mac, &err), -1);
}

static void test_box_names(void **state)
{
	struct error err = { 0 };
	char long_name[65];

	(void)state;
	memset(long_name, 'a', 64);
	long_name[64] = '\0';
	assert_ok(parse_box_name("web", &err), &err);
	assert_ok(parse_box_name("a", &err), &err);
	assert_ok(parse_box_name("a-1", &err), &err);
	assert_ok(parse_box_name(long_name + 1, &err), &err);
	assert_int_equal(parse_box_name(long_name, &err), -1);
	assert_int_equal(parse_box_name("", &err), -1);
	assert_int_equal(parse_box_name("-a", &err), -1);
	assert_int_equal(parse_box_name("a-", &err), -1);
	assert_int_equal(parse_box_name("Web", &err), -1);
	assert_int_equal(parse_box_name("a.b", &err), -1);
	assert_int_equal(parse_box_name("a/b", &err), -1);
	assert_int_equal(parse_box_name("all", &err), -1);
	assert_error(&err, ERROR_USAGE, "'all' cannot be");
}

static void test_labels(void **state)
{
	struct error err = { 0 };

	(void)state;
	assert_ok(parse_label("manual-1700000000", &err), &err);
	assert_ok(parse_label("A.b_c-d", &err), &err);
	assert_int_equal(parse_label(".hidden", &err), -1);
	assert_int_equal(parse_label("a/b", &err), -1);
	assert_int_equal(parse_label("", &err), -1);
}

static void test_format_size(void **state)
{
	char buf[32];

	(void)state;
	assert_string_equal(format_size(0, buf, sizeof(buf)), "0B");
	assert_string_equal(format_size(20ull << 30, buf, sizeof(buf)), "20GiB");
	assert_string_equal(format_size(3ull << 29, buf, sizeof(buf)), "1.5GiB");
	assert_string_equal(format_size(1023, buf, sizeof(buf)), "1023B");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_size_accepts_binary_units_only),
		cmocka_unit_test(test_u64_refuses_sign_garbage_range),
		cmocka_unit_test(test_duration_units),
		cmocka_unit_test(test_cidr_mac_ipv4),
		cmocka_unit_test(test_box_names),
		cmocka_unit_test(test_labels),
		cmocka_unit_test(test_format_size),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
