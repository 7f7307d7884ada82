/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/test.h"

#include "images/warm-record.h"

static const char key[] = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

static void make(struct warm_record *r)
{
	struct error err = { 0 };

	*r = (struct warm_record){
		.image = "golden-blank-0123456789abcdef.qcow2",
		.uuid = "00000000-0000-4000-8000-000000000000",
		.cpus = 2,
		.memory = 2ull << 30,
		.disk = 20ull << 30,
		.bytes = 1000000,
		.data_len = 73834,
		.compressed = 0,
		.tool = "0.1.0",
		.created = "2026-01-02T03:04:05Z",
	};
	memcpy(r->key, key, sizeof(key));
	memcpy(r->memory_sha256, key, sizeof(key));
	r->cookie = str_dup("<cookie>\n  <slirpHelper/>\n</cookie>\n", &err);
	assert_non_null(r->cookie);
}

static void test_it_reads_back_as_it_was_written(void **state)
{
	_cleanup_warm_record_ struct warm_record r = { 0 }, back = { 0 };
	_cleanup_str_ struct str text = STR_INIT;
	struct error err = { 0 };

	(void)state;
	make(&r);
	assert_ok(warm_record_render(&r, &text, &err), &err);
	assert_ok(warm_record_parse(str_get(&text), text.len, "r", &back, &err), &err);
	assert_string_equal(back.key, key);
	assert_string_equal(back.image, r.image);
	assert_string_equal(back.memory_sha256, key);
	assert_string_equal(back.layer_sha256, "");
	assert_string_equal(back.uuid, r.uuid);
	assert_string_equal(back.cookie, r.cookie);
	assert_string_equal(back.tool, "0.1.0");
	assert_string_equal(back.created, r.created);
	assert_int_equal(back.cpus, 2);
	assert_int_equal(back.memory, r.memory);
	assert_int_equal(back.disk, r.disk);
	assert_int_equal(back.bytes, r.bytes);
	assert_int_equal(back.data_len, r.data_len);
	assert_int_equal(back.compressed, 0);
}

static void test_without_a_cookie(void **state)
{
	_cleanup_warm_record_ struct warm_record r = { 0 }, back = { 0 };
	_cleanup_str_ struct str text = STR_INIT;
	struct error err = { 0 };

	(void)state;
	make(&r);
	free(r.cookie);
	r.cookie = NULL;
	assert_ok(warm_record_render(&r, &text, &err), &err);
	assert_ok(warm_record_parse(str_get(&text), text.len, "r", &back, &err), &err);
	assert_null(back.cookie);
}

/* Replace a part of a good record's text and see it refused with that message. */
static void refused(const char *part, const char *other, const char *message)
{
	_cleanup_warm_record_ struct warm_record r = { 0 }, back = { 0 };
	_cleanup_str_ struct str text = STR_INIT, bad = STR_INIT;
	struct error err = { 0 };
	const char *at;

	make(&r);
	assert_ok(warm_record_render(&r, &text, &err), &err);
	at = strstr(str_get(&text), part);
	assert_non_null(at);
	str_append_len(&bad, str_get(&text), (size_t)(at - str_get(&text)));
	str_append(&bad, other);
	str_append(&bad, at + strlen(part));
	assert_int_equal(warm_record_parse(str_get(&bad), bad.len, "r", &back, &err), -1);
	assert_error(&err, ERROR_INVALID, message);
	assert_null(back.cookie);
}

static void test_what_is_out_of_bounds_is_refused(void **state)
{
	(void)state;
	refused("\"memory_sha256\": \"0", "\"memory_sha256\": \"x", "'memory_sha256' is no digest");
	refused("\"schema\": 1", "\"schema\": 2",
		"r: the warm image is of schema 2, and only 1 is known");
	refused("\"image\": \"golden-", "\"image\": \"../golden-",
		"r: 'image' names no golden image");
	refused("golden-blank", "golden-/etc", "r: 'image' names no golden image");
	refused("\"key\": \"0", "\"key\": \"X", "r: 'key' is no digest");
	refused("\"cpus\": 2", "\"cpus\": 5000", "r: 'cpus' is out of bounds");
	refused("\"data_length\": 73834", "\"data_length\": 99999999",
		"r: 'data_length' is out of bounds");
	refused("\"data_length\": 73834", "\"data_length\": 1000000", "r: a size is missing");
	refused("\"disk\": 21474836480", "\"disk\": 0", "r: a size is missing");
}

static void test_names(void **state)
{
	char other[DIGEST_HEX];
	struct warm_names names;

	(void)state;
	memcpy(other, key, sizeof(other));
	other[15] = '0';
	warm_names_make("blank", key, 0xabc, &names);
	assert_string_equal(names.layer, "warm-blank-0123456789abcdef-00000abc.qcow2");
	assert_string_equal(names.memory, "warm-blank-0123456789abcdef-00000abc.mem");
	assert_string_equal(names.record, "warm-blank-0123456789abcdef-00000abc.json");
	assert_true(warm_names_fit(&names, "blank", key));
	assert_false(warm_names_fit(&names, "blan", key));
	assert_false(warm_names_fit(&names, "blank", other));
	memset(&names, 0, sizeof(names));
	assert_true(warm_names_of("warm-blank-0123456789abcdef-00000abc.mem", &names));
	assert_string_equal(names.record, "warm-blank-0123456789abcdef-00000abc.json");
	assert_false(warm_names_of("warm-blank-0123456789abcdef-00000abc.img", &names));
	assert_false(warm_names_of("box-blank-0123456789abcdef-00000abc.mem", &names));
	/* a template whose name begins as another's */
	warm_names_make("blank-2", key, 1, &names);
	assert_false(warm_names_fit(&names, "blank", key));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_it_reads_back_as_it_was_written),
		cmocka_unit_test(test_without_a_cookie),
		cmocka_unit_test(test_what_is_out_of_bounds_is_refused),
		cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
