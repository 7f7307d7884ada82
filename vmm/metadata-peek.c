/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmm/metadata-peek.h"

#include <stdio.h>
#include <string.h>

static const char head[] = "<box schema=\"1\">\n";
static const char tail[] = "</box>";

/* What may stand in a line, and has nothing to say about the user. */
static const char *const others[] = { "template", "agent", "tap", "origin", "created", "image",
	"address", "identity", "door", "snapshot", "operation" };

#define NAME "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"
#define PLAIN NAME ":/+ "

/* Cut the word before any of the stops off *at. */
static size_t word(const char **at, const char *stops)
{
	size_t len = strcspn(*at, stops);

	*at += len;
	return len;
}

static bool is(const char *text, size_t len, const char *name)
{
	return strlen(name) == len && memcmp(text, name, len) == 0;
}

static bool is_other(const char *text, size_t len)
{
	for (size_t i = 0; i < ARRAY_LEN(others); i++)
		if (is(text, len, others[i]))
			return true;
	return false;
}

/* NAME="plain" ... up to what ends the tag. */
static bool skip_attributes(const char **at)
{
	while (**at == ' ') {
		*at += 1;
		if (!word(at, "=<>&\"' \n") || strncmp(*at, "=\"", 2) != 0)
			return false;
		*at += 2;
		*at += strspn(*at, PLAIN);
		if (**at != '"')
			return false;
		*at += 1;
	}
	return true;
}

/* "text</name>\n" */
static bool skip_element(const char **at, const char *name, size_t len)
{
	*at += strspn(*at, PLAIN);
	if (strncmp(*at, "</", 2) != 0 || strncmp(*at + 2, name, len) != 0 ||
		strncmp(*at + 2 + len, ">\n", 2) != 0)
		return false;
	*at += 2 + len + 2;
	return true;
}

/* "  <name attributes>text</name>\n" or "  <name attributes/>\n"; *ret is the text of "user". */
static bool line(const char **at, const char **ret)
{
	const char *name = *at + 3;
	size_t len;

	if (strncmp(*at, "  <", 3) != 0)
		return false;
	*at = name;
	len = word(at, " <>&/\n");
	if (is(name, len, "user") && **at == '>') {
		/* Twice: whoever reads XML may say what that means. */
		if (*ret)
			return false;
		*ret = ++*at;
		return skip_element(at, name, len);
	}
	if (!is_other(name, len) || !skip_attributes(at))
		return false;
	if (strncmp(*at, "/>\n", 3) == 0) {
		*at += 3;
		return true;
	}
	return *(*at)++ == '>' && skip_element(at, name, len);
}

bool meta_peek_user(const char *text, char *user, size_t size)
{
	const char *at = text, *found = NULL;
	size_t len;

	if (strncmp(at, head, strlen(head)) != 0)
		return false;
	at += strlen(head);
	while (strncmp(at, tail, strlen(tail)) != 0)
		if (!line(&at, &found))
			return false;
	at += strlen(tail);
	at += strspn(at, "\n");
	if (*at || !found)
		return false;
	len = strspn(found, NAME);
	if (!len || found[len] != '<' || *found == '.' || *found == '-' || len >= size)
		return false;
	(void)snprintf(user, size, "%.*s", (int)len, found);
	return true;
}
