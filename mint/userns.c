/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "mint/userns.h"

#include <unistd.h>

#include "base/macro.h"

const char *const *userns_words(size_t *ret_count)
{
	static const char *const words[] = { "unshare", "--user", "--map-root-user", "--map-auto",
		"--mount", "--propagation", "private", "--" };

	*ret_count = getuid() == 0 ? 0 : ARRAY_LEN(words);
	return words;
}

const char *userns_hint(void)
{
	return getuid() == 0
		       ? ""
		       : "; who is not root needs the package uidmap, and a range of his own in /etc/subuid and /etc/subgid (usermod --add-subuids, --add-subgids)";
}
