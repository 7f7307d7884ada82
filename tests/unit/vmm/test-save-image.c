/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/test.h"

#include "vmm/save-image.h"

enum { DATA = 64, SIZE = SAVE_IMAGE_HEADER + DATA };

/* A whole image: XML "<domain/>", cookie "<cookie/>" right behind it, room for more. */
static void make(uint8_t image[SIZE])
{
	memset(image, 0, SIZE);
	memcpy(image, "LibvirtQemudSave", 16);
	image[16] = 2;
	image[20] = DATA;
	image[24] = 1;
	image[32] = 10;
	memcpy(image + SAVE_IMAGE_HEADER, "<domain/>\0<cookie/>", 20);
}

static void test_read_finds_xml_and_cookie(void **state)
{
	struct save_image image = { 0 };
	struct error err = { 0 };
	uint8_t bytes[SIZE];
	size_t size = 0;

	(void)state;
	make(bytes);
	assert_ok(save_image_size(bytes, SAVE_IMAGE_HEADER, &size, &err), &err);
	assert_int_equal(size, SIZE);
	assert_ok(save_image_read(bytes, SIZE, &image, &err), &err);
	assert_string_equal(image.xml, "<domain/>");
	assert_string_equal(image.cookie, "<cookie/>");
	assert_true(image.was_running);
}

static void test_rewrite_keeps_length_and_cookie(void **state)
{
	_cleanup_str_ struct str out = STR_INIT;
	struct save_image image = { 0 }, again = { 0 };
	struct error err = { 0 };
	uint8_t bytes[SIZE];

	(void)state;
	make(bytes);
	assert_ok(save_image_read(bytes, SIZE, &image, &err), &err);
	assert_ok(save_image_rewrite(&image, "<domain name='longer'/>", false, &out, &err), &err);
	assert_int_equal(out.len, SIZE);
	assert_ok(save_image_read((const uint8_t *)out.data, out.len, &again, &err), &err);
	assert_string_equal(again.xml, "<domain name='longer'/>");
	assert_string_equal(again.cookie, "<cookie/>");
	assert_false(again.was_running);
}

static void test_rewrite_refuses_what_does_not_fit(void **state)
{
	_cleanup_str_ struct str out = STR_INIT;
	struct save_image image = { 0 };
	struct error err = { 0 };
	uint8_t bytes[SIZE];
	char xml[DATA];

	(void)state;
	make(bytes);
	memset(xml, 'x', sizeof(xml) - 1);
	xml[sizeof(xml) - 1] = '\0';
	assert_ok(save_image_read(bytes, SIZE, &image, &err), &err);
	assert_int_equal(save_image_rewrite(&image, xml, true, &out, &err), -1);
	assert_error(&err, ERROR_INVALID, "needs 74 bytes and the memory image has room for 64");
	assert_int_equal(out.len, 0);
}

static void assert_refused(const uint8_t *bytes, size_t len, const char *why)
{
	struct save_image image = { 0 };
	struct error err = { 0 };

	assert_int_equal(save_image_read(bytes, len, &image, &err), -1);
	assert_error(&err, ERROR_INVALID, why);
	assert_null(image.xml);
}

static void test_hostile_images_are_refused_with_a_reason(void **state)
{
	uint8_t bytes[SIZE];

	(void)state;
	make(bytes);
	assert_refused(bytes, 10, "cut short");
	assert_refused(bytes, SIZE - 1, "cut short");
	memcpy(bytes, "LibvirtQemudPart", 16);
	assert_refused(bytes, SIZE, "never finished");
	memcpy(bytes, "QEVM............", 16);
	assert_refused(bytes, SIZE, "no memory image of libvirt's");
	make(bytes);
	bytes[16] = 3;
	assert_refused(bytes, SIZE, "format 3");
	make(bytes);
	bytes[23] = 0xff;
	assert_refused(bytes, SIZE, "corrupt");
	make(bytes);
	bytes[32] = DATA; /* the cookie begins behind the data */
	assert_refused(bytes, SIZE, "cookie");
	make(bytes);
	bytes[32] = 3; /* inside the XML */
	assert_refused(bytes, SIZE, "cookie");
	make(bytes);
	memset(bytes + SAVE_IMAGE_HEADER, 'x', DATA); /* no NUL at all */
	assert_refused(bytes, SIZE, "no domain description");
	make(bytes);
	memset(bytes + SAVE_IMAGE_HEADER + 10, 'c', DATA - 10); /* cookie without its NUL */
	assert_refused(bytes, SIZE, "cookie");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_read_finds_xml_and_cookie),
		cmocka_unit_test(test_rewrite_keeps_length_and_cookie),
		cmocka_unit_test(test_rewrite_refuses_what_does_not_fit),
		cmocka_unit_test(test_hostile_images_are_refused_with_a_reason),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
