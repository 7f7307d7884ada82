/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "mint/checksums.h"

#include <ctype.h>
#include <string.h>

#include "base/str.h"

enum { LINE_MAX_BYTES = 4096, HEX_SHORT = 64, HEX_LONG = 128 };

/* How many hexadecimal digits text begins with. */
static size_t hex_span(const char *text)
{
	return strspn(text, "0123456789abcdefABCDEF");
}

static bool is_digest(size_t digits)
{
	return digits == HEX_SHORT || digits == HEX_LONG;
}

/* "HEX  NAME" or "HEX *NAME": where HEX begins; *file is what follows. NULL: another line. */
static const char *plain_line(const char *line, const char **file)
{
	size_t digits = hex_span(line);

	if (!is_digest(digits) || line[digits] != ' ' ||
		(line[digits + 1] != ' ' && line[digits + 1] != '*'))
		return NULL;
	*file = line + digits + 2;
	return line;
}

/* "SHA256 (NAME) = HEX": the same; the line is cut after the name. */
static const char *tagged_line(char *line, const char **file)
{
	static const char *const tags[] = { "SHA256 (", "SHA512 (" };
	char *close = strstr(line, ") = ");

	for (size_t i = 0; close && i < ARRAY_LEN(tags); i++)
		if (str_starts(line, tags[i])) {
			*file = line + strlen(tags[i]);
			*close = '\0';
			return close + 4;
		}
	return NULL;
}

static int take_digest(const char *from, size_t digits, char found[DIGEST_HEX_LONG],
	const char *what, struct error *err)
{
	char hex[DIGEST_HEX_LONG] = "";

	for (size_t i = 0; i < digits; i++)
		hex[i] = (char)tolower((unsigned char)from[i]);
	if (*found && !str_equal(found, hex))
		return error_set(err, ERROR_INVALID,
			"'%s' gives two different checksums for one file", what);
	(void)strcpy(found, hex);
	return 0;
}

int checksum_find(const char *text, size_t len, const char *file, const char *what,
	char hex[DIGEST_HEX_LONG], struct error *err)
{
	char found[2][DIGEST_HEX_LONG] = { "", "" }, line[LINE_MAX_BYTES];
	const char *end = text + len;

	while (text < end) {
		const char *newline = memchr(text, '\n', (size_t)(end - text));
		size_t length = newline ? (size_t)(newline - text) : (size_t)(end - text);
		const char *digest, *name = NULL;
		size_t digits;

		if (length < sizeof(line)) {
			memcpy(line, text, length);
			line[length] = '\0';
			line[strcspn(line, "\r")] = '\0';
			digest = plain_line(line, &name);
			if (!digest)
				digest = tagged_line(line, &name);
			digits = digest ? hex_span(digest) : 0;
			if (is_digest(digits) && str_equal(name, file) &&
				take_digest(digest, digits, found[digits == HEX_LONG], what, err) <
					0)
				return -1;
		}
		text += length + 1;
	}
	if (!*found[0] && !*found[1])
		return error_set(err, ERROR_NOT_FOUND, "'%s' has no checksum of '%s'", what, file);
	(void)strcpy(hex, *found[1] ? found[1] : found[0]);
	return 0;
}
