/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/test.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "probe/serve.h"

/* The verbs of this test: what a probe may do to its server. */
static int run(int argc, char **argv)
{
	if (strcmp(argv[0], "echo") == 0) {
		for (int i = 1; i < argc; i++)
			printf("%s\n", argv[i]);
		return argc - 1;
	}
	if (strcmp(argv[0], "quick") == 0) {
		printf("one of %d\n", argc);
		fprintf(stderr, "and an error");
		return 3;
	}
	if (strcmp(argv[0], "half") == 0) {
		printf("no newline");
		return 0;
	}
	if (strcmp(argv[0], "long") == 0) {
		for (int i = 0; i < 5000; i++)
			putchar('x');
		putchar('\n');
		return 0;
	}
	if (strcmp(argv[0], "die") == 0) {
		fflush(stdout);
		raise(SIGKILL);
	}
	printf("ready\n");
	fflush(stdout);
	for (;;)
		pause();
}

static bool is_quick(const char *verb)
{
	return strcmp(verb, "quick") == 0;
}

static const struct serve_verbs verbs = { run, is_quick };

struct served {
	pid_t pid;
	int in, out; /* its standard input and output */
	char text[65536]; /* what it has printed */
	size_t len;
};

static int setup(void **state)
{
	static struct served s;
	int in[2], out[2];

	memset(&s, 0, sizeof(s));
	if (pipe(in) < 0 || pipe(out) < 0)
		return -1;
	s.pid = fork();
	if (s.pid == 0) {
		struct error err = { 0 };

		dup2(in[0], 0);
		dup2(out[1], 1);
		close(in[1]);
		close(out[0]);
		_exit(serve(&verbs, &err) < 0);
	}
	close(in[0]);
	close(out[1]);
	s.in = in[1];
	s.out = out[0];
	*state = &s;
	return 0;
}

static int teardown(void **state)
{
	struct served *s = *state;
	int status = -1;

	if (s->in >= 0)
		close(s->in);
	waitpid(s->pid, &status, 0);
	close(s->out); /* not before: it may still have something to say */
	return status;
}

static void send_line(struct served *s, const char *line)
{
	assert_int_equal(write(s->in, line, strlen(line)), strlen(line));
}

/* Read until what was printed contains text; fails after ten seconds or at the end of output. */
static void wait_text(struct served *s, const char *text)
{
	while (!strstr(s->text, text)) {
		struct pollfd p = { .fd = s->out, .events = POLLIN };
		ssize_t n;

		if (poll(&p, 1, 10000) != 1)
			fail_msg("'%s' did not come; there is '%s'", text, s->text);
		n = read(s->out, s->text + s->len, sizeof(s->text) - s->len - 1);
		if (n <= 0)
			fail_msg("'%s' did not come; ended after '%s'", text, s->text);
		s->len += (size_t)n;
	}
}

static void test_lines_carry_their_id_and_end_with_the_status(void **state)
{
	struct served *s = *state;

	wait_text(s, SERVE_HELLO "\n");
	send_line(s, "7 echo a b\n9 half\n");
	wait_text(s, "7 .2\n");
	wait_text(s, "9 .0\n");
	assert_non_null(strstr(s->text, "7 a\n"));
	assert_non_null(strstr(s->text, "7 b\n"));
	assert_non_null(strstr(s->text, "9 no newline\n9 .0\n"));
}

static void test_probes_run_side_by_side_and_stop(void **state)
{
	struct served *s = *state;

	send_line(s, "1 wait\n2 wait\n");
	wait_text(s, "1 ready\n");
	wait_text(s, "2 ready\n");
	send_line(s, "3 echo x\n1 stop\n");
	wait_text(s, "3 .1\n");
	wait_text(s, "1 .143\n");
	assert_null(strstr(s->text, "2 ."));
}

static void test_quick_verbs_print_the_same_way(void **state)
{
	struct served *s = *state;

	send_line(s, "1 wait\n2 quick a\n1 quick b\n");
	wait_text(s, "2 .3\n");
	assert_non_null(strstr(s->text, "2 one of 2\n2 and an error\n2 .3\n"));
	wait_text(s, "1 error: this id is in use\n");
}

static void test_death_and_long_lines_are_survived(void **state)
{
	struct served *s = *state;

	send_line(s, "1 die\n2 long\n3 echo ok\n");
	wait_text(s, "1 .137\n");
	wait_text(s, "2 .0\n");
	wait_text(s, "3 ok\n");
}

static void test_bad_lines_are_told(void **state)
{
	struct served *s = *state;

	send_line(s, "x echo\n0 echo\n5000 echo\n4\n\n1 wait\n");
	wait_text(s, "1 ready\n");
	assert_non_null(strstr(s->text, "0 error: a line is ID VERB ARGUMENTS\n"));
	send_line(s, "1 echo again\n");
	wait_text(s, "1 error: this id is in use\n");
}

static void test_end_of_input_ends_all(void **state)
{
	struct served *s = *state;

	send_line(s, "1 wait\n2 wait\n");
	wait_text(s, "1 ready\n");
	wait_text(s, "2 ready\n");
	close(s->in);
	s->in = -1;
	wait_text(s, "1 .137\n");
	wait_text(s, "2 .137\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			test_lines_carry_their_id_and_end_with_the_status, setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_probes_run_side_by_side_and_stop, setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_quick_verbs_print_the_same_way, setup, teardown),
		cmocka_unit_test_setup_teardown(
			test_death_and_long_lines_are_survived, setup, teardown),
		cmocka_unit_test_setup_teardown(test_bad_lines_are_told, setup, teardown),
		cmocka_unit_test_setup_teardown(test_end_of_input_ends_all, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
