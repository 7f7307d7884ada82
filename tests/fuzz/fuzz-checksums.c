/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lists of checksums, fetched from somebody's server; and npm's integrity. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "mint/checksums.h"
#include "mint/node.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_hex(const char *hex)
{
	size_t len = strlen(hex);

	if (strspn(hex, "0123456789abcdef") != len || (len != 64 && len != 128))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_str_ struct str text = STR_INIT;
	char hex[DIGEST_HEX_LONG];
	struct error err = { 0 };

	if (checksum_find((const char *)data, size, "a.img", "list", hex, &err) == 0)
		check_hex(hex);
	else if (err.kind == ERROR_NONE)
		abort();
	str_append_len(&text, data, size);
	if (node_integrity(str_get(&text), hex, &err) == 0)
		check_hex(hex);
	return 0;
}
