/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "mint/fetch.h"

#include <curl/curl.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "images/digest.h"

enum {
	REDIRECTS_MAX = 5,
	CONNECT_SECONDS = 30,
	STALL_SECONDS = 60, /* so long without a byte a second: the server hangs */
	TEXT_SECONDS = 120,
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
	bool too_large, restarted;
	int write_errno;
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
		curl_easy_setopt(c, CURLOPT_LOW_SPEED_TIME, (long)STALL_SECONDS) != CURLE_OK ||
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

static int is_there(const struct fetch *f, struct error *err)
{
	_cleanup_close_ int fd = open(f->path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return 0;
	return digest_matches(f, fd, err);
}

static int receive_file(const struct fetch *f, int fd, struct error *err)
{
	_cleanup_(curl_easy_cleanup_p) CURL *curl = curl_easy_init();
	struct transfer t = { .curl = curl, .url = f->url, .fd = fd, .max = f->max };
	struct stat st;

	if (!curl)
		return error_oom(err);
	if (fstat(fd, &st) < 0 || lseek(fd, 0, SEEK_END) < 0)
		return error_errno(err, errno, "cannot go on with '%s'", f->path);
	t.had = t.done = (uint64_t)st.st_size;
	t.progress = f->progress;
	if (t.had)
		(void)curl_easy_setopt(curl, CURLOPT_RESUME_FROM_LARGE, (curl_off_t)t.had);
	return perform(&t, err);
}

/* Fetch the rest of the part. A part that is complete, or was of another file, makes the server refuse. */
static int receive_or_restart(const struct fetch *f, int fd, struct error *err)
{
	struct error first = { 0 };
	off_t had = lseek(fd, 0, SEEK_END);

	if (receive_file(f, fd, &first) == 0)
		return 0;
	if (had <= 0 || first.kind != ERROR_FAILED) {
		*err = first;
		return -1;
	}
	if (digest_matches(f, fd, err) == 1)
		return 0;
	if (ftruncate(fd, 0) < 0)
		return error_errno(err, errno, "cannot begin '%s' anew", f->path);
	return receive_file(f, fd, err);
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
	fd = open(part, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	if (fd < 0)
		return error_errno(err, errno, "cannot create '%s'", part);
	if (receive_or_restart(f, fd, err) < 0)
		return -1;
	matches = digest_matches(f, fd, err);
	if (matches == 1 && (fsync(fd) < 0 || rename(part, f->path) < 0))
		return error_errno(err, errno, "cannot store '%s'", f->path);
	if (matches)
		return matches < 0 ? -1 : 0;
	(void)unlink(part);
	if (is_web_page(fd))
		return error_set(err, ERROR_INVALID,
			"'%s' gave a web page instead of the file: is there a login page in between?",
			f->url);
	return error_set(err, ERROR_INVALID,
		"'%s' has another checksum than was expected: it is damaged, or not the file that was "
		"meant; nothing of it was used",
		f->url);
}
