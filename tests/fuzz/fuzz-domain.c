/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The hook's input: a domain's XML, written by anybody who may talk to libvirt. */
#include <stdint.h>
#include <stdlib.h>

#include "net/port.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct net_config config;
	struct net_port port = { 0 };
	struct error err = { 0 };
	int ret;

	net_config_default(&config);
	ret = port_from_domain((const char *)data, size, &config, &port, &err);
	/* Whoever is let in is what a box can be. */
	if (ret == 1 && (!net_is_box_address(&config, port.addr) || !port_uuid_ok(port.uuid) ||
				port.mac[0] & 1 || port.n_doors > NET_DOORS_MAX))
		abort();
	if (ret < 0 && err.kind == ERROR_NONE)
		abort();
	return 0;
}
