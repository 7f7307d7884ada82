/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "net/blocked.h"

#include "base/macro.h"

/* RFC 6890 and its registry, without the documentation ranges: they are routed nowhere by themselves. */
const struct blocked blocked_ranges[] = {
	{ "10.0.0.0/8", "drop_lan_10_8", "private (RFC 1918)", 0x0a000000, 8 },
	{ "172.16.0.0/12", "drop_lan_172_16_12", "private (RFC 1918)", 0xac100000, 12 },
	{ "192.168.0.0/16", "drop_lan_192_168_16", "private (RFC 1918)", 0xc0a80000, 16 },
	{ "100.64.0.0/10", "drop_cgnat_100_64_10", "shared by carriers (RFC 6598)", 0x64400000,
		10 },
	{ "169.254.0.0/16", "drop_link_local_169_254_16", "link-local, cloud metadata", 0xa9fe0000,
		16 },
	{ "127.0.0.0/8", "drop_loopback_127_8", "loopback", 0x7f000000, 8 },
	{ "0.0.0.0/8", "drop_this_network_0_8", "this network", 0x00000000, 8 },
	{ "192.0.0.0/24", "drop_protocol_192_0_0_24", "protocol assignments", 0xc0000000, 24 },
	{ "198.18.0.0/15", "drop_benchmark_198_18_15", "benchmarking", 0xc6120000, 15 },
	{ "224.0.0.0/4", "drop_multicast_224_4", "multicast", 0xe0000000, 4 },
	{ "240.0.0.0/4", "drop_reserved_240_4", "reserved, broadcast", 0xf0000000, 4 },
};
const size_t n_blocked_ranges = ARRAY_LEN(blocked_ranges);

const struct blocked *blocked_find(uint32_t addr)
{
	for (size_t i = 0; i < n_blocked_ranges; i++) {
		if (addr >> (32 - blocked_ranges[i].prefix) ==
			blocked_ranges[i].addr >> (32 - blocked_ranges[i].prefix))
			return &blocked_ranges[i];
	}
	return NULL;
}
