/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "mint/fetch.h"

#include <curl/curl.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "images/digest.h"

enum {
	REDIRECTS_MAX = 5,
	CONNECT_SECONDS = 30,
	STALL_SECONDS = 60, /* so long without a byte a second: the server hangs */
	TEXT_SECONDS = 120,
	TRIES_MAX = 5, /* of a transfer that breaks off and gets further each time */
};

DEFINE_CLEANUP(CURL *, curl_easy_cleanup);
DEFINE_CLEANUP(struct curl_slist *, curl_slist_free_all);

/* What is being received, into a text or into a file. */
struct transfer {
	CURL *curl;
	const char *url;
	struct str *text;
	int fd;
	uint64_t had, done, max; /* had: of an earlier try */
	bool too_large, restarted, broke_off;
	int write_errno;
	long stall_seconds; /* 0: the default */
	void (*progress)(uint64_t done, uint64_t total);
	char error[CURL_ERROR_SIZE];
};

/* The server ignored our wish to go on where we were: begin anew. */
static int check_range(struct transfer *t)
{
	long status = 0;

	if (!t->had || t->restarted)
		return 0;
	(void)curl_easy_getinfo(t->curl, CURLINFO_RESPONSE_CODE, &status);
	t->restarted = true;
	if (status == 206)
		return 0;
	t->done = 0;
	return ftruncate(t->fd, 0) < 0 || lseek(t->fd, 0, SEEK_SET) < 0 ? -1 : 0;
}

static size_t receive(char *bytes, size_t size, size_t count, void *data)
{
	struct transfer *t = data;
	size_t len = size * count;
	struct error err = { 0 };

	if (t->fd >= 0 && check_range(t) < 0) {
		t->write_errno = errno;
		return 0;
	}
	if (t->done + len > t->max) {
		t->too_large = true;
		return 0;
	}
	if (t->text)
		str_append_len(t->text, bytes, len);
	else if (fd_write_all(t->fd, bytes, len, "the download", &err) < 0) {
		t->write_errno = err.kind == ERROR_NO_SPACE ? ENOSPC : EIO;
		return 0;
	}
	t->done += len;
	return len;
}

static int tell(void *data, curl_off_t total, curl_off_t now, curl_off_t up_total, curl_off_t up)
{
	struct transfer *t = data;

	(void)now;
	(void)up_total;
	(void)up;
	if (t->progress)
		t->progress(t->done, total ? t->had + (uint64_t)total : 0);
	return 0;
}

/* Options that every transfer has. The names are checked by curl itself. */
static int set_options(struct transfer *t, struct error *err)
{
	CURL *c = t->curl;

	if (curl_easy_setopt(c, CURLOPT_URL, t->url) != CURLE_OK ||
		curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "https,http") != CURLE_OK ||
		curl_easy_setopt(c, CURLOPT_REDIR_PROTOCOLS_STR,
			str_starts(t->url, "https:") ? "https" : "https,http") != CURLE_OK ||
		curl_easy_setopt(c, CURLOPT_FOLLOWLOCATION, 1L) != CURLE_OK ||
		curl_easy_setopt(c, CURLOPT_MAXREDIRS, (long)REDIRECTS_MAX) != CURLE_OK ||
		curl_easy_setopt(c, CURLOPT_FAILONERROR, 1L) != CURLE_OK ||
		curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT, (long)CONNECT_SECONDS) != CURLE_OK ||
		curl_easy_setopt(c, CURLOPT_LOW_SPEED_LIMIT, 1L) != CURLE_OK ||
		curl_easy_setopt(c, CURLOPT_LOW_SPEED_TIME,
			t->stall_seconds ? t->stall_seconds : (long)STALL_SECONDS) != CURLE_OK ||
		curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L) != CURLE_OK ||
		curl_easy_setopt(c, CURLOPT_ERRORBUFFER, t->error) != CURLE_OK ||
		curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, receive) != CURLE_OK ||
		curl_easy_setopt(c, CURLOPT_WRITEDATA, t) != CURLE_OK ||
		curl_easy_setopt(c, CURLOPT_XFERINFOFUNCTION, tell) != CURLE_OK ||
		curl_easy_setopt(c, CURLOPT_XFERINFODATA, t) != CURLE_OK ||
		curl_easy_setopt(c, CURLOPT_NOPROGRESS, 0L) != CURLE_OK ||
		curl_easy_setopt(c, CURLOPT_USERAGENT, "box-mint") != CURLE_OK)
		return error_set(err, ERROR_FAILED, "cannot prepare the download of '%s'", t->url);
	/* curl the program honours these; the library leaves it to us */
	if (getenv("CURL_CA_BUNDLE"))
		(void)curl_easy_setopt(c, CURLOPT_CAINFO, getenv("CURL_CA_BUNDLE"));
	else if (getenv("SSL_CERT_FILE"))
		(void)curl_easy_setopt(c, CURLOPT_CAINFO, getenv("SSL_CERT_FILE"));
	return 0;
}

static int transfer_failed(struct transfer *t, CURLcode code, struct error *err)
{
	_cleanup_str_ struct str why = STR_INIT;
	const char *text = *t->error ? t->error : curl_easy_strerror(code);
	enum error_kind kind = ERROR_FAILED;
	long status = 0;

	(void)curl_easy_getinfo(t->curl, CURLINFO_RESPONSE_CODE, &status);
	str_append_escaped(&why, text, strlen(text), false);
	if (t->too_large)
		return error_set(err, ERROR_INVALID, "'%s' is larger than %llu bytes: refused",
			t->url, (unsigned long long)t->max);
	if (t->write_errno)
		return error_errno(err, t->write_errno, "cannot store '%s'", t->url);
	if (code == CURLE_OPERATION_TIMEDOUT)
		return error_set(err, ERROR_TIMEOUT,
			"the server of '%s' does not answer: %s; try again, what arrived is kept",
			t->url, str_get(&why));
	if (code == CURLE_PARTIAL_FILE || code == CURLE_RECV_ERROR || code == CURLE_GOT_NOTHING) {
		t->broke_off = true;
		return error_set(err, ERROR_UNREACHABLE,
			"the transfer of '%s' broke off after %llu bytes: %s; try again, what arrived is "
			"kept",
			t->url, (unsigned long long)t->done, str_get(&why));
	}
	if (code == CURLE_TOO_MANY_REDIRECTS)
		return error_set(err, ERROR_INVALID,
			"'%s' leads from one address to the next, more than %d times: refused",
			t->url, REDIRECTS_MAX);
	if (status == 404 || status == 410)
		kind = ERROR_NOT_FOUND;
	else if (code == CURLE_COULDNT_CONNECT || code == CURLE_COULDNT_RESOLVE_HOST ||
		 code == CURLE_COULDNT_RESOLVE_PROXY)
		kind = ERROR_UNREACHABLE;
	return error_set(err, kind, "cannot fetch '%s': %s", t->url, str_get(&why));
}

static int perform(struct transfer *t, struct error *err)
{
	CURLcode code;

	if (set_options(t, err) < 0)
		return -1;
	code = curl_easy_perform(t->curl);
	return code == CURLE_OK ? 0 : transfer_failed(t, code, err);
}

int fetch_text(const char *url, const char *accept, size_t max, struct str *into, struct error *err)
{
	_cleanup_(curl_easy_cleanup_p) CURL *curl = curl_easy_init();
	_cleanup_(curl_slist_free_all_p) struct curl_slist *headers = NULL;
	_cleanup_free_ char *header = NULL;
	struct transfer t = { .curl = curl, .url = url, .text = into, .fd = -1, .max = max };

	if (!curl)
		return error_oom(err);
	if (accept) {
		header = str_format(err, "Accept: %s", accept);
		if (!header)
			return -1;
		headers = curl_slist_append(NULL, header);
		if (!headers)
			return error_oom(err);
		(void)curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
	}
	(void)curl_easy_setopt(curl, CURLOPT_TIMEOUT, (long)TEXT_SECONDS);
	if (perform(&t, err) < 0)
		return -1;
	return str_ok(into, err);
}

/* ---- files ---- */

/* 1: the file's digests are the wanted ones; 0; -1. */
static int digest_matches(const struct fetch *f, int fd, struct error *err)
{
	char hex[DIGEST_HEX], long_hex[DIGEST_HEX_LONG];

	if (f->sha256) {
		if (digest_fd(fd, f->path, NULL, NULL, hex, err) < 0)
			return -1;
		if (!str_equal(hex, f->sha256))
			return 0;
	}
	if (f->sha512) {
		if (digest_fd_long(fd, f->path, long_hex, err) < 0)
			return -1;
		if (!str_equal(long_hex, f->sha512))
			return 0;
	}
	return 1;
}

/* A login page of a hotel's network is a success to curl. */
static bool is_web_page(int fd)
{
	char head[512];
	ssize_t n = pread(fd, head, sizeof(head) - 1, 0);

	if (n <= 0)
		return false;
	head[n] = '\0';
	return strcasestr(head, "<!doctype html") || strcasestr(head, "<html");
}

/* The whole file is there: 1, 0, -1. */
static int is_there(const struct fetch *f, struct error *err)
{
	struct error ignored = { 0 };
	_cleanup_close_ int fd = file_open(AT_FDCWD, f->path, &ignored);

	if (fd < 0)
		return 0;
	return digest_matches(f, fd, err);
}

/* Go on with what there is. *ret_broke_off: another try may get further. */
static int receive_file(const struct fetch *f, int fd, bool *ret_broke_off, struct error *err)
{
	_cleanup_(curl_easy_cleanup_p) CURL *curl = curl_easy_init();
	struct transfer t = { .curl = curl, .url = f->url, .fd = fd, .max = f->max };
	struct stat st;
	int ret;

	if (!curl)
		return error_oom(err);
	if (fstat(fd, &st) < 0 || lseek(fd, 0, SEEK_END) < 0)
		return error_errno(err, errno, "cannot go on with '%s'", f->path);
	t.had = t.done = (uint64_t)st.st_size;
	t.progress = f->progress;
	t.stall_seconds = f->stall_seconds;
	if (t.had)
		(void)curl_easy_setopt(curl, CURLOPT_RESUME_FROM_LARGE, (curl_off_t)t.had);
	ret = perform(&t, err);
	*ret_broke_off = t.broke_off && t.done > t.had;
	return ret;
}

/* Again and again while it breaks off and each try gets further. */
static int receive_all(const struct fetch *f, int fd, struct error *err)
{
	bool broke_off = true;
	int ret = -1;

	for (int i = 0; ret < 0 && broke_off && i < TRIES_MAX; i++) {
		error_clear(err);
		ret = receive_file(f, fd, &broke_off, err);
	}
	return ret;
}

/*
 * All of the file in fd with the right digest: 1; 0 with another one; -1. A part that is complete, or was of
 * another file, makes the server refuse, or the digest wrong: then the whole is fetched, once.
 */
static int receive_right(const struct fetch *f, int fd, struct error *err)
{
	off_t had = lseek(fd, 0, SEEK_END);
	struct error first = { 0 };
	int matches = 0;

	if (receive_all(f, fd, &first) < 0 && (had <= 0 || first.kind != ERROR_FAILED)) {
		*err = first;
		return -1;
	}
	matches = digest_matches(f, fd, err);
	if (matches || had <= 0)
		return matches;
	if (ftruncate(fd, 0) < 0)
		return error_errno(err, errno, "cannot begin '%s' anew", f->path);
	return receive_all(f, fd, err) < 0 ? -1 : digest_matches(f, fd, err);
}

/* What came is not what was wanted: say which of the likely reasons it is. */
static int refuse(const struct fetch *f, int fd, struct error *err)
{
	struct stat st = { 0 };

	if (is_web_page(fd))
		return error_set(err, ERROR_INVALID,
			"'%s' gave a web page instead of the file: is there a login page in between?",
			f->url);
	(void)fstat(fd, &st);
	return error_set(err, ERROR_INVALID,
		"'%s' has another checksum than was expected (%llu bytes came): it is damaged, truncated, or "
		"not the file that was meant; nothing of it was used",
		f->url, (unsigned long long)st.st_size);
}

/*
 * The part, for us alone: another mint that fetches the same file is waited for. It may have moved the part to
 * its place, or thrown it away, meanwhile: then *ret_fd is of a new one.
 */
static int open_part(const char *part, int *ret_fd, struct error *err)
{
	for (;;) {
		_cleanup_close_ int fd = open(
			part, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
		struct stat st, named;

		if (fd < 0)
			return error_errno(err, errno, "cannot create '%s'", part);
		while (flock(fd, LOCK_EX) < 0)
			if (errno != EINTR)
				return error_errno(err, errno, "cannot lock '%s'", part);
		if (fstat(fd, &st) < 0)
			return error_errno(err, errno, "cannot look at '%s'", part);
		if (lstat(part, &named) == 0 && named.st_ino == st.st_ino) {
			*ret_fd = fd_take(&fd);
			return 0;
		}
	}
}

int fetch_file(const struct fetch *f, struct error *err)
{
	_cleanup_free_ char *part = str_format(err, "%s.part", f->path);
	_cleanup_close_ int fd = -1;
	int matches;

	if (!part)
		return -1;
	matches = is_there(f, err);
	if (matches)
		return matches < 0 ? -1 : 0;
	if (f->offline)
		return error_set(err, ERROR_UNREACHABLE,
			"'%s' is not in the cache, or what is there has another checksum, and --offline was "
			"asked for",
			f->url);
	if (open_part(part, &fd, err) < 0)
		return -1;
	matches = is_there(f, err);
	if (matches == 1)
		(void)unlink(part);
	if (matches)
		return matches < 0 ? -1 : 0;
	matches = receive_right(f, fd, err);
	if (matches < 0)
		return -1;
	if (matches == 0) {
		(void)unlink(part);
		return refuse(f, fd, err);
	}
	if (fsync(fd) < 0 || rename(part, f->path) < 0)
		return error_errno(err, errno, "cannot store '%s'", f->path);
	return 0;
}
