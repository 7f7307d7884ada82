/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/test.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/fd.h"
#include "images/template.h"

/* A folder of templates of this test's own; every other place is empty. */
static char folder[] = "/tmp/test-template.XXXXXX";

static int set_up(void **state)
{
	char path[256];

	(void)state;
	if (!mkdtemp(folder))
		return -1;
	(void)snprintf(path, sizeof(path), "%s/config", folder);
	setenv("XDG_CONFIG_HOME", path, 1);
	setenv("BOX_DATA", folder, 1);
	return 0;
}

static int tear_down(void **state)
{
	struct error err = { 0 };

	(void)state;
	return file_remove_tree(folder, &err);
}

static void put(const char *below, const char *name, const char *text)
{
	struct error err = { 0 };
	char path[512];

	(void)snprintf(path, sizeof(path), "%s/%s", folder, below);
	assert_ok(file_mkdirs(path, 0755, &err), &err);
	(void)snprintf(path, sizeof(path), "%s/%s/%s", folder, below, name);
	assert_ok(file_replace(AT_FDCWD, path, text, strlen(text), 0644, &err), &err);
}

static void parse(const char *text, struct template *t)
{
	struct error err = { 0 };

	assert_ok(template_parse("x", "x.yaml", text, strlen(text), t, &err), &err);
}

static void refused(const char *text, const char *why)
{
	_cleanup_template_ struct template t = { 0 };
	struct error err = { 0 };

	assert_int_equal(template_parse("x", "x.yaml", text, strlen(text), &t, &err), -1);
	assert_error(&err, ERROR_INVALID, why);
}

static void test_all_keys_are_read(void **state)
{
	_cleanup_template_ struct template t = { 0 };

	(void)state;
	parse("description: D\nimage: debian:12\nuser: me\ncpu: 3\nmemory: 1GiB\ndisk: 9GiB\n"
	      "packages: [jq, g++]\nbake:\n - [npm, install, x]\n - [\"true\"]\nverify: [x, --version]\n"
	      "context: {path: .x/X.md, text: hello}\n",
		&t);
	assert_string_equal(t.description, "D");
	assert_string_equal(t.source.release, "bookworm");
	assert_string_equal(t.user, "me");
	assert_int_equal(t.cpu, 3);
	assert_int_equal(t.memory, 1ull << 30);
	assert_int_equal(t.disk, 9ull << 30);
	assert_int_equal(t.packages.len, 2);
	assert_string_equal(t.packages.items[1], "g++");
	assert_int_equal(t.bake.len, 2);
	assert_string_equal(t.bake.items[0].items[2], "x");
	assert_string_equal(t.verify.items[1], "--version");
	assert_string_equal(t.context_path, ".x/X.md");
	assert_string_equal(t.context_text, "hello");
}

static void test_debian_13_is_the_default(void **state)
{
	_cleanup_template_ struct template t = { 0 };

	(void)state;
	parse("user: me\n", &t);
	assert_int_equal(t.source.kind, SOURCE_DEBIAN);
	assert_string_equal(t.source.release, "trixie");
	assert_int_equal(t.cpu, 0);
}

static void test_a_source_by_url_wants_a_checksum(void **state)
{
	_cleanup_template_ struct template t = { 0 };
	char text[512];

	(void)state;
	(void)snprintf(text, sizeof(text),
		"user: me\nimage:\n  url: https://e.org/a.qcow2\n  sha256: %064X\n", 171);
	parse(text, &t);
	assert_int_equal(t.source.kind, SOURCE_URL);
	assert_int_equal(strlen(t.source.sha256), 64);
	assert_string_equal(t.source.sha256 + 62, "ab");
	refused("user: me\nimage: {url: \"https://e.org/a\"}\n",
		"x.yaml:2: image: a url needs sha256, sha512, or checksums with a key");
	refused("user: me\nimage:\n  url: https://e.org/a\n  checksums: https://e.org/SUMS\n",
		"checksums needs the signer's key");
	refused("user: me\nimage:\n  url: file:///etc/passwd\n",
		"x.yaml:3: a URL begins with https://");
	refused("user: me\nimage:\n  url: https://e.org/a\n  sha256: abc\n",
		"x.yaml:4: this takes 64 hexadecimal digits");
	refused("user: me\nimage: ubuntu\n", "x.yaml:2: image: write debian:13, debian:12");
}

static void test_unknown_and_repeated_keys_are_fatal(void **state)
{
	(void)state;
	refused("user: me\nmemroy: 1GiB\n",
		"x.yaml:2: unknown key 'memroy'; did you mean 'memory'?");
	refused("user: me\nuser: you\n", "x.yaml:2: key 'user' is repeated");
	refused("user: me\nimage:\n  file: a\n  fil: b\n", "x.yaml:4: unknown key 'fil'");
}

/* What decides over the boundary is no template's business. */
static void test_there_is_no_key_for_the_boundary(void **state)
{
	static const char *const keys[] = { "network", "bridge", "interface", "device", "devices",
		"mount", "mounts", "path", "volume", "host", "share", "privileged", "security",
		"xml", "qemu", "boot", "ports", "expose" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		char text[128];

		(void)snprintf(text, sizeof(text), "user: me\n%s: x\n", keys[i]);
		refused(text, "x.yaml:2: unknown key");
	}
}

static void test_values_are_checked_with_their_line(void **state)
{
	(void)state;
	refused("user: root\n", "x.yaml:1: user: root is in every box");
	refused("user: Me\n", "x.yaml:1: user: at most 32");
	refused("description: x\n", "the key 'user' is missing");
	refused("user: me\ncpu: 0\n", "x.yaml:2: ");
	refused("user: me\nmemory: 4096\n", "x.yaml:2: ");
	refused("user: me\npackages: [\"-oX=y\"]\n", "x.yaml:2: packages: not a package's name");
	refused("user: me\nbake: [ls]\n", "x.yaml:2: bake: each step is a list");
	refused("user: me\nverify: [/bin/x]\n", "x.yaml:2: verify: the program is found in PATH");
	refused("user: me\ncontext: {path: ../x, text: y}\n",
		"context: path is below the user's home");
	refused("user: me\ncontext: {path: /etc/x, text: y}\n",
		"context: path is below the user's home");
	refused("user: me\ncontext: {path: a}\n", "text");
	refused("[a]\n", "x.yaml:1: a template is a mapping of keys");
}

static void test_a_shared_template_has_nothing_of_a_box(void **state)
{
	(void)state;
	refused("shared: true\nuser: me\n", "x.yaml:2: a shared template has no 'user'");
	refused("shared: 1\n", "x.yaml:1: shared: write true or false");
	refused("user: me\nbase: b\nimage: debian:13\n", "x.yaml:3: image is the base's");
	refused("user: me\nbase: b\nnode: 24\n", "x.yaml:3: node belongs to a shared template");
	refused("user: me\nnode: 24\n", "x.yaml:2: node belongs to a shared template");
}

static void test_load_finds_the_best_folder_and_the_base(void **state)
{
	_cleanup_template_ struct template t = { 0 };
	_cleanup_texts_ struct text_vec names = VEC_INIT;
	struct error err = { 0 };

	(void)state;
	put("templates/tools", "template.yaml", "shared: true\npackages: [git]\n");
	put("templates/fifth", "template.yaml", "user: me\nbase: tools\n");
	put("templates/fifth", "user-data.yaml", "#cloud-config\n{}\n");
	assert_ok(template_load("fifth", &t, &err), &err);
	assert_string_equal(t.base->packages.items[0], "git");
	assert_string_equal(t.user_data, "#cloud-config\n{}\n");
	template_done(&t);
	put("config/box/templates/fifth", "template.yaml", "user: mine\n");
	assert_ok(template_load("fifth", &t, &err), &err);
	assert_string_equal(t.user, "mine");
	assert_null(t.base);
	assert_ok(template_names(&names, &err), &err);
	assert_int_equal(names.len, 2);
	assert_string_equal(names.items[0], "fifth");
	assert_string_equal(names.items[1], "tools");
}

static void test_load_says_what_is_wrong(void **state)
{
	_cleanup_template_ struct template t = { 0 };
	struct error err = { 0 };

	(void)state;
	put("templates/tools", "template.yaml", "shared: true\n");
	put("templates/plain", "template.yaml", "user: me\n");
	put("templates/bad", "template.yaml", "user: me\nbase: plain\n");
	assert_int_equal(template_load("tolls", &t, &err), -1);
	assert_error(&err, ERROR_NOT_FOUND, "no such template: 'tolls'; did you mean 'tools'?");
	assert_int_equal(template_load("../etc", &t, &err), -1);
	assert_error(&err, ERROR_USAGE, "is not the name of a template");
	assert_int_equal(template_load("bad", &t, &err), -1);
	assert_error(&err, ERROR_INVALID, "'plain' is not a shared template");
}

/* A relative path in a template is relative to the template. */
static void test_a_local_file_is_found_beside_the_template(void **state)
{
	_cleanup_template_ struct template t = { 0 };
	struct error err = { 0 };
	char want[256];

	(void)state;
	put("templates/local", "template.yaml", "user: me\nimage: {file: disk.qcow2}\n");
	assert_ok(template_load("local", &t, &err), &err);
	(void)snprintf(want, sizeof(want), "%s/templates/local/disk.qcow2", folder);
	assert_string_equal(t.source.location, want);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_keys_are_read),
		cmocka_unit_test(test_debian_13_is_the_default),
		cmocka_unit_test(test_a_source_by_url_wants_a_checksum),
		cmocka_unit_test(test_unknown_and_repeated_keys_are_fatal),
		cmocka_unit_test(test_there_is_no_key_for_the_boundary),
		cmocka_unit_test(test_values_are_checked_with_their_line),
		cmocka_unit_test(test_a_shared_template_has_nothing_of_a_box),
		cmocka_unit_test(test_load_finds_the_best_folder_and_the_base),
		cmocka_unit_test(test_load_says_what_is_wrong),
		cmocka_unit_test(test_a_local_file_is_found_beside_the_template),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
