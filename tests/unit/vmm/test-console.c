/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/test.h"

#include "vmm/console.h"

static void cleans(const char *raw, size_t len, unsigned lines, const char *want)
{
	_cleanup_str_ struct str text = STR_INIT;

	console_clean(raw, len, lines, &text);
	assert_string_equal(str_get(&text), want);
}

#define CLEANS(raw, lines, want) cleans(raw, sizeof(raw) - 1, lines, want)

static void test_terminal_sequences_go(void **state)
{
	(void)state;
	CLEANS("[\x1b[0;32m  OK  \x1b[0m] Started \x1b[0;1;39mssh\x1b[0m.\r\n", 5,
		"[  OK  ] Started ssh.\n");
	CLEANS("a\x1b]0;title\x07z", 5, "az\n");
	CLEANS("a\x1b]52;c;AAAA\x1b\\z", 5, "az\n");
	CLEANS("a\x1bPq evil \x1b\\z", 5, "az\n");
	CLEANS("a\x1b", 5, "a\n");
	CLEANS("a\x1b[12", 5, "a\n");
	CLEANS("a\x1b]never ends", 5, "a\n");
	CLEANS("a\x1b"
	       "cz",
		5, "az\n"); /* reset */
	CLEANS("\x9b"
	       "31m\a",
		5, "\\x9b31m\\x07\n"); /* an 8-bit CSI stays visible */
}

static void test_only_the_last_lines(void **state)
{
	(void)state;
	CLEANS("1\n2\n3\n4", 2, "3\n4\n");
	CLEANS("1\n2\n3\n", 3, "1\n2\n3\n");
	CLEANS("1\r\n\r\n\r\n2", 2, "1\n2\n");
	CLEANS("", 3, "");
	CLEANS("\n\n", 3, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_terminal_sequences_go),
		cmocka_unit_test(test_only_the_last_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
