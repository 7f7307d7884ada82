/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/test.h"

#include "base/json.h"

static json_t *parse_ok(const char *text)
{
	struct error err = { 0 };
	json_t *json = json_parse(text, strlen(text), "the test", &err);

	if (!json)
		fail_msg("unexpected error: %s", err.text);
	return json;
}

static void test_parse_refuses_what_is_not_one_strict_document(void **state)
{
	static const char *const bad[] = { "", "{", "{} {}", "{\"a\":1,\"a\":2}", "7", "{'a':1}",
		"{\"a\":\"\xff\"}", "{\"a\":\"b\\u0000c\"}" };
	struct error err = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		assert_null(json_parse(bad[i], strlen(bad[i]), "the manifest", &err));
		assert_error(&err, ERROR_INVALID, "cannot read the manifest as JSON: line ");
		error_clear(&err);
	}
}

static void test_parse_escapes_what_the_reason_quotes(void **state)
{
	const char *text = "{\"a\": \x1b]52;c;x\a}";
	struct error err = { 0 };

	(void)state;
	assert_null(json_parse(text, strlen(text), "it", &err));
	assert_null(strchr(err.text, 0x1b));
}

static void test_parse_survives_deep_nesting(void **state)
{
	_cleanup_str_ struct str text = STR_INIT;
	struct error err = { 0 };

	(void)state;
	for (int i = 0; i < 100000; i++)
		str_append_char(&text, '[');
	assert_null(json_parse(str_get(&text), text.len, "it", &err));
	assert_error(&err, ERROR_INVALID, "depth");
}

static void test_getters_name_the_key_and_demand_the_type(void **state)
{
	_cleanup_json_ json_t *json = parse_ok(
		"{\"t\":\"x\",\"n\":7,\"m\":-1,\"b\":true,\"l\":[1],\"o\":{}}");
	struct error err = { 0 };
	const char *text = NULL;
	json_t *inner = NULL;
	uint64_t number = 0;
	bool flag = false;

	(void)state;
	assert_ok(json_get_text(json, "t", &text, &err), &err);
	assert_string_equal(text, "x");
	assert_ok(json_get_u64(json, "n", &number, &err), &err);
	assert_int_equal(number, 7);
	assert_ok(json_get_bool(json, "b", &flag, &err), &err);
	assert_true(flag);
	assert_ok(json_get_array(json, "l", &inner, &err), &err);
	assert_ok(json_get_object(json, "o", &inner, &err), &err);
	assert_string_equal(json_peek_text(json, "t"), "x");
	assert_null(json_peek_text(json, "n"));

	assert_int_equal(json_get_text(json, "gone", &text, &err), -1);
	assert_error(&err, ERROR_INVALID, "key 'gone' is missing");
	assert_int_equal(json_get_text(json, "n", &text, &err), -1);
	assert_error(&err, ERROR_INVALID, "key 'n' is not a text");
	assert_int_equal(json_get_u64(json, "m", &number, &err), -1);
	assert_error(&err, ERROR_INVALID, "negative");
	assert_int_equal(json_get_u64(json, "t", &number, &err), -1);
	assert_error(&err, ERROR_INVALID, "key 't' is not a whole number");
	assert_int_equal(json_get_array(json, "o", &inner, &err), -1);
	assert_error(&err, ERROR_INVALID, "key 'o' is not a list");
	assert_string_equal(text, "x");
	assert_int_equal(number, 7);
}

static void test_set_text_takes_any_bytes(void **state)
{
	_cleanup_json_ json_t *json = json_object();
	_cleanup_str_ struct str text = STR_INIT;
	struct error err = { 0 };

	(void)state;
	assert_ok(json_set_text(json, "bad", "a\xff\x1b", &err), &err);
	assert_ok(json_set_text(json, "none", NULL, &err), &err);
	assert_ok(json_set_u64(json, "n", 5, &err), &err);
	assert_ok(json_set_bool(json, "b", false, &err), &err);
	assert_ok(json_render(json, true, &text, &err), &err);
	assert_string_equal(str_get(&text),
		"{\"bad\":\"a\\\\xff\\\\x1b\",\"none\":null,\"n\":5,\"b\":false}\n");
	assert_int_equal(json_set_u64(json, "n", UINT64_MAX, &err), -1);
	assert_error(&err, ERROR_INVALID, "'n' is too large");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parse_refuses_what_is_not_one_strict_document),
		cmocka_unit_test(test_parse_escapes_what_the_reason_quotes),
		cmocka_unit_test(test_parse_survives_deep_nesting),
		cmocka_unit_test(test_getters_name_the_key_and_demand_the_type),
		cmocka_unit_test(test_set_text_takes_any_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
