/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/test.h"

#include "base/yaml.h"
#include "seed/text.h"

static struct seed_part part(const char *text)
{
	return (struct seed_part){ .name = "u.yaml", .text = text, .len = strlen(text) };
}

static void assert_kind(const char *text, enum seed_part_kind kind)
{
	struct seed_part p = part(text);
	struct error err = { 0 };

	assert_ok(seed_part_check(&p, &err), &err);
	assert_int_equal(p.kind, kind);
}

static void assert_refused(const char *text, const char *why)
{
	struct seed_part p = part(text);
	struct error err = { 0 };

	assert_int_equal(seed_part_check(&p, &err), -1);
	assert_error(&err, ERROR_INVALID, why);
}

static void test_what_cloud_init_takes_is_taken(void **state)
{
	(void)state;
	assert_kind("#cloud-config\nruncmd: [ls]\n", SEED_PART_CLOUD_CONFIG);
	assert_kind("#cloud-config\n", SEED_PART_CLOUD_CONFIG);
	assert_kind("#cloud-config \r\nruncmd: [ls]\n", SEED_PART_CLOUD_CONFIG);
	assert_kind("#!/bin/sh\ntrue\n", SEED_PART_SCRIPT);
	assert_kind("", SEED_PART_NONE);
	assert_kind(" \n\n", SEED_PART_NONE);
}

static void test_what_cloud_init_rejects_is_refused_with_file_and_line(void **state)
{
	struct seed_part nul = { .name = "u.yaml", .text = "#cloud-config\na: \0\n", .len = 19 };
	struct error err = { 0 };

	(void)state;
	assert_refused("runcmd: [ls]\n", "u.yaml:1: cloud-init takes");
	assert_refused("#cloud-configs\na: 1\n", "u.yaml:1: cloud-init takes");
	assert_refused("#cloud-config\n- a\n", "u.yaml:2: a #cloud-config must be a mapping");
	assert_refused("#cloud-config\na: [1\nb: 2\n", "u.yaml:3");
	assert_refused("#cloud-config\na: 1\na: 2\n", "u.yaml:3: key 'a' is repeated");
	assert_int_equal(seed_part_check(&nul, &err), -1);
	assert_error(&err, ERROR_INVALID, "NUL byte");
}

static char *join(const char *a, const char *b)
{
	struct seed_part base = part(a), own = part(b);
	const struct seed_part *parts[] = { &base, NULL, &own };
	struct error err = { 0 };
	char *text;

	assert_ok(seed_part_check(&base, &err), &err);
	assert_ok(seed_part_check(&own, &err), &err);
	text = seed_user_data(parts, ARRAY_LEN(parts), &err);
	assert_non_null(text);
	return text;
}

static void test_one_part_stands_as_it_is(void **state)
{
	_cleanup_free_ char *own = join("", "#cloud-config\nhostname: a\n");
	_cleanup_free_ char *base = join("#!/bin/sh\n:\n", "");
	_cleanup_free_ char *none = join("", "");

	(void)state;
	assert_string_equal(own, "#cloud-config\nhostname: a\n");
	assert_string_equal(base, "#!/bin/sh\n:\n");
	assert_string_equal(none, "#cloud-config\n{}\n");
}

static void test_two_parts_become_a_message_in_order(void **state)
{
	/* The first boundary that would be chosen stands in the text, so it must not be. */
	_cleanup_free_ char *text = join(
		"#cloud-config\nhostname: box-part-0", "#!/bin/sh\ntrue\n");

	(void)state;
	assert_string_equal(text,
		"Content-Type: multipart/mixed; boundary=\"box-part-1\"\nMIME-Version: 1.0\n\n"
		"--box-part-1\nMIME-Version: 1.0\nContent-Type: text/cloud-config; charset=\"utf-8\"\n\n"
		"#cloud-config\nhostname: box-part-0\n"
		"--box-part-1\nMIME-Version: 1.0\nContent-Type: text/x-shellscript; charset=\"utf-8\"\n\n"
		"#!/bin/sh\ntrue\n"
		"--box-part-1--\n");
}

static void test_meta_data_quotes_what_needs_it(void **state)
{
	_cleanup_(yml_free_p) struct yml *doc = NULL;
	_cleanup_free_ char *text = NULL;
	struct error err = { 0 };

	(void)state;
	text = seed_meta_data("i-1", "no", &err);
	assert_non_null(text);
	doc = yml_parse(text, strlen(text), "meta-data", &err);
	assert_non_null(doc);
	assert_string_equal(yml_scalar(yml_find(yml_root(doc), "local-hostname")), "no");
	assert_false(yml_is_plain(yml_find(yml_root(doc), "local-hostname")));
}

static void test_network_config_is_dhcp_by_mac(void **state)
{
	_cleanup_(yml_free_p) struct yml *doc = NULL;
	_cleanup_free_ char *text = NULL;
	struct yml_node box;
	struct error err = { 0 };

	(void)state;
	text = seed_network_config(&err);
	assert_non_null(text);
	doc = yml_parse(text, strlen(text), "network-config", &err);
	assert_non_null(doc);
	box = yml_find(yml_find(yml_root(doc), "ethernets"), "box");
	assert_string_equal(yml_scalar(yml_find(box, "dhcp4")), "true");
	assert_string_equal(yml_scalar(yml_find(box, "dhcp6")), "false");
	assert_string_equal(yml_scalar(yml_find(box, "dhcp-identifier")), "mac");
	assert_int_equal(yml_kind(yml_find(box, "link-local")), YML_LIST);
	assert_int_equal(yml_len(yml_find(box, "link-local")), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_cloud_init_takes_is_taken),
		cmocka_unit_test(test_what_cloud_init_rejects_is_refused_with_file_and_line),
		cmocka_unit_test(test_one_part_stands_as_it_is),
		cmocka_unit_test(test_two_parts_become_a_message_in_order),
		cmocka_unit_test(test_meta_data_quotes_what_needs_it),
		cmocka_unit_test(test_network_config_is_dhcp_by_mac),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
