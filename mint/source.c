/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "mint/source.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/run.h"
#include "mint/checksums.h"
#include "mint/event.h"
#include "mint/fetch.h"
#include "mint/signature.h"

#define IMAGE_MAX (32ull << 30) /* to fetch */
#define LOCAL_MAX (1024ull << 30) /* at hand, where a raw disk may be all holes */
enum { LIST_MAX = 4 << 20, INFO_TIMEOUT_MS = 60000 };

void source_file_done(struct source_file *f)
{
	free(f->path);
	memset(f, 0, sizeof(*f));
}
#define _cleanup_source_file_ _cleanup_(source_file_done)

/* ---- the list of checksums ---- */

/* "https://host/a/b.qcow2?x" gives "b.qcow2". */
static char *file_of(const char *url, struct error *err)
{
	size_t end = strcspn(url, "?#");
	const char *name = url + end;

	while (name > url && name[-1] != '/')
		name--;
	return str_format(err, "%.*s", (int)(url + end - name), name);
}

/* A signature of its own is beside the list, under one of the names that distributions use. */
static int fetch_signature(const char *url, struct str *into, struct error *err)
{
	static const char *const endings[] = { ".sign", ".gpg", ".asc", ".sig" };
	struct error last = { 0 };

	for (size_t i = 0; i < ARRAY_LEN(endings); i++) {
		_cleanup_free_ char *beside = str_format(err, "%s%s", url, endings[i]);

		if (!beside)
			return -1;
		str_clear(into);
		error_clear(&last);
		if (fetch_text(beside, NULL, LIST_MAX, into, &last) == 0)
			return 0;
		if (last.kind != ERROR_NOT_FOUND) {
			*err = last;
			return -1;
		}
	}
	return error_set(err, ERROR_NOT_FOUND,
		"'%s' is not signed within itself, and no signature is beside it (.sign, .gpg, .asc, .sig)",
		url);
}

static int signed_list(
	const struct mint *m, const struct source *s, struct str *list, struct error *err)
{
	_cleanup_str_ struct str text = STR_INIT, detached = STR_INIT;
	struct signature signature = {
		.keyring = s->keyring,
		.key = s->key,
		.folder = m->work.path,
		.what = s->checksums,
		.text = &text,
	};

	if (fetch_text(s->checksums, NULL, LIST_MAX, &text, err) < 0)
		return -1;
	if (!signature_is_inline(&text)) {
		if (fetch_signature(s->checksums, &detached, err) < 0)
			return -1;
		signature.detached = &detached;
	}
	return signature_check(&signature, list, err);
}

/* What the file must be: digests that the template gives, or the signed list. hex is "" or of either kind. */
static int expected(
	const struct mint *m, const struct source *s, char hex[DIGEST_HEX_LONG], struct error *err)
{
	_cleanup_str_ struct str list = STR_INIT;
	_cleanup_free_ char *file = file_of(s->location, err);

	hex[0] = '\0';
	if (!s->checksums)
		return file ? 0 : -1;
	if (m->offline)
		return error_set(err, ERROR_UNREACHABLE,
			"the signed list '%s' must be fetched, and --offline was asked for",
			s->checksums);
	if (!file || signed_list(m, s, &list, err) < 0)
		return -1;
	return checksum_find(str_get(&list), list.len, file, s->checksums, hex, err);
}

/* ---- the file ---- */

/* By its digest, so that another version of the same address is another file. */
static char *cache_path(
	const struct mint *m, const struct source *s, const char *digest, struct error *err)
{
	_cleanup_free_ char *file = file_of(s->location, err);

	for (char *c = file; c && *c; c++)
		if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_",
			    *c))
			*c = '_';
	return file ? str_format(err, "%s/%.16s-%.100s", m->cache->sources, digest, file) : NULL;
}

static int fetch_source(
	const struct mint *m, const struct source *s, struct source_file *ret, struct error *err)
{
	char listed[DIGEST_HEX_LONG];
	struct fetch f = {
		.url = s->location,
		.max = IMAGE_MAX,
		.sha256 = s->sha256,
		.sha512 = s->sha512,
		.progress = event_progress,
		.offline = m->offline,
	};

	if (expected(m, s, listed, err) < 0)
		return -1;
	if (strlen(listed) == DIGEST_HEX - 1)
		f.sha256 = listed;
	else if (*listed)
		f.sha512 = listed;
	ret->path = cache_path(m, s, f.sha512 ? f.sha512 : f.sha256, err);
	f.path = ret->path;
	if (s->checksums)
		(void)snprintf(ret->signer, sizeof(ret->signer), "%s", s->key);
	return f.path ? fetch_file(&f, err) : -1;
}

/* A local file is read where it is. */
static int check_local(const struct source *s, int fd, const char *hex, struct error *err)
{
	char long_hex[DIGEST_HEX_LONG];

	if (s->sha256 && !str_equal(s->sha256, hex))
		return error_set(err, ERROR_INVALID,
			"'%s' has the SHA-256 %s, and the template wants %s", s->location, hex,
			s->sha256);
	if (!s->sha512)
		return 0;
	if (digest_fd_long(fd, s->location, long_hex, err) < 0)
		return -1;
	if (!str_equal(s->sha512, long_hex))
		return error_set(err, ERROR_INVALID,
			"'%s' has another SHA-512 than the template wants", s->location);
	return 0;
}

enum source_format source_format(const unsigned char *head, size_t len)
{
	static const struct {
		size_t at;
		const char *bytes;
		size_t len;
		enum source_format format;
	} magics[] = {
		{ 0, "QFI\xfb", 4, FORMAT_QCOW2 },
		{ 257, "ustar", 5, FORMAT_TAR },
		{ 0, "\x1f\x8b", 2, FORMAT_TAR }, /* compressed: only archives are taken so */
		{ 0,
			"\xfd"
			"7zXZ",
			5, FORMAT_TAR },
		{ 0, "BZh", 3, FORMAT_TAR },
		{ 0, "\x28\xb5\x2f\xfd", 4, FORMAT_TAR },
	};

	for (size_t i = 0; i < ARRAY_LEN(magics); i++)
		if (len >= magics[i].at + magics[i].len &&
			memcmp(head + magics[i].at, magics[i].bytes, magics[i].len) == 0)
			return magics[i].format;
	return FORMAT_RAW;
}

/* A qcow2 that stands on another file, or keeps its data in one, would bring in files of this machine. */
static int check_alone(const char *path, struct error *err)
{
	const char *const argv[] = { "qemu-img", "info", "--output=json", "-f", "qcow2", "--", path,
		NULL };
	_cleanup_str_ struct str out = STR_INIT;
	const struct run run = { .argv = argv, .output = &out, .timeout_ms = INFO_TIMEOUT_MS };
	_cleanup_json_ json_t *root = NULL;
	const json_t *specific;

	if (run_program(&run, NULL, err) < 0)
		return -1;
	root = json_parse(str_get(&out), out.len, path, err);
	if (!root)
		return -1;
	specific = json_object_get(json_object_get(root, "format-specific"), "data");
	if (json_object_get(root, "backing-filename") || json_object_get(specific, "data-file"))
		return error_set(err, ERROR_INVALID,
			"'%s' is a part of a disk: it names another file, which is not looked at; give a "
			"whole image (qemu-img convert makes one)",
			path);
	return 0;
}

static void tell_bytes(uint64_t done, void *data)
{
	event_progress(done, *(uint64_t *)data);
}

static int look_at(const struct source *s, struct source_file *f, struct error *err)
{
	_cleanup_close_ int fd = file_open(AT_FDCWD, f->path, err);
	unsigned char head[512];
	uint64_t size;
	ssize_t n;

	if (fd < 0)
		return -1;
	size = (uint64_t)lseek(fd, 0, SEEK_END);
	if (size > LOCAL_MAX)
		return error_set(err, ERROR_INVALID,
			"'%s' is larger than %llu GiB, and no image is", f->path, LOCAL_MAX >> 30);
	n = pread(fd, head, sizeof(head), 0);
	if (n < (ssize_t)sizeof(head))
		return error_set(err, ERROR_INVALID, "'%s' is too short to be an image", f->path);
	f->format = source_format(head, (size_t)n);
	if (digest_fd(fd, f->path, tell_bytes, &size, f->sha256, err) < 0)
		return -1;
	if (s->kind == SOURCE_FILE && check_local(s, fd, f->sha256, err) < 0)
		return -1;
	return f->format == FORMAT_QCOW2 ? check_alone(f->path, err) : 0;
}

int source_get(
	const struct mint *m, const struct source *s, struct source_file *ret, struct error *err)
{
	_cleanup_source_file_ struct source_file f = { 0 };

	if (s->kind == SOURCE_URL) {
		if (fetch_source(m, s, &f, err) < 0)
			return -1;
	} else {
		f.path = str_dup(s->location, err);
	}
	if (!f.path || look_at(s, &f, err) < 0)
		return -1;
	*ret = f;
	memset(&f, 0, sizeof(f));
	return 0;
}
