/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/test.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/str.h"
#include "tests/unit/vmm/sample-meta.h"
#include "vmm/metadata.h"

static void assert_same(const struct box_meta *a, const struct box_meta *b)
{
	assert_int_equal(a->schema, b->schema);
	assert_string_equal(a->template, b->template);
	assert_string_equal(a->user, b->user);
	assert_int_equal(a->clone, b->clone);
	assert_string_equal(a->source, b->source);
	assert_int_equal(a->created, b->created);
	assert_string_equal(a->image, b->image);
	assert_string_equal(a->digest, b->digest);
	assert_string_equal(a->agent, b->agent);
	assert_int_equal(a->address, b->address);
	assert_string_equal(a->tap, b->tap);
	assert_int_equal(a->identity, b->identity);
	assert_memory_equal(&a->operation, &b->operation, sizeof(a->operation));
	assert_int_equal(a->doors.len, b->doors.len);
	assert_memory_equal(
		a->doors.items, b->doors.items, a->doors.len * sizeof(struct meta_door));
	assert_int_equal(a->snapshots.len, b->snapshots.len);
	for (size_t i = 0; i < a->snapshots.len; i++) {
		assert_string_equal(a->snapshots.items[i].label, b->snapshots.items[i].label);
		assert_string_equal(a->snapshots.items[i].layer, b->snapshots.items[i].layer);
		assert_int_equal(a->snapshots.items[i].created, b->snapshots.items[i].created);
		assert_int_equal(a->snapshots.items[i].quiesced, b->snapshots.items[i].quiesced);
		assert_string_equal(a->snapshots.items[i].memory, b->snapshots.items[i].memory);
	}
}

static void test_round_trip_as_libvirt_gives_it(void **state)
{
	struct error err = { 0 };
	_cleanup_meta_ struct box_meta m = { 0 };
	_cleanup_meta_ struct box_meta back = { 0 };
	_cleanup_free_ char *text = NULL;

	(void)state;
	sample_meta(&m);
	text = meta_format(&m, &err);
	assert_non_null(text);
	assert_null(strstr(text, "xmlns"));
	assert_ok(meta_parse(text, &back, &err), &err);
	assert_same(&m, &back);
}

static void test_round_trip_in_a_domain(void **state)
{
	struct error err = { 0 };
	_cleanup_meta_ struct box_meta m = { 0 };
	_cleanup_meta_ struct box_meta back = { 0 };
	_cleanup_(xml_writer_free_p) struct xml_writer *w = xml_writer_new(&err);
	_cleanup_(xml_free_p) struct xml *x = NULL;
	_cleanup_free_ char *text = NULL;

	(void)state;
	sample_meta(&m);
	xml_open(w, "domain", NULL);
	xml_open(w, "metadata", NULL);
	meta_write(&m, w);
	text = xml_finish(w, &err);
	assert_non_null(text);
	assert_non_null(strstr(text, "<box:box xmlns:box=\"urn:box:domain\" schema=\"1\">"));
	assert_non_null(strstr(text, "<box:address>10.88.0.2</box:address>"));
	assert_non_null(strstr(text, "<box:door port=\"8080\" host=\"18080\"/>"));
	x = xml_parse(text, strlen(text), "t", &err);
	assert_int_equal(meta_parse_domain(x, &back, &err), 1);
	assert_same(&m, &back);
}

static void test_copy_is_deep(void **state)
{
	struct error err = { 0 };
	_cleanup_meta_ struct box_meta m = { 0 };
	_cleanup_meta_ struct box_meta copy = { 0 };

	(void)state;
	sample_meta(&m);
	assert_ok(meta_copy(&m, &copy, &err), &err);
	assert_same(&m, &copy);
	assert_ptr_not_equal(m.doors.items, copy.doors.items);
	assert_non_null(meta_snapshot_find(&copy, "one.b"));
	assert_null(meta_snapshot_find(&copy, "ONE"));
}

static void test_a_domain_without_the_mark_is_not_ours(void **state)
{
	static const char *const foreign[] = {
		"<domain/>",
		"<domain><metadata><box schema='1'/></metadata></domain>", /* no namespace */
		"<domain><metadata><b:box xmlns:b='urn:other' schema='1'/></metadata></domain>",
		("<domain><devices><metadata><b:box xmlns:b='urn:box:domain' schema='1'/></metadata>"
		 "</devices></domain>"),
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(foreign); i++) {
		struct error err = { 0 };
		struct box_meta m = { 0 };
		_cleanup_(xml_free_p) struct xml *x = xml_parse(
			foreign[i], strlen(foreign[i]), "t", &err);

		assert_int_equal(meta_parse_domain(x, &m, &err), 0);
	}
}

static void refuses(const char *inner, const char *part)
{
	struct error err = { 0 };
	struct box_meta m = { 0 };
	_cleanup_free_ char *text = str_format(&err, "<box schema='1'>%s</box>", inner);

	assert_int_equal(meta_parse(text, &m, &err), -1);
	assert_error(&err, ERROR_INVALID, part);
	assert_null(m.doors.items);
}

static void test_hostile_values_are_refused(void **state)
{
	_cleanup_str_ struct str many = STR_INIT;

	(void)state;
	for (int i = 0; i < META_DOORS_MAX + 1; i++)
		str_append(&many, "<door port='1' host='2'/>");
	refuses(str_get(&many), "lists more than 64 doors");
	refuses("<template>../etc</template>", "characters that may not be there");
	refuses("<template>-rf</template>", "characters that may not be there");
	refuses("<user>a&#9;b</user>", "characters that may not be there");
	refuses("<agent>\xc2\x9b</agent>", "characters that may not be there");
	refuses("<user>aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa</user>", "longer than 32");
	refuses("<origin source='a/b/c'>clone</origin>", "characters that may not be there");
	refuses("<origin>other</origin>", "none of mint, clone");
	refuses("<created>yesterday</created>", "not a time like");
	refuses("<created>2026-01-02T03:04:05Z;</created>", "not a time like");
	refuses("<address>10.88.0.256</address>", "address");
	refuses("<door port='0' host='80'/>", "lacks a port");
	refuses("<door port='80' host='65536'/>", "not a number of at most 65535");
	refuses("<door port='80'/>", "lacks a port");
	refuses("<snapshot label='a'/>", "lacks its label or layer");
	refuses("<snapshot label='a' layer='b/c' quiesced='no'/>", "characters that may");
	refuses("<snapshot label='a' layer='b'/><snapshot label='a' layer='c'/>", "listed twice");
	refuses("<operation name='x' since='now'/>", "not a time like");
}

static void test_no_schema_or_other_root_is_refused(void **state)
{
	struct error err = { 0 };
	struct box_meta m = { 0 };

	(void)state;
	assert_int_equal(meta_parse("<box/>", &m, &err), -1);
	assert_error(&err, ERROR_INVALID, "no schema number");
	assert_int_equal(meta_parse("<cage schema='1'/>", &m, &err), -1);
	assert_error(&err, ERROR_INVALID, "no box element");
	assert_int_equal(meta_parse("<box schema='-1'/>", &m, &err), -1);
	assert_error(&err, ERROR_INVALID, "not a number");
}

static void test_newer_schema_is_shown_and_not_changed(void **state)
{
	struct error err = { 0 };
	_cleanup_meta_ struct box_meta m = { 0 };

	(void)state;
	assert_ok(meta_parse("<box schema='2'><template>new</template><origin>beamed</origin>"
			     "<address>10.88.0.9</address></box>",
			  &m, &err),
		&err);
	assert_string_equal(m.template, "new");
	assert_int_equal(m.address, 0x0a580009);
	assert_int_equal(err.kind, ERROR_NONE);
	assert_int_equal(meta_check_writable(&m, "web", &err), -1);
	assert_error(
		&err, ERROR_INVALID, "cannot change box 'web': a newer version of box made it");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip_as_libvirt_gives_it),
		cmocka_unit_test(test_round_trip_in_a_domain),
		cmocka_unit_test(test_copy_is_deep),
		cmocka_unit_test(test_a_domain_without_the_mark_is_not_ours),
		cmocka_unit_test(test_hostile_values_are_refused),
		cmocka_unit_test(test_no_schema_or_other_root_is_refused),
		cmocka_unit_test(test_newer_schema_is_shown_and_not_changed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
