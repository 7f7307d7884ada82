/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "images/digest.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/fd.h"

enum { CHUNK = 256 * 1024 };

static void to_hex(const uint8_t *raw, size_t len, char *hex)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < len; i++) {
		hex[2 * i] = digits[raw[i] >> 4];
		hex[2 * i + 1] = digits[raw[i] & 15];
	}
	hex[2 * len] = '\0';
}

void digest_init(struct digest *d)
{
	sha256_init(&d->ctx);
}

void digest_add(struct digest *d, const void *bytes, size_t len)
{
	sha256_update(&d->ctx, len, bytes);
}

void digest_field(struct digest *d, const char *name, const void *bytes, size_t len)
{
	uint8_t size[8];

	digest_add(d, name, strlen(name) + 1);
	for (int i = 0; i < 8; i++)
		size[i] = bytes ? (uint8_t)(len >> (8 * i)) : 0xff;
	digest_add(d, size, sizeof(size));
	if (bytes)
		digest_add(d, bytes, len);
}

void digest_field_text(struct digest *d, const char *name, const char *text)
{
	digest_field(d, name, text, text ? strlen(text) : 0);
}

void digest_hex(struct digest *d, char hex[DIGEST_HEX])
{
	uint8_t raw[SHA256_DIGEST_SIZE];

	sha256_digest(&d->ctx, sizeof(raw), raw);
	to_hex(raw, sizeof(raw), hex);
}

void digest_bytes(const void *bytes, size_t len, char hex[DIGEST_HEX])
{
	struct digest d;

	digest_init(&d);
	digest_add(&d, bytes, len);
	digest_hex(&d, hex);
}

/* Feed the file to update, chunk by chunk. */
static int read_through(int fd, const char *what, void (*update)(void *, size_t, const uint8_t *),
	void *ctx, void (*progress)(uint64_t, void *), void *data, struct error *err)
{
	_cleanup_free_ uint8_t *buf = malloc(CHUNK);
	uint64_t done = 0;

	if (!buf)
		return error_oom(err);
	if (lseek(fd, 0, SEEK_SET) < 0)
		return error_errno(err, errno, "cannot read %s", what);
	for (;;) {
		ssize_t n = read(fd, buf, CHUNK);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return error_errno(err, errno, "cannot read %s", what);
		if (n == 0)
			return 0;
		update(ctx, (size_t)n, buf);
		done += (uint64_t)n;
		if (progress)
			progress(done, data);
	}
}

static void update_short(void *ctx, size_t len, const uint8_t *bytes)
{
	sha256_update(ctx, len, bytes);
}

static void update_long(void *ctx, size_t len, const uint8_t *bytes)
{
	sha512_update(ctx, len, bytes);
}

int digest_fd(int fd, const char *what, void (*progress)(uint64_t done, void *data), void *data,
	char hex[DIGEST_HEX], struct error *err)
{
	struct digest d;

	digest_init(&d);
	if (read_through(fd, what, update_short, &d.ctx, progress, data, err) < 0)
		return -1;
	digest_hex(&d, hex);
	return 0;
}

int digest_fd_long(int fd, const char *what, char hex[DIGEST_HEX_LONG], struct error *err)
{
	uint8_t raw[SHA512_DIGEST_SIZE];
	struct sha512_ctx ctx;

	sha512_init(&ctx);
	if (read_through(fd, what, update_long, &ctx, NULL, NULL, err) < 0)
		return -1;
	sha512_digest(&ctx, sizeof(raw), raw);
	to_hex(raw, sizeof(raw), hex);
	return 0;
}

int digest_file(const char *path, char hex[DIGEST_HEX], struct error *err)
{
	_cleanup_close_ int fd = file_open(AT_FDCWD, path, err);
	_cleanup_free_ char *what = fd < 0 ? NULL : str_format(err, "'%s'", path);

	if (!what)
		return -1;
	return digest_fd(fd, what, NULL, NULL, hex, err);
}
