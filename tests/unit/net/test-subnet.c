/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/test.h"

#include <stdio.h>

#include "base/str.h"
#include "net/subnet.h"

/* A host as lists of its addresses, routes and routers; prefix 0 ends it. */
static void fill(struct host_nets *nets, const struct host_net *rows)
{
	struct error err = { 0 };

	for (; rows->dev[0]; rows++)
		assert_ok(host_nets_push(nets, *rows, &err), &err);
}

static const struct host_net plain_host[] = {
	{ 0x7f000000, 8, HOST_ADDRESS, "lo" },
	{ 0xc0a80100, 24, HOST_ADDRESS, "eth0" },
	{ 0, 0, HOST_ROUTE, "eth0" },
	{ 0xc0a80101, 32, HOST_GATEWAY, "eth0" },
	{ 0xac110000, 16, HOST_ADDRESS, "docker0" },
	{ 0 },
};

static const struct host_net inside_a_box[] = {
	{ 0x0a580000, 24, HOST_ADDRESS, "ens1" },
	{ 0, 0, HOST_ROUTE, "ens1" },
	{ 0x0a580001, 32, HOST_GATEWAY, "ens1" },
	{ 0x0a590000, 16, HOST_ROUTE, "wg0" },
	{ 0 },
};

static const struct host_net half_default_vpn[] = {
	{ 0xc0a80100, 24, HOST_ADDRESS, "eth0" },
	{ 0, 1, HOST_ROUTE, "tun0" },
	{ 0x80000000, 1, HOST_ROUTE, "tun0" },
	{ 0 },
};

static const struct host_net company_vpn[] = {
	{ 0x0a000000, 8, HOST_ROUTE, "wg0" },
	{ 0 },
};

static const struct host_net far_gateway[] = {
	{ 0, 0, HOST_ROUTE, "eth0" },
	{ 0x0a58007f, 32, HOST_GATEWAY, "eth0" }, /* on-link router, as some clouds have it */
	{ 0 },
};

static const struct host_net already_set_up[] = {
	{ 0xc0a80100, 24, HOST_ADDRESS, "eth0" },
	{ 0x0a580000, 24, HOST_ADDRESS, NET_BRIDGE },
	{ 0x0a580000, 24, HOST_ROUTE, NET_BRIDGE },
	{ 0 },
};

static const struct net_config ours = { .subnet = 0x0a580000, .prefix = 24 };

static const struct choice {
	const struct host_net *host;
	const char *pin;
	const struct net_config *existing;
	const char *subnet; /* NULL: refused ... */
	enum error_kind kind;
	const char *text; /* ... with this */
} choices[] = {
	{ plain_host, NULL, NULL, "10.88.0.0/24", 0, NULL },
	{ plain_host, "", NULL, "10.88.0.0/24", 0, NULL },
	{ plain_host, "172.30.4.0/22", NULL, "172.30.4.0/22", 0, NULL },
	{ inside_a_box, NULL, NULL, "10.90.0.0/24", 0, NULL },
	{ half_default_vpn, NULL, NULL, "10.88.0.0/24", 0, NULL },
	{ far_gateway, NULL, NULL, "10.89.0.0/24", 0, NULL },
	{ already_set_up, NULL, &ours, "10.88.0.0/24", 0, NULL },
	{ already_set_up, "10.88.0.0/24", &ours, "10.88.0.0/24", 0, NULL },
	{ already_set_up, NULL, NULL, "10.88.0.0/24", 0, NULL },

	{ company_vpn, NULL, NULL, NULL, ERROR_BUSY,
		"no subnet of 10.88.0.0/24 to 10.127.0.0/24 is free (wg0 has a route to 10.0.0.0/8)" },
	{ inside_a_box, "10.88.0.0/24", NULL, NULL, ERROR_BUSY,
		"subnet '10.88.0.0/24' is in use: ens1 has an address in 10.88.0.0/24" },
	{ far_gateway, "10.88.0.0/25", NULL, NULL, ERROR_BUSY, "eth0 has the router 10.88.0.127" },
	{ inside_a_box, "10.89.4.0/24", NULL, NULL, ERROR_BUSY, "wg0 has a route to 10.89.0.0/16" },
	{ inside_a_box, NULL, &ours, NULL, ERROR_BUSY, "free it, or \"box teardown-host\"" },
	{ already_set_up, "10.99.0.0/24", &ours, NULL, ERROR_BUSY,
		"this host is set up with 10.88.0.0/24" },
	{ plain_host, "10.88.0.1/24", NULL, NULL, ERROR_USAGE, "BOX_SUBNET" },
	{ plain_host, "10.88.0.0", NULL, NULL, ERROR_USAGE, "BOX_SUBNET" },
	{ plain_host, "10.0.0.0/8", NULL, NULL, ERROR_USAGE, "from /16 to /28" },
	{ plain_host, "10.88.0.0/29", NULL, NULL, ERROR_USAGE, "from /16 to /28" },
	{ plain_host, "8.8.8.0/24", NULL, NULL, ERROR_USAGE, "is not private" },
	{ plain_host, "169.254.0.0/16", NULL, NULL, ERROR_USAGE, "is not private" },
	{ plain_host, "172.0.0.0/16", NULL, NULL, ERROR_USAGE, "is not private" },
};

static void test_choice_of_the_subnet(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(choices); i++) {
		const struct choice *c = &choices[i];
		_cleanup_(host_nets_done) struct host_nets nets = VEC_INIT;
		struct net_config got = { .n_dns = 7 };
		struct error err = { 0 };
		char text[16], full[32];

		fill(&nets, c->host);
		if (!c->subnet) {
			assert_int_equal(subnet_choose(&nets, c->pin, c->existing, &got, &err), -1);
			assert_error(&err, c->kind, c->text);
			assert_int_equal(got.prefix, 0);
			continue;
		}
		assert_ok(subnet_choose(&nets, c->pin, c->existing, &got, &err), &err);
		snprintf(
			full, sizeof(full), "%s/%u", net_format_ipv4(got.subnet, text), got.prefix);
		assert_string_equal(full, c->subnet);
		assert_int_equal(got.n_dns, 7);
	}
}

static void test_names_of_interfaces_are_escaped(void **state)
{
	struct host_net net = { 0x0a580000, 24, HOST_ADDRESS, "a\x1b[31m" };
	_cleanup_str_ struct str text = STR_INIT;

	(void)state;
	subnet_describe(&net, &text);
	assert_string_equal(str_get(&text), "a\\x1b[31m has an address in 10.88.0.0/24");
}

static void test_this_host_can_be_read(void **state)
{
	_cleanup_(host_nets_done) struct host_nets nets = VEC_INIT;
	struct error err = { 0 };
	bool loopback = false;

	(void)state;
	assert_ok(subnet_read_host(&nets, &err), &err);
	vec_foreach(struct host_net, n, &nets)
		loopback = loopback || (n->kind == HOST_ADDRESS && n->addr == 0x7f000000);
	assert_true(loopback);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_choice_of_the_subnet),
		cmocka_unit_test(test_names_of_interfaces_are_escaped),
		cmocka_unit_test(test_this_host_can_be_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
