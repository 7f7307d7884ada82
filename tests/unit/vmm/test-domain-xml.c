/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/golden.h"

#include "vmm/domain-xml.h"

#define UUID "01234567-89ab-4cde-8f01-23456789abcd"

static struct box_meta meta = {
	.schema = 1,
	.template = "blank",
	.user = "dev",
	.created = 1767323045,
	.image = "golden-blank-0123456789abcdef.qcow2",
	.address = 0x0a580002,
	.tap = "bxt01234567",
};

static struct domain_spec sample(void)
{
	return (struct domain_spec){
		.name = "web",
		.uuid = UUID,
		.instance = "i-" UUID,
		.cpus = 2,
		.memory = 2ull << 30,
		.disk = "/var/lib/libvirt/images/box/box-" UUID "-1.qcow2",
		.seed = "/var/lib/libvirt/images/box/seed-0123456789abcdef.iso",
		.mac = "52:54:00:89:ab:cd",
		.tap = "bxt01234567",
		.meta = &meta,
	};
}

static void compare(const struct domain_spec *spec, const char *golden)
{
	struct error err = { 0 };
	_cleanup_free_ char *text = domain_xml(spec, &err);

	if (!text)
		fail_msg("unexpected error: %s", err.text);
	assert_golden(golden, text);
}

static void test_mint_under_kvm(void **state)
{
	struct domain_spec s = sample();

	(void)state;
	compare(&s, "domain-xml/mint-kvm.xml");
}

static void test_clone_under_tcg_with_doors(void **state)
{
	struct error err = { 0 };
	struct domain_spec s = sample();
	_cleanup_meta_ struct box_meta clone = { 0 };

	(void)state;
	assert_ok(meta_copy(&meta, &clone, &err), &err);
	clone.clone = true;
	clone.identity = META_IDENTITY_PENDING;
	strcpy(clone.source, "web/logged-in");
	strcpy(clone.operation.name, "creating");
	strcpy(clone.operation.holder, "ann@desk pid 71");
	clone.operation.since = 1767323045;
	assert_ok(meta_doors_push(&clone.doors, (struct meta_door){ 80, 8080 }, &err), &err);
	s.tcg = true;
	s.cpus = 4;
	s.memory = 8ull << 30;
	s.meta = &clone;
	compare(&s, "domain-xml/clone-tcg.xml");
}

static void refuses(const struct domain_spec *spec, const char *part)
{
	struct error err = { 0 };

	assert_null(domain_xml(spec, &err));
	if (!strstr(err.text, part))
		fail_msg("text '%s', wanted '%s'", err.text, part);
}

static void test_out_of_bounds_is_refused(void **state)
{
	struct domain_spec s;

	(void)state;
	s = sample();
	s.name = "Web";
	refuses(&s, "Web");
	s = sample();
	s.uuid = "01234567-89AB-4cde-8f01-23456789abcd";
	refuses(&s, "not a UUID");
	s = sample();
	s.instance = "a;h=other";
	refuses(&s, "not an instance-id");
	s = sample();
	s.instance = "";
	refuses(&s, "not an instance-id");
	s = sample();
	s.cpus = 0;
	refuses(&s, "cannot have 0 CPUs");
	s = sample();
	s.memory = (64 << 20) - 1024;
	refuses(&s, "at least 64MiB");
	s = sample();
	s.disk = "disk.qcow2";
	refuses(&s, "absolute paths");
	s = sample();
	s.tap = "eth0";
	refuses(&s, "not a tap of a box");
	s = sample();
	s.mac = "52:54:00:89:ab";
	refuses(&s, "MAC");
}

static void test_names_follow_from_the_uuid(void **state)
{
	char tap[DOMAIN_TAP_TEXT], mac[DOMAIN_MAC_TEXT];

	(void)state;
	domain_tap(UUID, tap);
	domain_mac(UUID, mac);
	assert_string_equal(tap, "bxt01234567");
	assert_string_equal(mac, "52:54:00:89:ab:cd");
}

static void test_uuids_are_version_4_and_differ(void **state)
{
	struct error err = { 0 };
	char a[DOMAIN_UUID_TEXT], b[DOMAIN_UUID_TEXT];

	(void)state;
	for (int i = 0; i < 100; i++) {
		struct domain_spec s = sample();
		_cleanup_free_ char *text = NULL;

		assert_ok(domain_uuid(a, &err), &err);
		assert_ok(domain_uuid(b, &err), &err);
		assert_string_not_equal(a, b);
		assert_int_equal(a[14], '4');
		assert_non_null(strchr("89ab", a[19]));
		s.uuid = a;
		text = domain_xml(&s, &err);
		assert_non_null(text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mint_under_kvm),
		cmocka_unit_test(test_clone_under_tcg_with_doors),
		cmocka_unit_test(test_out_of_bounds_is_refused),
		cmocka_unit_test(test_names_follow_from_the_uuid),
		cmocka_unit_test(test_uuids_are_version_4_and_differ),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
