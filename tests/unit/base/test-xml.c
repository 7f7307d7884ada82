/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/test.h"

#include <stdio.h>

#include "base/str.h"
#include "base/xml.h"

static struct xml *parse(const char *text, struct error *err)
{
	return xml_parse(text, strlen(text), "the test", err);
}

static void test_writer_escapes_and_nests(void **state)
{
	struct error err = { 0 };
	_cleanup_(xml_writer_free_p) struct xml_writer *w = xml_writer_new(&err);
	_cleanup_free_ char *text = NULL;

	(void)state;
	assert_non_null(w);
	xml_open(w, "a", "k", "\"<&\n", NULL);
	xml_attr(w, "n", "%d", 7);
	xml_empty(w, "b", "x", "y", NULL);
	xml_leaf(w, "c", "%s", "1 < 2 & 3");
	xml_open(w, "p:d", "xmlns:p", "urn:p", NULL);
	text = xml_finish(w, &err);
	assert_non_null(text);
	assert_string_equal(text, "<a k=\"&quot;&lt;&amp;&#10;\" n=\"7\">\n"
				  "  <b x=\"y\"/>\n"
				  "  <c>1 &lt; 2 &amp; 3</c>\n"
				  "  <p:d xmlns:p=\"urn:p\"/>\n"
				  "</a>\n");
}

static void refuses_to_write(const char *value)
{
	struct error err = { 0 };
	_cleanup_(xml_writer_free_p) struct xml_writer *w = xml_writer_new(&err);

	xml_leaf(w, "a", "%s", value);
	xml_empty(w, "b", NULL);
	assert_null(xml_finish(w, &err));
	assert_error(&err, ERROR_INVALID, "control character");
}

static void test_writer_refuses_what_xml_cannot_carry(void **state)
{
	(void)state;
	refuses_to_write("bell \a");
	refuses_to_write("\xff\xfe");
	refuses_to_write("\xed\xa0\x80"); /* a surrogate */
	refuses_to_write("\xef\xbf\xbf"); /* U+FFFF */
}

static void test_unbalanced_writer_fails(void **state)
{
	struct error err = { 0 };
	_cleanup_(xml_writer_free_p) struct xml_writer *w = xml_writer_new(&err);

	(void)state;
	xml_open(w, "a", NULL);
	xml_close(w);
	xml_close(w);
	xml_attr(w, "late", "1");
	assert_null(xml_finish(w, &err));
	assert_error(&err, ERROR_FAILED, "cannot write XML");
}

static const char sample[] = "<domain xmlns:b='urn:b'><name>web</name><b:n>42</b:n>"
			     "<d i='1'/><d i='2'><e/></d></domain>";

static void test_reader_has_three_outcomes(void **state)
{
	struct error err = { 0 };
	_cleanup_(xml_free_p) struct xml *x = parse(sample, &err);
	_cleanup_free_ char *name = NULL;
	char buf[3] = "--";
	uint64_t n = 9;

	(void)state;
	assert_non_null(x);
	assert_int_equal(xml_namespace(x, "q", "urn:b", &err), 0);
	assert_int_equal(xml_str(x, NULL, "/domain/name", 10, &name, &err), 1);
	assert_string_equal(name, "web");
	assert_int_equal(xml_copy(x, NULL, "/domain/title", buf, sizeof(buf), &err), 0);
	assert_string_equal(buf, "--");
	assert_int_equal(xml_copy(x, NULL, "/domain/name", buf, sizeof(buf), &err), -1);
	assert_error(&err, ERROR_INVALID, "'/domain/name' in the test is longer than 2 bytes");
	assert_string_equal(buf, "--");
	assert_int_equal(xml_u64(x, NULL, "/domain/q:n", 42, &n, &err), 1);
	assert_int_equal(n, 42);
	assert_int_equal(xml_u64(x, NULL, "/domain/q:n", 41, &n, &err), -1);
	assert_error(&err, ERROR_INVALID, "not a number of at most 41");
	assert_int_equal(xml_u64(x, NULL, "/domain/name", 41, &n, &err), -1);
	assert_int_equal(xml_has(x, NULL, "/domain/d/e", &err), 1);
	assert_int_equal(xml_has(x, NULL, "/domain/e", &err), 0);
	assert_int_equal(xml_has(x, NULL, "/domain[", &err), -1);
}

static void test_nodes_are_walked_in_order(void **state)
{
	struct error err = { 0 };
	_cleanup_(xml_free_p) struct xml *x = parse(sample, &err);
	_cleanup_xml_nodes_ struct xml_nodes nodes = { 0 };
	uint64_t sum = 0, i = 0;

	(void)state;
	assert_ok(xml_nodes(x, NULL, "/domain/d", &nodes, &err), &err);
	assert_int_equal(nodes.len, 2);
	xml_foreach(n, &nodes) {
		assert_int_equal(xml_u64(x, n, "@i", 9, &i, &err), 1);
		sum = sum * 10 + i;
	}
	assert_int_equal(sum, 12);
}

static void refuses_to_read(const char *text, const char *part)
{
	struct error err = { 0 };

	assert_null(parse(text, &err));
	assert_error(&err, ERROR_INVALID, part);
}

static void test_hostile_documents_are_refused(void **state)
{
	_cleanup_str_ struct str deep = STR_INIT;
	_cleanup_free_ char *big = calloc(1, XML_MAX_BYTES + 2);
	struct error err = { 0 };

	(void)state;
	refuses_to_read("", "the test is not well-formed XML");
	refuses_to_read("<a>\n<b>\n</a>", "line 3");
	refuses_to_read("<!DOCTYPE a [<!ENTITY e 'x'>]><a k='&e;'>&e;</a>", "document type");
	refuses_to_read("<!DOCTYPE a SYSTEM 'file:///etc/passwd'><a/>", "document type");
	refuses_to_read("<a>\x01</a>", "not well-formed");
	for (int i = 0; i < 1000; i++)
		str_append(&deep, "<a>");
	refuses_to_read(str_get(&deep), "not well-formed");
	memset(big, ' ', XML_MAX_BYTES + 1);
	assert_null(xml_parse(big, XML_MAX_BYTES + 1, "the test", &err));
	assert_error(&err, ERROR_INVALID, "the test is too long");
	/* UTF-16 would carry a document type past a search for the text */
	assert_null(xml_parse("\xff\xfe<\0a\0/\0>\0", 10, "the test", &err));
	assert_error(&err, ERROR_INVALID, "not well-formed");
}

static void test_changes_keep_the_rest(void **state)
{
	struct error err = { 0 };
	_cleanup_(xml_free_p) struct xml *x = parse(sample, &err);
	_cleanup_xml_nodes_ struct xml_nodes d = { 0 };
	_cleanup_xml_nodes_ struct xml_nodes name = { 0 };
	_cleanup_free_ char *text = NULL;

	(void)state;
	assert_ok(xml_nodes(x, NULL, "/domain/d", &d, &err), &err);
	assert_ok(xml_nodes(x, NULL, "/domain/name", &name, &err), &err);
	assert_ok(xml_set_attr(x, d.items[0], "i", "<3>", &err), &err);
	assert_ok(xml_set_text(x, name.items[0], "a&b", &err), &err);
	assert_ok(xml_insert(x, d.items[0], "<new k='v'/>", &err), &err);
	assert_int_equal(xml_insert(x, d.items[0], "<new", &err), -1);
	assert_int_equal(xml_set_attr(x, d.items[0], "i", "\x01", &err), -1);
	xml_remove(x, d.items[1]);
	text = xml_dump(x, &err);
	assert_non_null(text);
	assert_non_null(strstr(text, "<domain xmlns:b=\"urn:b\"><name>a&amp;b</name><b:n>42</b:n>"
				     "<d i=\"&lt;3&gt;\"><new k=\"v\"/></d></domain>"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_writer_escapes_and_nests),
		cmocka_unit_test(test_writer_refuses_what_xml_cannot_carry),
		cmocka_unit_test(test_unbalanced_writer_fails),
		cmocka_unit_test(test_reader_has_three_outcomes),
		cmocka_unit_test(test_nodes_are_walked_in_order),
		cmocka_unit_test(test_hostile_documents_are_refused),
		cmocka_unit_test(test_changes_keep_the_rest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
