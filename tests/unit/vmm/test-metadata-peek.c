/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "tests/unit/vmm/sample-meta.h"
#include "vmm/metadata-peek.h"
#include "vmm/metadata.h"

#define HEAD "<box schema=\"1\">\n"
#define LINES "  <template>blank</template>\n  <user>dev</user>\n  <tap>bxt01234567</tap>\n"

static void test_reads_what_we_write(void **state)
{
	struct box_meta m;
	struct error err = { 0 };
	char *text, user[64] = "";

	(void)state;
	sample_meta(&m);
	(void)snprintf(m.user, sizeof(m.user), "some-body_1.x");
	/* what is in progress names its holder, "ann@desk pid 71": that is for box-main */
	text = meta_format(&m, &err);
	assert_non_null(text);
	assert_false(meta_peek_user(text, user, sizeof(user)));
	free(text);
	m.operation = (struct meta_operation){ 0 };
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
