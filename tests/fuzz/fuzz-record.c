/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Records of running boxes and the network's configuration: files of root's, but files. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "net/port.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char uuid[] = "01234567-89ab-cdef-0123-456789abcdef";
	_cleanup_str_ struct str text = STR_INIT, again = STR_INIT;
	struct net_port port = { 0 }, second = { 0 };
	struct net_config config = { 0 };
	struct error err = { 0 };

	str_append_len(&text, data, size);
	if (port_parse(str_get(&text), uuid, &port, &err) == 0) {
		port_format(&port, &again);
		if (port_parse(str_get(&again), uuid, &second, &err) < 0 ||
			memcmp(&port, &second, sizeof(port)) != 0)
			abort(); /* what is written is not what is read */
	}
	if (net_config_parse(str_get(&text), "file", &config, &err) == 0 &&
		(config.prefix < 16 || config.prefix > 28 || config.n_dns == 0))
		abort();
	return 0;
}
