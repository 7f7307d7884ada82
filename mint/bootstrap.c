/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "mint/bootstrap.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/run.h"
#include "base/str.h"
#include "base/vec.h"
#include "mint/event.h"
#include "mint/userns.h"

/* An hour: nobody's mirror is that slow, and a hang must end. */
#define BOOTSTRAP_TIMEOUT_MS (3600ull * 1000)
enum { HEARD_BYTES = 240, NOT_THERE = 127 /* of unshare(1), as of a shell */ };
#define DEFAULT_MIRROR "http://deb.debian.org"

VEC_DEFINE(argument_vec, const char *);

/* Text in single quotes, for the hooks of mmdebstrap, which are lines of a shell. Given. */
static char *quoted(const char *text, struct error *err)
{
	_cleanup_str_ struct str s = STR_INIT;

	str_append_char(&s, '\'');
	for (; *text; text++)
		if (*text == '\'')
			str_append(&s, "'\\''");
		else
			str_append_char(&s, *text);
	str_append_char(&s, '\'');
	return str_take(&s, err);
}

/* "--<hook>-hook='<folder>/<script>' "$1"": a script of mint/stage. */
static char *script_hook(const char *hook, const char *script, struct error *err)
{
	_cleanup_free_ char *below = str_format(err, "mint/stage/%s", script);
	_cleanup_free_ char *path = below ? place_data(below, err) : NULL;
	_cleanup_free_ char *word = path ? quoted(path, err) : NULL;

	return word ? str_format(err, "--%s-hook=%s \"$1\"", hook, word) : NULL;
}

/* Unpack an archive into the tree. (mmdebstrap's own tar-in asks and answers for each 4 KiB.) */
static char *unpack_hook(const char *tar, struct error *err)
{
	_cleanup_free_ char *hook = script_hook("setup", "unpack.sh", err);
	_cleanup_free_ char *word = hook ? quoted(tar, err) : NULL;

	return word ? str_format(err, "%s %s", hook, word) : NULL;
}

/* What is heard of a run, for the error that it may end with. */
struct heard {
	char lines[4][HEARD_BYTES]; /* the last ones that are no news of steps */
	size_t count;
	char command[HEARD_BYTES]; /* the template's command that ran last; "": none */
	bool full; /* the disk */
	bool begun; /* mmdebstrap said something */
};

/* mmdebstrap's own view of a failure: it names the scripts in which things went wrong, and not the things. */
static bool is_frame(const char *text)
{
	static const char *const frames[] = { "E: setup failed", "E: run_chroot failed",
		"E: command failed", "E: mmdebstrap failed", "W: hooklistener", "E: hooklistener" };

	for (size_t i = 0; i < ARRAY_LEN(frames); i++)
		if (str_starts(text, frames[i]))
			return true;
	return false;
}

/* What mmdebstrap says of its steps begins "I: ". */
static void hear_line(const char *text, void *data)
{
	struct heard *h = data;

	h->full |= strstr(text, "No space left on device") != NULL;
	if (str_starts(text, "I: ")) {
		h->begun = true;
		event_detail(text + 3);
	} else if (str_starts(text, "bake: ")) {
		event_detail(text);
		(void)snprintf(h->command, sizeof(h->command), "%s", text + 6);
		h->count = 0;
	} else if (*text && !is_frame(text)) {
		(void)snprintf(h->lines[h->count++ % ARRAY_LEN(h->lines)], HEARD_BYTES, "%s", text);
	}
}

/* The command that failed and the last that was heard of it, instead of all that mmdebstrap says. */
static int tell_failure(const struct heard *h, struct error *err)
{
	size_t first = h->count > ARRAY_LEN(h->lines) ? h->count - ARRAY_LEN(h->lines) : 0;
	_cleanup_str_ struct str s = STR_INIT;

	if (h->full)
		return error_set(err, ERROR_NO_SPACE,
			"there is no room for the tree of the image: No space left on device");
	if (err->kind == ERROR_TIMEOUT || err->kind == ERROR_INTERRUPTED || !h->count)
		return *h->command ? error_wrap(err, "'%s'", h->command) : -1;
	for (size_t i = first; i < h->count; i++)
		str_printf(&s, "%s%s", i > first ? "; " : "", h->lines[i % ARRAY_LEN(h->lines)]);
	if (*h->command)
		return error_set(err, err->kind, "'%s' failed: %s", h->command, str_get(&s));
	error_set(err, err->kind, "mmdebstrap failed: %s", str_get(&s));
	return h->begun ? -1 : error_hint(err, "%s", userns_hint());
}

/* Ours, with NAME=value put in place of what it had; owned holds the new texts. */
struct environment {
	struct argument_vec vec;
	struct text_vec owned;
};

static void environment_done(struct environment *e)
{
	argument_vec_done(&e->vec);
	text_vec_free(&e->owned);
}

static int put_variable(
	struct environment *e, const char *name, const char *value, struct error *err)
{
	_cleanup_free_ char *text = str_format(err, "%s=%s", name, value);

	if (!text || text_vec_add(&e->owned, text, err) < 0)
		return -1;
	return argument_vec_push(&e->vec, e->owned.items[e->owned.len - 1], err);
}

static bool is_ours(const char *variable)
{
	return str_starts(variable, "BOX_MINT_") || str_starts(variable, "TMPDIR=");
}

/* The tree is unpacked beside its result. */
static int make_environment(
	const struct mint *m, const struct bootstrap *b, struct environment *e, struct error *err)
{
	for (char **variable = environ; *variable; variable++)
		if (!is_ours(*variable) && argument_vec_push(&e->vec, *variable, err) < 0)
			return -1;
	if (put_variable(e, "BOX_MINT_WORK", m->work.path, err) < 0 ||
		put_variable(e, "TMPDIR", m->work.path, err) < 0)
		return -1;
	if (b && (put_variable(e, "BOX_MINT_IMAGE", b->image, err) < 0 ||
			 put_variable(e, "BOX_MINT_RELEASE", b->release, err) < 0))
		return -1;
	return argument_vec_push(&e->vec, NULL, err);
}

static int run_mmdebstrap(const struct mint *m, const struct bootstrap *b,
	const struct argument_vec *argv, struct error *err)
{
	_cleanup_(environment_done) struct environment environment = { VEC_INIT, VEC_INIT };
	struct heard heard = { 0 };
	int status = 0;
	struct run run = {
		.argv = argv->items,
		.timeout_ms = BOOTSTRAP_TIMEOUT_MS,
		.line = hear_line,
		.data = &heard,
	};

	if (make_environment(m, b, &environment, err) < 0)
		return -1;
	run.env = environment.vec.items;
	if (run_program(&run, &status, err) == 0)
		return 0;
	if (err->kind == ERROR_NOT_FOUND || (status == NOT_THERE && !heard.begun))
		return error_hint(err, "; install the package mmdebstrap");
	return tell_failure(&heard, err);
}

static char *joined(const struct text_vec *packages, struct error *err)
{
	_cleanup_str_ struct str s = STR_INIT;

	str_append(&s, "--include=");
	vec_foreach(char *, name, packages) {
		if (name != packages->items)
			str_append_char(&s, ',');
		str_append(&s, *name);
	}
	return str_take(&s, err);
}

/* Sources: the release, its updates and its security updates. */
static int add_sources(
	struct argument_vec *argv, struct text_vec *owned, const char *release, struct error *err)
{
	static const struct {
		const char *archive, *suffix;
	} sources[] = { { "debian", "" }, { "debian", "-updates" },
		{ "debian-security", "-security" } };
	const char *mirror = getenv("BOX_MIRROR");

	if (!mirror || !*mirror)
		mirror = DEFAULT_MIRROR;
	for (size_t i = 0; i < ARRAY_LEN(sources); i++) {
		_cleanup_free_ char *line = str_format(err, "deb %s/%s %s%s main", mirror,
			sources[i].archive, release, sources[i].suffix);

		if (!line || text_vec_add(owned, line, err) < 0 ||
			argument_vec_push(argv, owned->items[owned->len - 1], err) < 0)
			return -1;
	}
	return 0;
}

static int push_all(
	struct argument_vec *argv, const char *const *texts, size_t count, struct error *err)
{
	for (size_t i = 0; i < count; i++)
		if (!texts[i] || argument_vec_push(argv, texts[i], err) < 0)
			return -1;
	return 0;
}

/* mmdebstrap with those words, as root of the tree. */
static int push_run(
	struct argument_vec *argv, const char *const *words, size_t count, struct error *err)
{
	static const char *const program[] = { "mmdebstrap", "--mode=root" };
	size_t before;
	const char *const *prefix = userns_words(&before);

	return push_all(argv, prefix, before, err) < 0 ||
			       push_all(argv, program, ARRAY_LEN(program), err) < 0 ||
			       push_all(argv, words, count, err) < 0
		       ? -1
		       : 0;
}

int bootstrap_base(const struct mint *m, const struct bootstrap *b, struct error *err)
{
	_cleanup_(argument_vec_done) struct argument_vec argv = VEC_INIT;
	_cleanup_texts_ struct text_vec owned = VEC_INIT;
	_cleanup_free_ char *include = joined(b->packages, err);
	_cleanup_free_ char *files = unpack_hook(b->files, err);
	_cleanup_free_ char *end = script_hook("customize", "base/end.sh", err);
	const char *const words[] = { "--variant=minbase", "--format=tar",
		"--skip=cleanup,chroot/policy-rc.d,chroot/start-stop-daemon",
		"--dpkgopt=force-unsafe-io", "--dpkgopt=force-confold", include, files, end,
		b->release, b->tar };

	if (!include || !files || !end || push_run(&argv, words, ARRAY_LEN(words), err) < 0 ||
		add_sources(&argv, &owned, b->release, err) < 0 ||
		argument_vec_push(&argv, NULL, err) < 0)
		return -1;
	return run_mmdebstrap(m, b, &argv, err);
}

/* The names of the packages, one a line, for the stage that installs what is missing. */
static int write_names(const struct mint *m, const struct text_vec *packages, struct error *err)
{
	_cleanup_free_ char *path = mint_work_path(m, "include", err);
	_cleanup_str_ struct str s = STR_INIT;

	vec_foreach(char *, name, packages)
		str_printf(&s, "%s\n", *name);
	if (!path || str_ok(&s, err) < 0)
		return -1;
	return file_replace(AT_FDCWD, path, str_get(&s), s.len, 0644, err);
}

int bootstrap_image(const struct mint *m, const struct bootstrap *b, struct error *err)
{
	_cleanup_(argument_vec_done) struct argument_vec argv = VEC_INIT;
	_cleanup_free_ char *source = unpack_hook(b->source, err);
	_cleanup_free_ char *files = unpack_hook(b->files, err);
	_cleanup_free_ char *begin = script_hook("customize", "base/image-begin.sh", err);
	_cleanup_free_ char *end = script_hook("customize", "base/end.sh", err);
	const char *const words[] = { "--variant=custom", "--format=tar",
		"--skip=setup,update,cleanup,chroot/policy-rc.d,chroot/start-stop-daemon", source,
		files, begin, end, b->release, b->tar, NULL };

	if (!source || !files || !begin || !end || write_names(m, b->packages, err) < 0 ||
		push_run(&argv, words, ARRAY_LEN(words) - 1, err) < 0 ||
		argument_vec_push(&argv, NULL, err) < 0)
		return -1;
	return run_mmdebstrap(m, b, &argv, err);
}

int bootstrap_layer(const struct mint *m, const char *base_tar, struct error *err)
{
	_cleanup_(argument_vec_done) struct argument_vec argv = VEC_INIT;
	_cleanup_free_ char *unpack = unpack_hook(base_tar, err);
	_cleanup_free_ char *begin = script_hook("setup", "layer/begin.sh", err);
	_cleanup_free_ char *end = script_hook("customize", "layer/end.sh", err);
	const char *const words[] = { "--variant=custom", "--format=null",
		"--skip=setup,update,cleanup,chroot/policy-rc.d,chroot/start-stop-daemon", unpack,
		begin, end, recipe_release(m->template), "/dev/null", NULL };

	if (!unpack || !begin || !end || push_run(&argv, words, ARRAY_LEN(words) - 1, err) < 0 ||
		argument_vec_push(&argv, NULL, err) < 0)
		return -1;
	return run_mmdebstrap(m, NULL, &argv, err);
}

static int write_words(const struct mint *m, const char *name, const char *const *argv,
	size_t count, struct error *err)
{
	_cleanup_free_ char *path = mint_work_path(m, name, err);
	_cleanup_str_ struct str words = STR_INIT;

	if (!path)
		return -1;
	for (size_t i = 0; i < count; i++)
		str_append_len(&words, argv[i], strlen(argv[i]) + 1);
	if (str_ok(&words, err) < 0)
		return -1;
	return file_replace(AT_FDCWD, path, str_get(&words), words.len, 0644, err);
}

int bootstrap_add_command(const struct mint *m, unsigned number, const char *const *argv,
	size_t count, struct error *err)
{
	char name[16];

	if (number > 99)
		return error_set(err, ERROR_INVALID, "a template has at most 99 commands to bake");
	(void)snprintf(name, sizeof(name), "bake-%02u", number);
	return write_words(m, name, argv, count, err);
}

int bootstrap_set_verify(
	const struct mint *m, const char *const *argv, size_t count, struct error *err)
{
	return write_words(m, "verify", argv, count, err);
}
