/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/test.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/progress.h"
#include "base/str.h"

static int do_nothing(void *ctx, struct error *err)
{
	(void)ctx;
	(void)err;
	return 0;
}

static const struct step two_steps[] = {
	{ "volume", "creating the disk", do_nothing, NULL },
	{ "silent", NULL, do_nothing, NULL },
};

/* What is written while two steps run in this mode; given. */
static char *output_of(enum progress_mode mode, bool timing, bool transfer)
{
	_cleanup_close_ int in = -1;
	_cleanup_str_ struct str text = STR_INIT;
	struct error err = { 0 };
	struct steps_observer observer;
	struct progress p;
	int ends[2];

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	in = ends[0];
	progress_init(&p, ends[1], mode, timing);
	observer = progress_observer(&p);
	assert_ok(steps_run("new", two_steps, ARRAY_LEN(two_steps), NULL, &observer, &err), &err);
	observer.took("new.there", "elsewhere", 2500, observer.data);
	if (transfer) {
		struct pollfd wait = { .fd = in, .events = POLLIN };

		progress_begin(&p, "image", "upload", "uploading the base");
		progress_bytes(&p, 3 << 20, 12 << 20);
		/* Wait until the thread has drawn a line with the bytes in it. */
		for (int i = 0; i < 200 && !strstr(str_get(&text), " of "); i++) {
			char buf[4096];
			ssize_t n;

			assert_int_equal(poll(&wait, 1, 5000), 1);
			n = read(in, buf, sizeof(buf));
			str_append_len(&text, buf, n > 0 ? (size_t)n : 0);
		}
		progress_end(&p);
	}
	progress_message(&p, "warning: %s", "low on disk");
	progress_done(&p);
	(void)close(ends[1]);
	assert_ok(fd_read_all(in, 1 << 20, &text, "the pipe", &err), &err);
	return str_take(&text, &err);
}

static void test_plain_prints_one_line_a_step(void **state)
{
	_cleanup_free_ char *text = output_of(PROGRESS_PLAIN, false, false);

	(void)state;
	assert_string_equal(text, "box: creating the disk\nbox: warning: low on disk\n");
}

static void test_quiet_prints_messages_alone(void **state)
{
	_cleanup_free_ char *text = output_of(PROGRESS_QUIET, false, false);

	(void)state;
	assert_string_equal(text, "box: warning: low on disk\n");
}

static void test_timing_prints_each_step_and_a_total(void **state)
{
	_cleanup_free_ char *text = output_of(PROGRESS_QUIET, true, false);
	double volume, silent, total;
	int end = 0;

	(void)state;
	assert_int_equal(sscanf(text,
				 "box: timing new.volume %lf ms\nbox: timing new.silent %lf ms\n"
				 "box: timing new.there.elsewhere 2.5 ms\n"
				 "box: warning: low on disk\nbox: timing total %lf ms%n",
				 &volume, &silent, &total, &end),
		3);
	assert_string_equal(text + end, "\n");
	assert_true(total >= volume + silent);
}

static void test_live_draws_over_one_line_and_erases_it(void **state)
{
	_cleanup_free_ char *text = output_of(PROGRESS_LIVE, false, false);

	(void)state;
	assert_non_null(strstr(text, "\rbox: creating the disk 0.0s\033[K"));
	assert_string_equal(strstr(text, "box: warning"), "box: warning: low on disk\n");
	/* What went before the message ends with the line erased. */
	assert_memory_equal(strstr(text, "box: warning") - 4, "\r\033[K", 4);
}

static void test_live_shows_bytes_and_rate(void **state)
{
	_cleanup_free_ char *text = output_of(PROGRESS_LIVE, false, true);

	(void)state;
	assert_non_null(strstr(text, "box: uploading the base 3MiB of 12MiB, "));
	assert_non_null(strstr(text, "/s "));
}

static void test_nested_steps_show_the_innermost(void **state)
{
	_cleanup_close_ int in = -1;
	_cleanup_str_ struct str text = STR_INIT;
	struct error err = { 0 };
	struct progress p;
	int ends[2];

	(void)state;
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	in = ends[0];
	progress_init(&p, ends[1], PROGRESS_LIVE, false);
	for (int i = 0; i < PROGRESS_DEPTH_MAX + 2; i++)
		progress_begin(&p, "deep", "step", i == 0 ? "outer" : "inner");
	for (int i = 0; i < PROGRESS_DEPTH_MAX + 2; i++)
		progress_end(&p);
	progress_end(&p); /* one too many changes nothing */
	progress_done(&p);
	(void)close(ends[1]);
	assert_ok(fd_read_all(in, 1 << 20, &text, "the pipe", &err), &err);
	assert_non_null(strstr(str_get(&text), "box: inner"));
	assert_non_null(strstr(strstr(str_get(&text), "box: inner"), "box: outer"));
}

static void test_a_detail_is_a_line_in_plain_mode_and_told_once(void **state)
{
	_cleanup_close_ int in = -1;
	_cleanup_str_ struct str text = STR_INIT;
	struct error err = { 0 };
	struct progress p;
	int ends[2];

	(void)state;
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	in = ends[0];
	progress_init(&p, ends[1], PROGRESS_PLAIN, false);
	progress_detail(&p, "of nothing");
	progress_begin(&p, "new", "ready", "waiting for the guest");
	progress_detail(&p, "boot");
	progress_detail(&p, "boot");
	progress_detail(&p, "cloud-init init");
	progress_end(&p);
	progress_done(&p);
	(void)close(ends[1]);
	assert_ok(fd_read_all(in, 1 << 20, &text, "the pipe", &err), &err);
	assert_string_equal(str_get(&text), "box: waiting for the guest\n"
					    "box: waiting for the guest: boot\n"
					    "box: waiting for the guest: cloud-init init\n");
}

static void test_zeroed_progress_is_safe(void **state)
{
	struct progress p = { 0 };

	(void)state;
	progress_begin(&p, "a", "b", "c");
	progress_bytes(&p, 1, 2);
	progress_detail(&p, "x");
	progress_end(&p);
	progress_pause(&p);
	progress_resume(&p);
	progress_done(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plain_prints_one_line_a_step),
		cmocka_unit_test(test_quiet_prints_messages_alone),
		cmocka_unit_test(test_timing_prints_each_step_and_a_total),
		cmocka_unit_test(test_live_draws_over_one_line_and_erases_it),
		cmocka_unit_test(test_live_shows_bytes_and_rate),
		cmocka_unit_test(test_nested_steps_show_the_innermost),
		cmocka_unit_test(test_a_detail_is_a_line_in_plain_mode_and_told_once),
		cmocka_unit_test(test_zeroed_progress_is_safe),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
