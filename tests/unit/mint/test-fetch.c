/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Downloads from a server on the loopback device that does what bad servers and networks do. */
#include "tests/unit/test.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "images/digest.h"
#include "mint/fetch.h"

enum { CONTENT = 200000, HALF = CONTENT / 2, BIG_LIMIT = 1 << 20 };

static char folder[] = "/tmp/test-fetch.XXXXXX", content[CONTENT], sha256[DIGEST_HEX];
static char sha512[DIGEST_HEX_LONG];
static int port;
static pid_t server;

/* ---- the server: one connection after another, what it does is in the path ---- */

static void say(int fd, const char *text)
{
	(void)!write(fd, text, strlen(text));
}

/* Status and length, then content from at to end. */
static void give(int fd, size_t at, size_t end, size_t claimed)
{
	char head[200];

	snprintf(head, sizeof(head),
		"HTTP/1.1 %s\r\nConnection: close\r\nContent-Length: %zu\r\nContent-Range: bytes %zu-%d/%d\r\n\r\n",
		at ? "206 Partial Content" : "200 OK", claimed, at, CONTENT - 1, CONTENT);
	say(fd, head);
	while (at < end) {
		ssize_t n = write(fd, content + at, end - at);

		if (n <= 0)
			return;
		at += (size_t)n;
	}
}

/* Nothing until the client gives up. */
static void hang(int fd)
{
	struct pollfd p = { fd, POLLRDHUP, 0 };

	(void)poll(&p, 1, 60000);
}

static void give_endless(int fd)
{
	say(fd, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n");
	for (int i = 0; i < 1000 && write(fd, content, CONTENT) > 0; i++)
		;
}

static void answer(int fd, const char *request)
{
	const char *range = strstr(request, "Range: bytes=");
	size_t at = range ? strtoul(range + 13, NULL, 10) : 0;
	const char *path = request + strlen("GET ");

	if (at >= CONTENT)
		say(fd, "HTTP/1.1 416 Range Not Satisfiable\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
	else if (str_starts(path, "/good"))
		give(fd, at, CONTENT, CONTENT - at);
	else if (str_starts(path, "/no-ranges"))
		give(fd, 0, CONTENT, CONTENT);
	else if (str_starts(path, "/breaks-once"))
		give(fd, at, at ? CONTENT : HALF, CONTENT - at);
	else if (str_starts(path, "/breaks-always"))
		give(fd, at, at ? at : HALF, CONTENT - at);
	else if (str_starts(path, "/short"))
		give(fd, 0, HALF, HALF);
	else if (str_starts(path, "/page"))
		say(fd, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n<!DOCTYPE html>\n<html>Log in</html>\n");
	else if (str_starts(path, "/round"))
		say(fd, "HTTP/1.1 302 Found\r\nLocation: /round\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
	else if (str_starts(path, "/elsewhere"))
		say(fd, "HTTP/1.1 302 Found\r\nLocation: /good\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
	else if (str_starts(path, "/file"))
		say(fd, "HTTP/1.1 302 Found\r\nLocation: file:///etc/passwd\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
	else if (str_starts(path, "/endless"))
		give_endless(fd);
	else if (str_starts(path, "/hangs"))
		give(fd, 0, 10, CONTENT), hang(fd);
	else
		say(fd, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
}

static void serve(int listener)
{
	for (;;) {
		int fd = accept(listener, NULL, NULL);
		char request[4096] = "";
		size_t len = 0;
		ssize_t n = 1;

		if (fd < 0)
			_exit(1);
		while (n > 0 && len < sizeof(request) - 1 && !strstr(request, "\r\n\r\n")) {
			n = read(fd, request + len, sizeof(request) - 1 - len);
			len += n > 0 ? (size_t)n : 0;
			request[len] = '\0';
		}
		answer(fd, request);
		(void)close(fd);
	}
}

static int start_server(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(address);
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (listener < 0 || bind(listener, (struct sockaddr *)&address, len) < 0 ||
		listen(listener, 8) < 0 ||
		getsockname(listener, (struct sockaddr *)&address, &len) < 0)
		return -1;
	port = ntohs(address.sin_port);
	server = fork();
	if (server == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)signal(SIGPIPE, SIG_IGN);
		serve(listener);
	}
	(void)close(listener);
	return server < 0 ? -1 : 0;
}

static int set_up(void **state)
{
	static const char *const proxies[] = { "http_proxy", "HTTP_PROXY", "all_proxy",
		"ALL_PROXY" };
	struct error err = { 0 };
	char path[64];
	int fd, ret;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(proxies); i++)
		(void)unsetenv(proxies[i]);
	for (size_t i = 0; i < CONTENT; i++)
		content[i] = (char)('a' + i * 7 % 26);
	digest_bytes(content, CONTENT, sha256);
	if (!mkdtemp(folder))
		return -1;
	snprintf(path, sizeof(path), "%s/content", folder);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, content, CONTENT) != CONTENT)
		return -1;
	ret = digest_fd_long(fd, path, sha512, &err);
	(void)close(fd);
	return ret < 0 ? -1 : start_server();
}

static int tear_down(void **state)
{
	struct error err = { 0 };

	(void)state;
	(void)kill(server, SIGKILL);
	(void)waitpid(server, NULL, 0);
	return file_remove_tree(folder, &err);
}

/* ---- the client ---- */

struct download {
	char url[64], path[64], part[80];
	struct fetch f;
};

static struct fetch *prepare(struct download *d, const char *name)
{
	snprintf(d->url, sizeof(d->url), "http://127.0.0.1:%d/%s", port, name);
	snprintf(d->path, sizeof(d->path), "%s/%s", folder, name);
	snprintf(d->part, sizeof(d->part), "%s.part", d->path);
	d->f = (struct fetch){
		.url = d->url,
		.path = d->path,
		.max = BIG_LIMIT,
		.sha256 = sha256,
		.stall_seconds = 2,
	};
	return &d->f;
}

static off_t size_of(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 ? st.st_size : -1;
}

static void put(const char *path, const char *bytes, size_t len)
{
	struct error err = { 0 };

	assert_ok(file_replace(AT_FDCWD, path, bytes, len, 0644, &err), &err);
}

static void assert_whole(const struct download *d)
{
	_cleanup_str_ struct str text = STR_INIT;
	struct error err = { 0 };

	assert_ok(file_read(AT_FDCWD, d->path, CONTENT, &text, &err), &err);
	assert_int_equal(text.len, CONTENT);
	assert_memory_equal(str_get(&text), content, CONTENT);
	assert_int_equal(size_of(d->part), -1);
}

/* It fails like this, and there is no file that somebody could take for the whole. */
static void assert_refused(struct download *d, enum error_kind kind, const char *text)
{
	struct error err = { 0 };

	assert_int_equal(fetch_file(&d->f, &err), -1);
	assert_error(&err, kind, text);
	assert_int_equal(size_of(d->path), -1);
}

static void test_a_file_arrives(void **state)
{
	static const char *const names[] = { "good", "elsewhere", "no-ranges", "breaks-once" };
	struct error err = { 0 };
	struct download d;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		prepare(&d, names[i]);
		assert_ok(fetch_file(&d.f, &err), &err);
		assert_whole(&d);
	}
	prepare(&d, "good-long")->sha256 = NULL;
	d.f.sha512 = sha512;
	assert_ok(fetch_file(&d.f, &err), &err);
	assert_whole(&d);
}

static void test_what_is_there_is_not_fetched(void **state)
{
	struct error err = { 0 };
	struct download d;

	(void)state;
	prepare(&d, "nowhere");
	put(d.path, content, CONTENT);
	assert_ok(fetch_file(&d.f, &err), &err);
	d.f.offline = true;
	assert_ok(fetch_file(&d.f, &err), &err);
}

static void test_a_stale_copy_is_made_anew(void **state)
{
	struct error err = { 0 };
	struct download d;

	(void)state;
	prepare(&d, "good-stale");
	put(d.path, "an earlier one", 14);
	d.f.offline = true;
	assert_int_equal(fetch_file(&d.f, &err), -1);
	assert_error(&err, ERROR_UNREACHABLE, "--offline was asked for");
	assert_int_equal(size_of(d.path), 14);
	d.f.offline = false;
	error_clear(&err);
	assert_ok(fetch_file(&d.f, &err), &err);
	assert_whole(&d);
}

static void test_a_part_is_gone_on_with(void **state)
{
	static const char *const names[] = { "good-part", "no-ranges-part" };
	struct error err = { 0 };
	struct download d;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		prepare(&d, names[i]);
		put(d.part, content, HALF);
		assert_ok(fetch_file(&d.f, &err), &err);
		assert_whole(&d);
	}
	/* all of it is in the part: nothing is left to ask for */
	prepare(&d, "good-all");
	put(d.part, content, CONTENT);
	assert_ok(fetch_file(&d.f, &err), &err);
	assert_whole(&d);
	/* the part was of another file */
	prepare(&d, "good-other");
	put(d.part, sha512, 100);
	assert_ok(fetch_file(&d.f, &err), &err);
	assert_whole(&d);
}

static void test_each_failure_has_its_own_words(void **state)
{
	struct download d;

	(void)state;
	prepare(&d, "short");
	assert_refused(
		&d, ERROR_INVALID, "has another checksum than was expected (100000 bytes came)");
	assert_int_equal(size_of(d.part), -1);
	prepare(&d, "good-unlike")->sha256 = sha512 + 64;
	assert_refused(
		&d, ERROR_INVALID, "has another checksum than was expected (200000 bytes came)");
	prepare(&d, "page");
	assert_refused(&d, ERROR_INVALID, "gave a web page instead of the file");
	prepare(&d, "nowhere-else");
	assert_refused(&d, ERROR_NOT_FOUND, "404");
	prepare(&d, "round");
	assert_refused(&d, ERROR_INVALID, "more than 5 times");
	prepare(&d, "file");
	assert_refused(&d, ERROR_FAILED, "file");
	prepare(&d, "endless");
	assert_refused(&d, ERROR_INVALID, "is larger than 1048576 bytes");
	prepare(&d, "good-nobody");
	snprintf(d.url, sizeof(d.url), "http://127.0.0.1:1/");
	assert_refused(&d, ERROR_UNREACHABLE, "cannot fetch");
}

static void test_what_arrived_of_a_broken_transfer_is_kept(void **state)
{
	struct download d;

	(void)state;
	prepare(&d, "breaks-always");
	assert_refused(&d, ERROR_UNREACHABLE, "broke off after 100000 bytes");
	assert_int_equal(size_of(d.part), HALF);
	prepare(&d, "hangs");
	assert_refused(&d, ERROR_TIMEOUT, "does not answer");
	assert_int_equal(size_of(d.part), 10);
}

static void test_a_text_is_bounded(void **state)
{
	_cleanup_str_ struct str text = STR_INIT;
	struct error err = { 0 };
	struct download d;

	(void)state;
	prepare(&d, "good");
	assert_int_equal(fetch_text(d.url, NULL, HALF, &text, &err), -1);
	assert_error(&err, ERROR_INVALID, "is larger than 100000 bytes");
	str_clear(&text);
	error_clear(&err);
	assert_ok(fetch_text(d.url, "text/plain", CONTENT, &text, &err), &err);
	assert_int_equal(text.len, CONTENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_file_arrives),
		cmocka_unit_test(test_what_is_there_is_not_fetched),
		cmocka_unit_test(test_a_stale_copy_is_made_anew),
		cmocka_unit_test(test_a_part_is_gone_on_with),
		cmocka_unit_test(test_each_failure_has_its_own_words),
		cmocka_unit_test(test_what_arrived_of_a_broken_transfer_is_kept),
		cmocka_unit_test(test_a_text_is_bounded),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
