/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmm/drill-evidence.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"

static void keep_text(struct drill_item *item, const char *text)
{
	_cleanup_str_ struct str safe = STR_INIT;

	str_append_escaped(&safe, text, strnlen(text, DRILL_TEXT_MAX), false);
	(void)snprintf(item->text, sizeof(item->text), "%s", str_get(&safe));
}

/* "word rest": whether line begins with this word; *ret_rest is what follows, "" when nothing. */
static bool begins(const char *line, const char *word, const char **ret_rest)
{
	size_t len = strlen(word);

	if (strncmp(line, word, len) != 0 || (line[len] && line[len] != ' '))
		return false;
	*ret_rest = line[len] ? line + len + 1 : "";
	return true;
}

/*
 * "unreachable", or "unreachable ADDR": the word of the sender's own stack or of the gateway says that
 * the packet is still here; anybody else has had it.
 */
static enum drill_answer unreachable(const struct drill_world *w, const char *rest)
{
	struct in_addr by;

	if (inet_pton(AF_INET, rest, &by) != 1)
		return ANSWER_NEAR;
	return ntohl(by.s_addr) == net_gateway(&w->net) || ntohl(by.s_addr) == w->box[DRILL_A].ip ||
			       ntohl(by.s_addr) == w->box[DRILL_B].ip
		       ? ANSWER_NEAR
		       : ANSWER_FAR;
}

/* "open CODE ANSWERS...": a name server's reply. */
static enum drill_answer name_answer(const char *rest)
{
	const char *answers;

	return begins(rest, "NOERROR", &answers) && *answers ? ANSWER_NAME : ANSWER_NO_NAME;
}

static bool asks_name(enum drill_want want)
{
	return want == WANT_NAME || want == WANT_NO_NAME || want == WANT_PINNED;
}

static enum drill_answer read_answer(
	const struct drill_world *w, const struct drill_item *item, const char *line)
{
	const char *rest;

	if (begins(line, "open", &rest))
		return asks_name(drill_item_probe(item)->want) ? name_answer(rest) : ANSWER_OPEN;
	if (begins(line, "sent", &rest))
		return ANSWER_SENT;
	if (begins(line, "refused", &rest))
		return ANSWER_REFUSED;
	if (begins(line, "silent", &rest))
		return ANSWER_SILENT;
	if (begins(line, "unreachable", &rest))
		return unreachable(w, rest);
	return ANSWER_FAILED;
}

/* Lines of a scan; a find outweighs all else, a blind spot outweighs a clean end. */
static void take_scan(struct drill_item *item, const char *line)
{
	const char *rest;

	if (item->answer == ANSWER_NO)
		return;
	if (begins(line, "found", &rest)) {
		item->answer = ANSWER_NO;
		keep_text(item, rest);
	} else if (begins(line, "blind", &rest) && item->answer == ANSWER_NONE) {
		item->answer = ANSWER_UNSEEN;
		keep_text(item, line);
	} else if (begins(line, "scanned", &rest) && item->answer == ANSWER_NONE) {
		item->answer = strtoul(rest, NULL, 10) ? ANSWER_YES : ANSWER_UNSEEN;
		keep_text(item, line);
	} else if (item->answer == ANSWER_NONE) {
		keep_text(item, line); /* of an error, should it be the last */
	}
}

void drill_take_line(const struct drill_world *world, struct drill_item *item, const char *line)
{
	if (drill_item_probe(item)->want == WANT_CLEAN) {
		take_scan(item, line);
		return;
	}
	if (item->answer != ANSWER_NONE)
		return; /* one line is the answer */
	item->answer = read_answer(world, item, line);
	keep_text(item, line);
}

void drill_take_end(struct drill_item *item, unsigned status)
{
	if (item->answer != ANSWER_NONE && !(status && drill_item_probe(item)->want == WANT_CLEAN))
		return;
	if (item->answer == ANSWER_NO)
		return;
	item->answer = ANSWER_FAILED;
	if (!item->text[0])
		(void)snprintf(
			item->text, sizeof(item->text), "the probe ended with status %u", status);
}

static uint32_t read_ipv4(const char *text)
{
	struct in_addr addr;

	return inet_pton(AF_INET, text, &addr) == 1 ? ntohl(addr.s_addr) : 0;
}

static void add_sight(struct drill_item *item, const struct drill_sight *sight)
{
	for (size_t i = 0; i < item->sight_count; i++) {
		const struct drill_sight *s = &item->sights[i];

		if (s->where == sight->where && s->out == sight->out &&
			s->source == sight->source && s->dest == sight->dest &&
			str_equal(s->iface, sight->iface))
			return;
	}
	if (item->sight_count < DRILL_SIGHTS_MAX)
		item->sights[item->sight_count++] = *sight;
}

bool drill_take_sight(const struct drill_world *world, struct drill_plan *plan,
	enum drill_place place, const char *line)
{
	struct drill_sight sight = { .where = place == DRILL_A   ? WHERE_A
					      : place == DRILL_B ? WHERE_B
								 : WHERE_WIRE };
	char direction[4] = "", source[16] = "", dest[16] = "", token[64] = "";
	size_t item;

	if (sscanf(line, "seen %15s %3s %*s %*s %*s %15s %15s %63s", sight.iface, direction, source,
		    dest, token) == 5) {
		sight.out = str_equal(direction, "out");
		sight.source = read_ipv4(source);
		sight.dest = read_ipv4(dest);
		/* What a box itself sends is no arrival. */
		if (place != DRILL_HOST && sight.out)
			return false;
	} else if (place == DRILL_HOST &&
		   sscanf(line, "seen local %*s %15s %63s", source, token) == 2) {
		sight = (struct drill_sight){ .where = WHERE_LOCAL, .source = read_ipv4(source) };
	} else {
		return false;
	}
	item = drill_token_item(world, plan, token);
	if (item == plan->items.len)
		return false;
	if (place != DRILL_HOST)
		sight = (struct drill_sight){ .where = sight.where };
	add_sight(&plan->items.items[item], &sight);
	return true;
}

bool drill_item_seen(const struct drill_item *item, enum drill_where where)
{
	for (size_t i = 0; i < item->sight_count; i++) {
		if (item->sights[i].where == where)
			return true;
	}
	return false;
}
