/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Words of a command line: numbers, sizes, names, paths of a copy, options, completion. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"
#include "cli/command.h"
#include "cli/complete.h"
#include "vmm/copy-name.h"

enum { WORDS_MAX = 32 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void take_numbers(const char *word)
{
	struct error err = { 0 };
	uint64_t number = 0;
	uint32_t addr = 0;
	unsigned len = 0;
	uint8_t mac[6];

	if (parse_u64(word, 1, 100, "it", &number, &err) == 0 && (number < 1 || number > 100))
		abort();
	(void)!parse_size(word, "it", &number, &err);
	if (parse_duration(word, "it", &number, &err) == 0 && number == 0)
		abort();
	if (parse_cidr(word, "it", &addr, &len, &err) == 0 &&
		(len > 32 || (len < 32 && (addr & (UINT32_MAX >> len)))))
		abort();
	(void)!parse_ipv4(word, "it", &addr, &err);
	(void)!parse_mac(word, "it", mac, &err);
}

static void take_names(const char *word)
{
	_cleanup_str_ struct str path = STR_INIT;
	struct error err = { 0 };
	unsigned depth = 0;

	if (parse_box_name(word, &err) == 0 &&
		(strspn(word, "abcdefghijklmnopqrstuvwxyz0123456789-") != strlen(word) ||
			strlen(word) > 63))
		abort();
	if (parse_label(word, &err) == 0 && (strchr(word, '/') || strlen(word) > 63))
		abort();
	if (copy_name_below(word, &path, &depth, &err) >= 0 &&
		(*str_get(&path) == '/' || str_starts(str_get(&path), "../") ||
			strstr(str_get(&path), "/../") || depth > COPY_DEPTH_MAX))
		abort(); /* it leads out */
	(void)copy_link_stays(word, depth);
}

/* NUL is between words. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_str_ struct str text = STR_INIT, offered = STR_INIT;
	const char *words[WORDS_MAX + 1] = { NULL };
	size_t count = 0;

	str_append_len(&text, data, size);
	for (size_t at = 0; at < size && count < WORDS_MAX; at += strlen(words[count++]) + 1)
		words[count] = str_get(&text) + at;
	for (size_t i = 0; i < count; i++) {
		take_numbers(words[i]);
		take_names(words[i]);
	}
	complete_words(words, count, NULL, &offered);
	return 0;
}
