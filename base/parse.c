/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/parse.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"

/* Leading digits of text; *ret_end is what follows. false: no digit at all, or it overflows. */
static bool leading_u64(const char *text, uint64_t *ret, const char **ret_end)
{
	uint64_t value = 0;
	const char *p = text;

	for (; *p >= '0' && *p <= '9'; p++) {
		if (__builtin_mul_overflow(value, 10u, &value) ||
			__builtin_add_overflow(value, (unsigned)(*p - '0'), &value))
			return false;
	}
	if (p == text)
		return false;
	*ret = value;
	*ret_end = p;
	return true;
}

int parse_u64(const char *text, uint64_t min, uint64_t max, const char *what, uint64_t *ret,
	struct error *err)
{
	const char *end = NULL;
	uint64_t value = 0;

	if (!leading_u64(text, &value, &end) || *end || value < min || value > max)
		return error_set(err, ERROR_USAGE,
			"%s: '%s' is not a number from %" PRIu64 " to %" PRIu64, what, text, min,
			max);
	*ret = value;
	return 0;
}

static const struct unit {
	const char *name;
	unsigned shift;
} units[] = {
	{ "KiB", 10 },
	{ "MiB", 20 },
	{ "GiB", 30 },
	{ "TiB", 40 },
};

int parse_size(const char *text, const char *what, uint64_t *ret, struct error *err)
{
	const char *end = NULL;
	uint64_t value = 0;

	if (!leading_u64(text, &value, &end))
		return error_set(err, ERROR_USAGE,
			"%s: '%s' is not a size; write a number and a unit, such as 512MiB or 2GiB",
			what, text);
	if (!*end)
		return error_set(err, ERROR_USAGE, "%s: '%s' has no unit; write %sMiB or %sGiB",
			what, text, text, text);
	for (size_t i = 0; i < ARRAY_LEN(units); i++) {
		if (strcmp(end, units[i].name) != 0)
			continue;
		if (value == 0 || value > (UINT64_MAX >> 1 >> units[i].shift))
			return error_set(err, ERROR_USAGE, "%s: '%s' is out of range", what, text);
		*ret = value << units[i].shift;
		return 0;
	}
	return error_set(err, ERROR_USAGE,
		"%s: '%s' has an unknown unit; the units are KiB, MiB, GiB and TiB, such as %.*sGiB",
		what, text, (int)(end - text), text);
}

int parse_duration(const char *text, const char *what, uint64_t *ret, struct error *err)
{
	const char *end = NULL;
	uint64_t value = 0, factor = 0;

	if (leading_u64(text, &value, &end)) {
		if (!*end || str_equal(end, "s"))
			factor = 1000;
		else if (str_equal(end, "m"))
			factor = 60 * 1000;
		else if (str_equal(end, "h"))
			factor = 3600 * 1000;
	}
	/* A year is more than any time limit here is for, and keeps sums of times from overflowing. */
	if (!factor || value == 0 || value > 366ull * 24 * 3600 * 1000 / factor)
		return error_set(err, ERROR_USAGE,
			"%s: '%s' is not a time span; write seconds, or a number with s, m or h, such as 90s",
			what, text);
	*ret = value * factor;
	return 0;
}

int parse_ipv4(const char *text, const char *what, uint32_t *ret, struct error *err)
{
	struct in_addr addr;

	if (inet_pton(AF_INET, text, &addr) != 1)
		return error_set(err, ERROR_USAGE, "%s: '%s' is not an IPv4 address", what, text);
	*ret = ntohl(addr.s_addr);
	return 0;
}

int parse_cidr(const char *text, const char *what, uint32_t *ret_addr, unsigned *ret_len,
	struct error *err)
{
	char addr_text[INET_ADDRSTRLEN];
	const char *slash = strchr(text, '/');
	uint64_t len = 0;
	uint32_t addr = 0;

	if (!slash || (size_t)(slash - text) >= sizeof(addr_text))
		return error_set(err, ERROR_USAGE,
			"%s: '%s' is not a network; write it as 10.88.0.0/24", what, text);
	memcpy(addr_text, text, (size_t)(slash - text));
	addr_text[slash - text] = '\0';
	if (parse_ipv4(addr_text, what, &addr, err) < 0 ||
		parse_u64(slash + 1, 0, 32, what, &len, err) < 0)
		return -1;
	if (len < 32 && (addr & (UINT32_MAX >> len)))
		return error_set(err, ERROR_USAGE, "%s: '%s' has host bits set", what, text);
	*ret_addr = addr;
	*ret_len = (unsigned)len;
	return 0;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

int parse_mac(const char *text, const char *what, uint8_t ret[6], struct error *err)
{
	uint8_t mac[6];
	bool ok = strlen(text) == 17;

	for (unsigned i = 0; ok && i < 6; i++) {
		int high = hex_digit(text[i * 3]), low = hex_digit(text[i * 3 + 1]);

		ok = high >= 0 && low >= 0 && (i == 5 || text[i * 3 + 2] == ':');
		mac[i] = ok ? (uint8_t)(high << 4 | low) : 0;
	}
	if (!ok)
		return error_set(err, ERROR_USAGE, "%s: '%s' is not a MAC address", what, text);
	memcpy(ret, mac, 6);
	return 0;
}

static bool is_lower_alnum(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

int parse_box_name(const char *text, struct error *err)
{
	size_t len = strlen(text);
	bool ok = len >= 1 && len <= 63 && is_lower_alnum(text[0]) && is_lower_alnum(text[len - 1]);

	for (size_t i = 0; ok && i < len; i++)
		ok = is_lower_alnum(text[i]) || text[i] == '-';
	if (!ok)
		return error_set(err, ERROR_USAGE,
			"'%.80s' cannot be a box's name: use 1 to 63 of a-z, 0-9 and '-', with a letter or digit at both ends",
			text);
	if (str_equal(text, "all"))
		return error_set(err, ERROR_USAGE,
			"'all' cannot be a box's name: it stands for every box in start, down and restart");
	return 0;
}

int parse_label(const char *text, struct error *err)
{
	size_t len = strlen(text);
	bool ok = len >= 1 && len <= 63;

	for (size_t i = 0; ok && i < len; i++) {
		char c = text[i];
		bool alnum = is_lower_alnum(c) || (c >= 'A' && c <= 'Z');

		ok = alnum || (i > 0 && (c == '.' || c == '_' || c == '-'));
	}
	if (!ok)
		return error_set(err, ERROR_USAGE,
			"'%.80s' cannot be a snapshot's label: use 1 to 63 of A-Z, a-z, 0-9, '.', '_' and '-', with a letter or digit first",
			text);
	return 0;
}

const char *format_size(uint64_t bytes, char *buf, size_t len)
{
	static const char *const names[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	unsigned i = 0;
	uint64_t unit = 1;

	while (i + 1 < ARRAY_LEN(names) && bytes / unit >= 1024) {
		unit *= 1024;
		i++;
	}
	if (bytes % unit == 0)
		snprintf(buf, len, "%" PRIu64 "%s", bytes / unit, names[i]);
	else
		snprintf(buf, len, "%.1f%s", (double)bytes / (double)unit, names[i]);
	return buf;
}
