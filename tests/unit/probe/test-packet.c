/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/test.h"

#include "probe/packet.h"

static unsigned sum(const uint8_t *p, size_t len)
{
	uint32_t s = 0;

	for (size_t i = 0; i < len; i++)
		s += i & 1 ? p[i] : (uint32_t)p[i] << 8;
	while (s >> 16)
		s = (s & 0xffff) + (s >> 16);
	return s;
}

static const struct packet sample = {
	.src_mac = { 2, 0, 0, 0, 0, 1 },
	.dst_mac = { 2, 0, 0, 0, 0, 2 },
	.src_ip = 0x0a580005,
	.dst_ip = 0x0a580006,
	.src_port = 40000,
	.dst_port = 7,
	.token = "tok-123",
};

static void test_every_kind_builds_with_its_token(void **state)
{
	(void)state;
	for (unsigned kind = 0; packet_kind_name(kind); kind++) {
		struct packet p = sample;
		uint8_t buf[PACKET_MAX];
		size_t len;

		p.kind = (enum packet_kind)kind;
		len = packet_build(&p, buf);
		assert_true(len >= 60);
		assert_memory_equal(buf, sample.dst_mac, 6);
		assert_memory_equal(buf + 6, sample.src_mac, 6);
		assert_non_null(memmem(buf, len, "tok-123", 7));
	}
}

static void test_checksums_verify(void **state)
{
	struct packet p = sample;
	uint8_t buf[PACKET_MAX], pseudo[PACKET_MAX + 12];
	size_t udp_len;

	(void)state;
	p.kind = PACKET_UDP;
	assert_true(packet_build(&p, buf) > 0);
	assert_int_equal(sum(buf + 14, 20), 0xffff);
	udp_len = (size_t)buf[38] << 8 | buf[39];
	assert_int_equal(udp_len, 8 + 7);
	memcpy(pseudo, buf + 26, 8);
	pseudo[8] = 0;
	pseudo[9] = 17;
	pseudo[10] = buf[38];
	pseudo[11] = buf[39];
	memcpy(pseudo + 12, buf + 34, udp_len);
	assert_int_equal(sum(pseudo, 12 + udp_len), 0xffff);
	p.kind = PACKET_ICMP_ECHO;
	assert_true(packet_build(&p, buf) > 0);
	assert_int_equal(sum(buf + 34, 8 + 7), 0xffff);
}

static void test_vlan_tags_nest(void **state)
{
	struct packet p = sample;
	uint8_t buf[PACKET_MAX];

	(void)state;
	p.kind = PACKET_RAW;
	p.vlan = 7;
	p.outer_vlan = 9;
	assert_true(packet_build(&p, buf) > 0);
	assert_memory_equal(buf + 12, "\x88\xa8\x00\x09\x81\x00\x00\x07\x88\xb5", 10);
}

static void test_unknown_kind_and_long_token_are_refused(void **state)
{
	struct error err = { 0 };
	enum packet_kind kind;
	struct packet p = sample;
	uint8_t buf[PACKET_MAX];
	char token[80];

	(void)state;
	assert_int_equal(packet_kind_parse("udpp", &kind, &err), -1);
	assert_error(&err, ERROR_USAGE, "no packet kind 'udpp'; there are udp tcp-syn");
	memset(token, 'x', 79);
	token[79] = '\0';
	p.token = token;
	assert_int_equal(packet_build(&p, buf), 0);
}

static void test_ipv6_destination(void **state)
{
	struct packet p = sample;
	uint8_t buf[PACKET_MAX];

	(void)state;
	p.kind = PACKET_IPV6_UDP;
	assert_true(packet_build(&p, buf) > 0);
	assert_memory_equal(buf + 38, "\xff\x02\0\0\0\0\0\0\0\0\0\0\0\0\0\x01", 16);
	p.dst_ip6[0] = 0x20;
	assert_true(packet_build(&p, buf) > 0);
	assert_memory_equal(buf + 38, "\x20\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 16);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_kind_builds_with_its_token),
		cmocka_unit_test(test_checksums_verify),
		cmocka_unit_test(test_vlan_tags_nest),
		cmocka_unit_test(test_unknown_kind_and_long_token_are_refused),
		cmocka_unit_test(test_ipv6_destination),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
