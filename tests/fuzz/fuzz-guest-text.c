/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Texts of a hostile guest that end on somebody's terminal or in his files: its console, its host keys, and
 * what the drill's probes print in it.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "vmm/console.h"
#include "vmm/drill-facts.h"
#include "vmm/ssh.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_clean(const char *text, size_t len, bool lines)
{
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text[i];

		if ((c < ' ' && !(lines && c == '\n')) || c == 0x7f)
			abort();
	}
}

static void take_console(const uint8_t *data, size_t size)
{
	_cleanup_str_ struct str text = STR_INIT;

	console_clean((const char *)data, size, 10, &text);
	check_clean(text.data, text.len, true);
}

static void take_key(const char *text, size_t len)
{
	_cleanup_ssh_key_ struct ssh_key key = { 0 };
	struct error err = { 0 };

	if (ssh_key_parse(text, len, &key, &err) == 0)
		check_clean(key.text, strlen(key.text), false);
}

static void take_facts(char *text)
{
	struct drill_facts facts = { 0 };
	char iface[16];

	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
		drill_facts_line(&facts, line);
	if (facts.keys.count > FACTS_LIST || facts.nics.count > FACTS_LIST)
		abort();
	if (drill_facts_iface(&facts, 0x0a580002, iface) && strlen(iface) >= sizeof(iface))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_str_ struct str text = STR_INIT;
	_cleanup_free_ char *copy = NULL;
	struct error err = { 0 };

	take_console(data, size);
	take_key((const char *)data, size);
	str_append_len(&text, data, size);
	copy = str_dup(str_get(&text), &err);
	if (copy)
		take_facts(copy);
	return 0;
}
