/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/test.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/stage.h"
#include "agent/status-json.h"
#include "base/fd.h"
#include "tests/unit/agent/root.h"

static int setup(void **state)
{
	_cleanup_free_ char *run = NULL;

	(void)state;
	(void)snprintf(root, sizeof(root), "/tmp/test-stage.XXXXXX");
	assert_non_null(mkdtemp(root));
	run = below("/run");
	return mkdir(run, 0755);
}

static int teardown(void **state)
{
	struct error err = { 0 };

	(void)state;
	return file_remove_tree(root, &err);
}

/* ---- JSON ---- */

static void note(const char *path, enum json_kind kind, const char *text, void *data)
{
	str_printf(data, "%s=%c%s;", path, "snl"[kind], text);
}

static void test_json(void **state)
{
	static const struct {
		const char *text, *wanted; /* NULL: refused */
	} rows[] = {
		{ "{}", "" },
		{ " [ ] ", "" },
		{ "\"a\\n\\u0041\\u00e9\\\"\"", "=sa\nA?\";" },
		{ "{\"a\":[1,-2.5e3,{\"b\":null}],\"c\":true}",
			"a/0=n1;a/1=n-2.5e3;a/2/b=lnull;c=ltrue;" },
		{ "{\"a\" : \"x\" , \"a\":\"y\"}", "a=sx;a=sy;" },
		{ "", NULL },
		{ "{", NULL },
		{ "[1,]", NULL },
		{ "[,1]", NULL },
		{ "{\"a\"}", NULL },
		{ "{\"a\":}", NULL },
		{ "{a:1}", NULL },
		{ "\"open", NULL },
		{ "\"\\x\"", NULL },
		{ "\"\\u12\"", NULL },
		{ "[1] 2", NULL },
		{ "[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]", NULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		_cleanup_str_ struct str seen = STR_INIT;
		struct error err = { 0 };
		int result = json_walk(rows[i].text, strlen(rows[i].text), note, &seen, &err);

		if (!rows[i].wanted) {
			assert_int_equal(result, -1);
			assert_error(&err, ERROR_INVALID, "not a JSON document");
			continue;
		}
		assert_ok(result, &err);
		assert_string_equal(str_get(&seen), rows[i].wanted);
	}
}

static void test_cloud_status(void **state)
{
	static const char text[] =
		"{\"v1\":{\"datasource\":null,\"stage\":\"modules-config\",\"init\":{\"errors\":[],\"finished\":1.5},"
		"\"modules-config\":{\"errors\":[\"('runcmd', \\u001b[2JRuntimeError())\",\"two\"]},"
		"\"modules-final\":{\"errors\":[],\"finished\":null}}}";
	struct cloud_status status;
	struct error err = { 0 };

	(void)state;
	assert_ok(cloud_status_read(text, strlen(text), &status, &err), &err);
	assert_string_equal(status.stage, "modules-config");
	assert_false(status.finished);
	assert_string_equal(str_get(&status.errors),
		"modules-config: ('runcmd', \\x1b[2JRuntimeError())\nmodules-config: two");
	str_done(&status.errors);
}

/* ---- the watch ---- */

/* Until something was seen to change. */
static void wait_for_change(struct stages *s, int epoll)
{
	for (int i = 0; i < 50; i++) {
		struct epoll_event event;

		assert_int_equal(epoll_wait(epoll, &event, 1, 5000), 1);
		source_event(&s->watch, event.events);
		if (stages_step(s))
			return;
	}
	fail_msg("nothing changed");
}

#define STATUS "/var/lib/cloud/data/status.json"

static void test_a_first_boot(void **state)
{
	_cleanup_free_ char *link = below("/run/cloud-init/status.json"),
			    *folder = below("/run/cloud-init");
	_cleanup_str_ struct str fields = STR_INIT;
	int epoll = epoll_create1(EPOLL_CLOEXEC);
	struct error err = { 0 };
	struct stages s;

	(void)state;
	assert_ok(stages_open(&s, root, epoll, &err), &err);
	assert_int_equal(s.state, STAGE_RUNNING);
	assert_string_equal(s.name, "boot");
	/* In the order in which cloud-init makes them. */
	put(STATUS, "{\"v1\":{\"stage\":\"init-local\"}}");
	assert_int_equal(mkdir(folder, 0755), 0);
	assert_int_equal(symlink("../../var/lib/cloud/data/status.json", link), 0);
	wait_for_change(&s, epoll);
	assert_string_equal(s.name, "cloud-init init-local");
	put(STATUS, "{\"v1\":{\"stage\":\"init\"}}");
	wait_for_change(&s, epoll);
	assert_string_equal(s.name, "cloud-init init");
	put(STATUS, "{\"v1\":{\"stage\":null,\"modules-final\":{\"finished\":9.5,\"errors\":[]}}}");
	wait_for_change(&s, epoll);
	assert_string_equal(s.name, "finishing");
	assert_ok(stages_conclude(root, &err), &err);
	wait_for_change(&s, epoll);
	assert_int_equal(s.state, STAGE_USABLE);
	assert_int_equal(s.serial, 5);
	/* Usable only for a user who exists. */
	put("/etc/passwd", "dev:x:1000:1000::/home/dev:/bin/sh\n");
	stages_put(&s, "dev", &fields);
	assert_null(memmem(fields.data, fields.len, "does not exist", 14));
	str_clear(&fields);
	stages_put(&s, "ghost", &fields);
	assert_non_null(memmem(fields.data, fields.len, "does not exist", 14));
	stages_done(&s, epoll);
	(void)close(epoll);
}

static void test_conclusions(void **state)
{
	static const struct {
		const char *status, *wanted;
	} rows[] = {
		{ "{\"v1\":{\"modules-final\":{\"finished\":1.0}}}", "usable\n" },
		{ "{\"v1\":{\"modules-final\":{\"finished\":null}}}",
			"failed\ncloud-init did not finish\nlog\n" },
		{ "{\"v1\":{\"modules-final\":{\"errors\":[\"('scripts_user', X)\"],\"finished\":1}}}",
			"failed\nmodules-final: ('scripts_user', X)\nlog\n" },
		{ "{\"v1\"", "failed\ncloud-init left no readable status\n" },
	};
	_cleanup_free_ char *ready = below("/run/box/ready");

	(void)state;
	put("/var/log/cloud-init-output.log", "log\n");
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		_cleanup_str_ struct str text = STR_INIT;
		struct error err = { 0 };

		put(STATUS, rows[i].status);
		assert_ok(stages_conclude(root, &err), &err);
		assert_ok(file_read(AT_FDCWD, ready, 10000, &text, &err), &err);
		assert_string_equal(str_get(&text), rows[i].wanted);
	}
}

static void test_a_failure_is_told(void **state)
{
	int epoll = epoll_create1(EPOLL_CLOEXEC);
	struct error err = { 0 };
	struct stages s;

	(void)state;
	put("/run/box/ready", "failed\nmodules-final: it broke\nlast \x1b[0m line\n");
	assert_ok(stages_open(&s, root, epoll, &err), &err);
	assert_int_equal(s.state, STAGE_FAILED);
	assert_string_equal(s.name, "failed");
	assert_string_equal(str_get(&s.text), "modules-final: it broke\nlast \\x1b[0m line\n");
	stages_done(&s, epoll);
	(void)close(epoll);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_cloud_status),
		cmocka_unit_test(test_a_first_boot),
		cmocka_unit_test(test_conclusions),
		cmocka_unit_test(test_a_failure_is_told),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
