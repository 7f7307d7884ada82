/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/test.h"

#include <stdio.h>

#include "net/port.h"

#define UUID "01234567-89ab-cdef-0123-456789abcdef"
#define MARK(inner) \
	"<metadata><box:box xmlns:box='urn:box:domain' schema='1'>" inner "</box:box></metadata>"
#define ADDRESS "<box:address>10.88.0.5</box:address>"
#define NIC(network, tap)                                              \
	"<interface type='network'><mac address='52:54:00:01:02:03'/>" \
	"<source network='" network "'/><target dev='" tap "'/></interface>"
#define DOMAIN(mark, nics)                                                               \
	"<domain type='kvm'><name>web</name><uuid>" UUID "</uuid>" mark "<devices>" nics \
	"</devices></domain>"

static int read_domain(const char *xml, struct net_port *port, struct error *err)
{
	struct net_config config;

	net_config_default(&config);
	return port_from_domain(xml, strlen(xml), &config, port, err);
}

static void test_a_box_is_read(void **state)
{
	struct net_port port = { 0 };
	struct error err = { 0 };
	int ret;

	(void)state;
	ret = read_domain(
		DOMAIN(MARK(ADDRESS
			       "<box:tap>bxt01234567</box:tap>"
			       "<box:door port='80' host='8080'/><box:door port='22' host='2222'/>"),
			NIC("default", "vnet0") NIC("boxnet", "bxt01234567")),
		&port, &err);
	if (ret != 1)
		fail_msg("%d %s", ret, err.text);
	assert_string_equal(port.uuid, UUID);
	assert_string_equal(port.tap, "bxt01234567");
	assert_memory_equal(port.mac, "\x52\x54\0\x01\x02\x03", 6);
	assert_int_equal(port.addr, 0x0a580005);
	assert_int_equal(port.n_doors, 2);
	assert_int_equal(port.doors[1].host, 2222);
	assert_int_equal(port.doors[1].port, 22);
}

static void test_libvirts_status_file_is_read_too(void **state)
{
	struct net_port port = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_int_equal(
		read_domain("<domstatus state='running' pid='7'><domstatus2/>" DOMAIN(
				    MARK(ADDRESS), NIC("boxnet", "bxt01234567")) "</domstatus>",
			&port, &err),
		1);
	assert_int_equal(port.addr, 0x0a580005);
}

/* Not a box, or a box whose NIC is not as it was made: no entry, and no error either. */
static void test_strangers_get_no_entry(void **state)
{
	static const char *const rows[] = {
		DOMAIN("", NIC("boxnet", "bxt01234567")),
		DOMAIN("<metadata><box xmlns='urn:other:domain'/></metadata>",
			NIC("boxnet", "bxt01234567")),
		DOMAIN(MARK(ADDRESS), ""),
		DOMAIN(MARK(ADDRESS), NIC("default", "bxt01234567")),
		DOMAIN(MARK(ADDRESS), NIC("boxnet", "bxt01234568")),
		DOMAIN(MARK(ADDRESS), NIC("boxnet", "vnet7")),
		DOMAIN(MARK(ADDRESS),
			"<interface type='bridge'><mac address='52:54:00:01:02:03'/>"
			"<source bridge='boxnet'/><target dev='bxt01234567'/></interface>"),
		DOMAIN(MARK(ADDRESS), "<interface type='network'><mac address='52:54:00:01:02:03'/>"
				      "<source network='boxnet'/></interface>"),
	};
	struct net_port port = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct error err = { 0 };

		assert_int_equal(read_domain(rows[i], &port, &err), 0);
		assert_string_equal(err.text, "");
	}
	assert_int_equal(port.addr, 0);
}

#define GOOD_NIC NIC("boxnet", "bxt01234567")
#define NIC_MAC(mac)                                         \
	"<interface type='network'><mac address='" mac "'/>" \
	"<source network='boxnet'/><target dev='bxt01234567'/></interface>"
#define AT(address) MARK("<box:address>" address "</box:address>")

static void test_hostile_boxes_are_refused(void **state)
{
	static const struct {
		const char *xml, *text;
	} rows[] = {
		{ DOMAIN(MARK(""), GOOD_NIC), "the box's address is missing" },
		{ DOMAIN(AT("10.88.0.1"), GOOD_NIC), "is not one of this host's network" },
		{ DOMAIN(AT("10.88.0.0"), GOOD_NIC), "is not one of this host's network" },
		{ DOMAIN(AT("10.88.0.255"), GOOD_NIC), "is not one of this host's network" },
		{ DOMAIN(AT("192.168.1.7"), GOOD_NIC),
			"'192.168.1.7' is not one of this host's network 10.88.0.0/24" },
		{ DOMAIN(AT("10.88.0.5/24"), GOOD_NIC), "the box's address" },
		{ DOMAIN(AT("10.88.0.5 "), GOOD_NIC), "the box's address" },
		{ DOMAIN(AT("0x0a580005"), GOOD_NIC), "the box's address" },
		{ DOMAIN(AT("\xe2\x80\xae"), GOOD_NIC), "the box's address" },
		{ DOMAIN(MARK(ADDRESS), NIC_MAC("01:00:5e:00:00:01")), "no box may have the MAC" },
		{ DOMAIN(MARK(ADDRESS), NIC_MAC("ff:ff:ff:ff:ff:ff")), "no box may have the MAC" },
		{ DOMAIN(MARK(ADDRESS), NIC_MAC("00:00:00:00:00:00")), "no box may have the MAC" },
		{ DOMAIN(MARK(ADDRESS), NIC_MAC(NET_GATEWAY_MAC)), "no box may have the MAC" },
		{ DOMAIN(MARK(ADDRESS), NIC_MAC("52:54:00:01:02")), "the box's MAC" },
		{ DOMAIN(MARK(ADDRESS), GOOD_NIC GOOD_NIC), "two NICs called 'bxt01234567'" },
		{ DOMAIN(MARK(ADDRESS "<box:door port='0' host='80'/>"), GOOD_NIC), "door" },
		{ DOMAIN(MARK(ADDRESS "<box:door port='80' host='65536'/>"), GOOD_NIC), "door" },
		{ DOMAIN(MARK(ADDRESS "<box:door port='80'/>"), GOOD_NIC),
			"the box's door is missing" },
		{ DOMAIN(MARK(ADDRESS "<box:door port='80' host='-1'/>"), GOOD_NIC), "door" },
		{ DOMAIN(MARK(ADDRESS "<box:door port='1' host='9'/><box:door port='2' host='9'/>"),
			  GOOD_NIC),
			"two doors at 127.0.0.1:9" },
		{ "<domain><uuid>../../etc</uuid>" MARK(ADDRESS) "<devices>" GOOD_NIC
								 "</devices></domain>",
			"the box's UUID" },
		{ "<domain><uuid>01234567-89AB-cdef-0123-456789abcdef</uuid>" MARK(
			  ADDRESS) "</domain>",
			"the box's UUID" },
		{ "<domain>" MARK(ADDRESS) "</domain>", "the box's UUID is missing" },
		{ "<domain><unclosed></domain>", "the domain's XML" },
		{ "<!DOCTYPE x [<!ENTITY a 'b'>]><domain/>", "the domain's XML" },
		{ "", "the domain's XML" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct net_port port = { 0 };
		struct error err = { 0 };

		assert_int_equal(read_domain(rows[i].xml, &port, &err), -1);
		assert_error(&err, ERROR_INVALID, rows[i].text);
		assert_int_equal(port.addr, 0);
	}
}

static void test_too_many_doors_are_refused(void **state)
{
	_cleanup_str_ struct str xml = STR_INIT;
	struct net_port port = { 0 };
	struct error err = { 0 };

	(void)state;
	str_append(&xml, "<domain><uuid>" UUID "</uuid><metadata>"
			 "<box:box xmlns:box='urn:box:domain'>" ADDRESS);
	for (int i = 0; i <= NET_DOORS_MAX; i++)
		str_printf(&xml, "<box:door port='80' host='%d'/>", 1000 + i);
	str_append(&xml, "</box:box></metadata><devices>" GOOD_NIC "</devices></domain>");
	assert_int_equal(read_domain(str_get(&xml), &port, &err), -1);
	assert_error(&err, ERROR_INVALID, "more than 64 doors");
}

static const struct net_port web = {
	.uuid = UUID,
	.tap = "bxt01234567",
	.mac = { 0x52, 0x54, 0, 1, 2, 3 },
	.addr = 0x0a580005,
	.doors = { { 8080, 80 } },
	.n_doors = 1,
};

static void test_conflicts_name_what_is_taken(void **state)
{
	struct net_port other = {
		.uuid = "89abcdef-89ab-cdef-0123-456789abcdef",
		.tap = "bxt89abcdef",
		.mac = { 0x52, 0x54, 0, 1, 2, 4 },
		.addr = 0x0a580006,
		.doors = { { 8081, 80 } },
		.n_doors = 1,
	};
	struct error err = { 0 };
	struct net_port clash;

	(void)state;
	assert_ok(port_conflict(&web, &other, &err), &err);
	assert_ok(port_conflict(&web, &web, &err), &err);
	clash = other;
	clash.addr = web.addr;
	assert_int_equal(port_conflict(&web, &clash, &err), -1);
	assert_error(
		&err, ERROR_EXISTS, "the address '10.88.0.5' is that of the running box 89abcdef");
	clash = other;
	clash.mac[5] = 3;
	assert_int_equal(port_conflict(&web, &clash, &err), -1);
	assert_error(&err, ERROR_EXISTS, "the MAC '52:54:00:01:02:03'");
	clash = other;
	clash.doors[0].host = 8080;
	assert_int_equal(port_conflict(&web, &clash, &err), -1);
	assert_error(&err, ERROR_EXISTS, "the door at 127.0.0.1:8080");
	clash = other;
	memcpy(clash.tap, web.tap, sizeof(clash.tap));
	assert_int_equal(port_conflict(&web, &clash, &err), -1);
	assert_error(&err, ERROR_EXISTS, "the tap 'bxt01234567'");
}

static void test_a_record_is_read_back(void **state)
{
	_cleanup_str_ struct str text = STR_INIT;
	struct net_port got = { 0 };
	struct error err = { 0 };

	(void)state;
	port_format(&web, &text);
	assert_ok(port_parse(str_get(&text), UUID, &got, &err), &err);
	assert_memory_equal(&got, &web, sizeof(got));
}

static void test_damaged_records_are_refused(void **state)
{
	static const char *const rows[] = {
		"",
		"tap bxt01234567\n",
		"tap bxtffffffff\nmac 52:54:00:01:02:03\naddress 10.88.0.5\n",
		"tap bxt01234567\nmac 52:54:00:01:02:03\naddress 10.88.0.5\nroute 1\n",
		"tap bxt01234567\nmac 52:54:00:01:02:03\naddress 10.88.0.5\ndoor 80\n",
		"tap bxt01234567\nmac 52:54:00:01:02\naddress 10.88.0.5\n",
		"nonsense\n",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct net_port got = { 0 };
		struct error err = { 0 };

		assert_int_equal(port_parse(rows[i], UUID, &got, &err), -1);
		assert_int_equal(err.kind, ERROR_INVALID);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_box_is_read),
		cmocka_unit_test(test_libvirts_status_file_is_read_too),
		cmocka_unit_test(test_strangers_get_no_entry),
		cmocka_unit_test(test_hostile_boxes_are_refused),
		cmocka_unit_test(test_too_many_doors_are_refused),
		cmocka_unit_test(test_conflicts_name_what_is_taken),
		cmocka_unit_test(test_a_record_is_read_back),
		cmocka_unit_test(test_damaged_records_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
