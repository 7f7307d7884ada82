/* SPDX-License-Identifier: GPL-2.0-or-later */
/* XML of networks and domains, from whatever libvirt a URI leads to. */
#include <stdint.h>
#include <stdlib.h>

#include "vmm/drill-facts.h"
#include "vmm/network.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_network_view_ struct network_view view = { 0 };
	_cleanup_str_ struct str text = STR_INIT;
	struct drill_domain domain = { 0 };
	struct error err = { 0 };

	str_append_len(&text, data, size);
	if (network_view_parse(str_get(&text), &view, &err) == 0) {
		uint32_t next = network_choose(&view, NULL, 0, 0);

		vec_foreach(struct network_host, host, &view.hosts)
			if (next && host->address == next)
				abort(); /* an address is given twice */
	} else if (err.kind == ERROR_NONE) {
		abort();
	}
	error_clear(&err);
	if (drill_domain_parse(str_get(&text), &domain, &err) < 0 && err.kind == ERROR_NONE)
		abort();
	return 0;
}
