/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "vmm/metadata-peek.h"
#include "vmm/metadata.h"

#define HEAD "<box schema=\"1\">\n"
#define LINES "  <template>blank</template>\n  <user>dev</user>\n  <tap>bxt01234567</tap>\n"

static void test_reads_what_we_write(void **state)
{
	struct box_meta m = {
		.schema = META_SCHEMA,
		.template = "codex",
		.user = "some-body_1.x",
		.clone = true,
		.source = "web/logged-in",
		.created = 1767323045,
		.image = "golden-codex-0123456789abcdef.qcow2",
		.digest = "aa00",
		.agent = "0.1.0",
		.address = 0x0a580002,
		.tap = "bxt01234567",
		.identity = META_IDENTITY_VERIFIED,
		.operation = { .name = "snapshot",
			.since = 1767323046,
			.holder = "ann pid 71",
			.subject = "two",
			.layer = "box-u-3.qcow2" },
	};
	struct error err = { 0 };
	char *text, user[64] = "";

	(void)state;
	assert_ok(meta_doors_push(&m.doors, (struct meta_door){ 8080, 18080 }, &err), &err);
	assert_ok(meta_snapshots_push(&m.snapshots,
			  (struct meta_snapshot){ "one", "box-u-1.qcow2", 1767323047, true, "" },
			  &err),
		&err);
	text = meta_format(&m, &err);
	assert_non_null(text);
	assert_true(meta_peek_user(text, user, sizeof(user)));
	assert_string_equal("some-body_1.x", user);
	/* One byte too many for the place it goes to. */
	assert_false(meta_peek_user(text, user, strlen("some-body_1.x")));
	free(text);
	meta_done(&m);
}

static void test_says_no(void **state)
{
	static const char *const texts[] = {
		"",
		"<box schema=\"1\"/>",
		HEAD "</box>",
		"<box schema=\"2\">\n" LINES "</box>",
		"<box schema='1'>\n" LINES "</box>",
		HEAD LINES,
		HEAD LINES "</box>x",
		HEAD LINES "  <user>root</user>\n</box>",
		HEAD LINES "  <unknown>x</unknown>\n</box>",
		HEAD LINES "  <!-- <user>x</user> -->\n</box>",
		HEAD LINES "  <agent>&amp;</agent>\n</box>",
		HEAD LINES "  <agent>x</tap>\n</box>",
		HEAD LINES "  <door port=\"1\" host='2'/>\n</box>",
		HEAD LINES "  <door port=\"<\"/>\n</box>",
		HEAD LINES "  <snapshot>\n    <user>x</user>\n  </snapshot>\n</box>",
		HEAD "  <user></user>\n</box>",
		HEAD "  <user>a b</user>\n</box>",
		HEAD "  <user>-x</user>\n</box>",
		HEAD "  <user>../x</user>\n</box>",
		HEAD "  <user a=\"b\">dev</user>\n</box>",
		HEAD "  <user>dev</user></box>",
		HEAD "<user>dev</user>\n</box>",
		HEAD "  <user>dev</users>\n</box>",
		HEAD "  <users>dev</users>\n</box>",
	};
	char user[64] = "untouched";

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		if (meta_peek_user(texts[i], user, sizeof(user)))
			fail_msg("taken: %s", texts[i]);
		assert_string_equal("untouched", user);
	}
	assert_true(meta_peek_user(HEAD LINES "</box>\n", user, sizeof(user)));
	assert_string_equal("dev", user);
}

/* Cut anywhere, it is not read past its end, and nothing is made of it. */
static void test_cut(void **state)
{
	static const char whole[] = HEAD LINES "  <door port=\"1\" host=\"2\"/>\n</box>";
	char user[64];

	(void)state;
	for (size_t len = 0; len < strlen(whole); len++) {
		char *text = strndup(whole, len);

		assert_non_null(text);
		assert_false(meta_peek_user(text, user, sizeof(user)));
		free(text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reads_what_we_write),
		cmocka_unit_test(test_says_no),
		cmocka_unit_test(test_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
