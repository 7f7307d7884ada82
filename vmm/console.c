/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmm/console.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "vmm/domain-xml.h"

#define ESC 0x1b
#define BEL 0x07

struct console {
	virStreamPtr stream;
	bool watching; /* the stream has our callback */
	uint64_t total;
	size_t len;
	char keep[CONSOLE_KEEP];
};

/* ---- pure ---- */

/* The bytes that a terminal sequence at raw (an ESC) takes; at least 1, at most len. */
static size_t sequence_len(const char *raw, size_t len)
{
	size_t i = 2;

	if (len < 2)
		return len;
	if (raw[1] == '[') { /* CSI: up to a byte from @ to ~ */
		while (i < len && (raw[i] < '@' || raw[i] > '~'))
			i++;
		return MIN(i + 1, len);
	}
	if (raw[1] == ']' || raw[1] == 'P' || raw[1] == '^' || raw[1] == '_') {
		/* OSC, DCS and friends: up to BEL or ESC \ */
		while (i < len && raw[i] != BEL && raw[i] != ESC)
			i++;
		return MIN(i + (i < len && raw[i] == ESC ? 2 : 1), len);
	}
	return 2;
}

/* Sequences and carriage returns away; empty lines too: SeaBIOS and GRUB clear the screen with them. */
static void strip(const char *raw, size_t len, struct str *into)
{
	for (size_t i = 0; i < len;) {
		bool at_start = into->len == 0 || into->data[into->len - 1] == '\n';

		if (raw[i] == ESC) {
			i += sequence_len(raw + i, len - i);
			continue;
		}
		if (raw[i] != '\r' && raw[i] != '\0' && !(raw[i] == '\n' && at_start))
			str_append_char(into, raw[i]);
		i++;
	}
}

void console_clean(const char *raw, size_t len, unsigned max_lines, struct str *into)
{
	_cleanup_str_ struct str text = STR_INIT;
	size_t begin;
	unsigned lines = 0;

	strip(raw, len, &text);
	if (text.len && text.data[text.len - 1] != '\n')
		str_append_char(&text, '\n');
	for (begin = text.len; begin > 0; begin--)
		if (text.data[begin - 1] == '\n' && lines++ == max_lines)
			break;
	str_append_escaped(into, str_get(&text) + begin, text.len - begin, true);
}

void console_tail(const struct console *console, unsigned max_lines, struct str *into)
{
	if (console)
		console_clean(console->keep, console->len, max_lines, into);
}

uint64_t console_bytes(const struct console *console)
{
	return console ? console->total : 0;
}

/* ---- the stream ---- */

static void keep(struct console *c, const char *bytes, size_t len)
{
	c->total += len;
	if (len > CONSOLE_KEEP) {
		bytes += len - CONSOLE_KEEP;
		len = CONSOLE_KEEP;
	}
	if (c->len + len > CONSOLE_KEEP) {
		size_t drop = c->len + len - CONSOLE_KEEP;

		memmove(c->keep, c->keep + drop, c->len - drop);
		c->len -= drop;
	}
	memcpy(c->keep + c->len, bytes, len);
	c->len += len;
}

static void stop_watching(struct console *c)
{
	if (c->watching)
		(void)virStreamEventRemoveCallback(c->stream);
	c->watching = false;
}

static void on_event(virStreamPtr stream, int events, void *opaque)
{
	struct console *c = opaque;
	char buf[4096];
	int got = 0;

	/* -2: would block; 0: end of file; -1: the guest is gone */
	if (events & VIR_STREAM_EVENT_READABLE)
		while ((got = virStreamRecv(stream, buf, sizeof(buf))) > 0)
			keep(c, buf, (size_t)got);
	if ((events & (VIR_STREAM_EVENT_ERROR | VIR_STREAM_EVENT_HANGUP)) ||
		((events & VIR_STREAM_EVENT_READABLE) && got != -2))
		stop_watching(c);
}

struct console *console_follow(virDomainPtr dom, struct error *err)
{
	_cleanup_(console_free_p) struct console *c = calloc(1, sizeof(*c));

	if (!c) {
		(void)error_oom(err);
		return NULL;
	}
	c->stream = virStreamNew(virDomainGetConnect(dom), VIR_STREAM_NONBLOCK);
	if (!c->stream || virDomainOpenConsole(dom, NULL, c->stream, 0) < 0) {
		(void)error_virt(err, "cannot read the console of '%s'", virDomainGetName(dom));
		return NULL;
	}
	if (virStreamEventAddCallback(c->stream,
		    VIR_STREAM_EVENT_READABLE | VIR_STREAM_EVENT_ERROR | VIR_STREAM_EVENT_HANGUP,
		    on_event, c, NULL) < 0) {
		(void)error_virt(err, "cannot wait for the console of '%s'", virDomainGetName(dom));
		return NULL;
	}
	c->watching = true;
	return TAKE(c);
}

void console_free(struct console *c)
{
	if (!c)
		return;
	stop_watching(c);
	if (c->stream) {
		(void)virStreamAbort(c->stream);
		(void)virStreamFree(c->stream);
	}
	free(c);
}

void console_remove_logs(virConnectPtr conn, const char *name)
{
	static const char *const suffixes[] = { "", ".0", ".1", ".2", ".3" };

	if (!virt_is_local(conn) || strchr(name, '/'))
		return;
	for (size_t i = 0; i < ARRAY_LEN(suffixes); i++) {
		char path[512];

		snprintf(path, sizeof(path), DOMAIN_CONSOLE_LOG "%s", name, suffixes[i]);
		if (unlink(path) < 0 && errno != ENOENT)
			log_debug("cannot remove %s: %s", path, strerror(errno));
	}
}
