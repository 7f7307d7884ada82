/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/test.h"

#include "base/json.h"
#include "images/manifest.h"

static void make(struct manifest *m)
{
	struct error err = { 0 };

	*m = (struct manifest){
		.kind = MANIFEST_GOLDEN,
		.template = "blank",
		.user = "dev",
		.release = "trixie",
		.volume = "golden-blank-0123456789abcdef.qcow2",
		.backing = "base-trixie-0123456789abcdef.qcow2",
		.seed = "seed-0123456789abcdef.iso",
		.sha256 = "aa",
		.recipe = "bb",
		.seed_sha256 = "cc",
		.bytes = 5,
		.virtual_bytes = 1ull << 40,
		.agent = "0.1.0",
		.agent_sha256 = "dd",
		.verified = "2.1.0 (Some Agent)",
		.tool = "0.1.0",
		.created = "2026-01-02T03:04:05Z",
	};
	m->source = str_dup("http://deb.debian.org/debian", &err);
	assert_ok(package_vec_add(&m->packages, "bash", "5.2-1+b1", "debian", &err), &err);
	assert_ok(package_vec_add(&m->packages, "@a/b", "1.0.0", "npm", &err), &err);
}

static void test_it_reads_back_as_it_was_written(void **state)
{
	_cleanup_manifest_ struct manifest m = { 0 }, back = { 0 };
	_cleanup_str_ struct str text = STR_INIT;
	struct error err = { 0 };

	(void)state;
	make(&m);
	assert_ok(manifest_render(&m, &text, &err), &err);
	assert_ok(manifest_parse(str_get(&text), text.len, "m", &back, &err), &err);
	assert_int_equal(back.kind, MANIFEST_GOLDEN);
	assert_string_equal(back.template, "blank");
	assert_string_equal(back.user, "dev");
	assert_string_equal(back.volume, m.volume);
	assert_string_equal(back.backing, m.backing);
	assert_string_equal(back.seed, m.seed);
	assert_string_equal(back.seed_sha256, "cc");
	assert_string_equal(back.agent_sha256, "dd");
	assert_string_equal(back.verified, "2.1.0 (Some Agent)");
	assert_string_equal(back.source, m.source);
	assert_int_equal(back.bytes, 5);
	assert_int_equal(back.virtual_bytes, 1ull << 40);
	assert_int_equal(back.packages.len, 2);
	assert_string_equal(back.packages.items[1].name, "@a/b");
	assert_string_equal(back.packages.items[1].from, "npm");
}

/* Replace one text of a good manifest and see it refused. */
static void refused(const char *what, const char *with, const char *why)
{
	_cleanup_manifest_ struct manifest m = { 0 }, back = { 0 };
	_cleanup_str_ struct str text = STR_INIT, bad = STR_INIT;
	struct error err = { 0 };
	const char *at;

	make(&m);
	assert_ok(manifest_render(&m, &text, &err), &err);
	at = strstr(str_get(&text), what);
	assert_non_null(at);
	str_append_len(&bad, str_get(&text), (size_t)(at - str_get(&text)));
	str_append(&bad, with);
	str_append(&bad, at + strlen(what));
	assert_int_equal(manifest_parse(str_get(&bad), bad.len, "m", &back, &err), -1);
	assert_error(&err, ERROR_INVALID, why);
}

static void test_what_is_no_manifest_is_refused(void **state)
{
	(void)state;
	refused("\"schema\": 1", "\"schema\": 2", "m: it has schema 2 and this box understands 1");
	refused("\"kind\": \"golden\"", "\"kind\": \"x\"",
		"m: its kind is neither base nor golden");
	refused("\"golden-blank-0123456789abcdef.qcow2\"", "\"../../etc/golden-x.qcow2\"",
		"m: a name of the form golden-...");
	refused("\"base-trixie-0123456789abcdef.qcow2\"", "\"box-1.qcow2\"",
		"m: a name of the form base-...");
	refused("\"user\": \"dev\"", "\"user\": 7", "m: no text at 'user'");
	refused("\"agent\": {", "\"agemt\": {", "m: no text at 'agent.version'");
	refused("\"user\": \"dev\"",
		"\"user\": \"abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz\"",
		"m: 'user' is too long");
}

static void test_a_newer_one_is_told_from_a_damaged_one(void **state)
{
	static const struct {
		const char *text;
		bool newer;
	} rows[] = { { "{\"schema\": 2}", true }, { "{\"schema\": 1}", false },
		{ "{\"schema\": \"2\"}", false }, { "{}", false }, { "[2]", false },
		{ "{\"schema\": 2", false } };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(
			manifest_is_newer(rows[i].text, strlen(rows[i].text)), rows[i].newer);
}

static void test_the_bill_of_materials_lists_each_package_once(void **state)
{
	_cleanup_manifest_ struct manifest m = { 0 }, base = { 0 };
	const struct manifest *both[] = { &m, &base };
	_cleanup_str_ struct str text = STR_INIT;
	_cleanup_json_ json_t *root = NULL;
	struct error err = { 0 };
	json_t *packages;

	(void)state;
	make(&m);
	make(&base);
	assert_ok(package_vec_add(&base.packages, "libc6", "2:1~x", "debian", &err), &err);
	assert_ok(manifest_sbom(both, 2, &text, &err), &err);
	root = json_parse(str_get(&text), text.len, "sbom", &err);
	assert_non_null(root);
	assert_string_equal(json_peek_text(root, "spdxVersion"), "SPDX-2.3");
	packages = json_object_get(root, "packages");
	assert_int_equal(json_array_size(packages), 3);
	assert_non_null(strstr(str_get(&text), "pkg:deb/debian/bash@5.2-1%2Bb1"));
	assert_non_null(strstr(str_get(&text), "pkg:npm/%40a/b@1.0.0"));
	assert_non_null(strstr(str_get(&text), "pkg:deb/debian/libc6@2%3A1%7Ex"));
	assert_string_equal(
		json_peek_text(json_array_get(packages, 2), "SPDXID"), "SPDXRef-Package-3");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_it_reads_back_as_it_was_written),
		cmocka_unit_test(test_what_is_no_manifest_is_refused),
		cmocka_unit_test(test_a_newer_one_is_told_from_a_damaged_one),
		cmocka_unit_test(test_the_bill_of_materials_lists_each_package_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
