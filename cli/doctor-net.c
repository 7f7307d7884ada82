/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The doctor's checks of what this host's network does to boxes: subnet, names, other firewalls. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/parse.h"
#include "base/str.h"
#include "cli/doctor.h"
#include "net/firewalls.h"
#include "net/isolation.h"
#include "net/subnet.h"

/* ---- the subnet ---- */

int doctor_look_subnet(struct doctor *d, struct finding *ret, struct error *err)
{
	_cleanup_(host_nets_done) struct host_nets nets = VEC_INIT;
	_cleanup_str_ struct str text = STR_INIT;
	const struct host_net *clash;
	struct net_config config;
	char subnet[16];

	(void)d;
	finding_repair(ret, "box setup-host");
	if (net_config_load(isolation_paths.config, &config, err) < 0 ||
		subnet_read_host(&nets, err) < 0)
		return -1;
	(void)net_format_ipv4(config.subnet, subnet);
	clash = subnet_clash(&nets, config.subnet, config.prefix);
	if (!clash) {
		finding_say(ret, VERDICT_OK, "%s/%u is the boxes' alone", subnet, config.prefix);
		return 0;
	}
	finding_repair(ret, "take that away, or choose another subnet: box teardown-host; "
			    "BOX_SUBNET=... box setup-host");
	subnet_describe(clash, &text);
	return error_set(err, ERROR_FAILED,
		"the boxes' subnet %s/%u is used by the host as well: %s", subnet, config.prefix,
		str_get(&text));
}

/* ---- names ---- */

#define DNS_PID "/run/libvirt/network/boxnet.pid"

enum { DNS_WAIT_MS = 4000, DNS_PORT = 53, RCODE_SERVFAIL = 2, RCODE_REFUSED = 5 };

/* Who are the servers of the root? Every resolver knows, and it tells nobody what is asked here. */
static const uint8_t question[] = { 0xb0, 0xc5, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 1 };

/* The network may say "active" while the dnsmasq that libvirt started for it is dead. */
static int dnsmasq_lives(struct error *err)
{
	_cleanup_str_ struct str pid = STR_INIT, comm = STR_INIT;
	struct error ignored = { 0 };
	uint64_t number = 0;
	char path[64];

	if (file_read(AT_FDCWD, DNS_PID, 32, &pid, &ignored) < 0)
		return error_set(
			err, ERROR_FAILED, "the network 'boxnet' has no DHCP and name server");
	if (pid.len && pid.data[pid.len - 1] == '\n')
		pid.data[pid.len - 1] = '\0';
	if (parse_u64(str_get(&pid), 1, INT32_MAX, DNS_PID, &number, err) < 0)
		return -1;
	(void)snprintf(path, sizeof(path), "/proc/%u/comm", (unsigned)number);
	if (file_read(AT_FDCWD, path, 64, &comm, &ignored) < 0 ||
		!str_starts(str_get(&comm), "dnsmasq"))
		return error_set(err, ERROR_FAILED,
			"the DHCP and name server of 'boxnet' is dead: boxes get no address and no name");
	return 0;
}

/* An answer that is worth something came: 0. */
static int dns_answers(const struct net_config *c, struct error *err)
{
	struct sockaddr_in to = {
		.sin_family = AF_INET,
		.sin_port = htons(DNS_PORT),
		.sin_addr.s_addr = htonl(net_gateway(c)),
	};
	_cleanup_close_ int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct pollfd p = { .fd = fd, .events = POLLIN };
	uint8_t answer[512];
	ssize_t len;

	if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0 ||
		send(fd, question, sizeof(question), 0) < 0)
		return error_errno(err, errno, "cannot ask the boxes' name server");
	if (poll(&p, 1, DNS_WAIT_MS) != 1)
		return error_set(err, ERROR_TIMEOUT,
			"the boxes' name server does not answer: its resolvers are out of reach, or a firewall of this host is in the way");
	len = recv(fd, answer, sizeof(answer), 0);
	if (len < 12 || memcmp(answer, question, 2) != 0)
		return error_set(err, ERROR_FAILED, "the boxes' name server answers nonsense");
	if ((answer[3] & 15) == RCODE_SERVFAIL || (answer[3] & 15) == RCODE_REFUSED)
		return error_set(err, ERROR_FAILED,
			"the boxes' resolvers do not answer, so boxes have no names");
	return 0;
}

int doctor_look_dns(struct doctor *d, struct finding *ret, struct error *err)
{
	_cleanup_str_ struct str servers = STR_INIT;
	struct net_config config;
	char text[16];

	(void)d;
	finding_repair(ret, "box setup-host");
	if (net_config_load(isolation_paths.config, &config, err) < 0)
		return -1;
	finding_repair(ret, "virsh net-destroy boxnet && virsh net-start boxnet, when no box runs");
	if (dnsmasq_lives(err) < 0)
		return -1;
	for (size_t i = 0; i < config.n_dns; i++)
		str_printf(&servers, "%s%s", i ? " " : "", net_format_ipv4(config.dns[i], text));
	finding_repair(ret,
		"see that this host reaches %s, or choose others: BOX_DNS=... box setup-host",
		str_get(&servers));
	if (dns_answers(&config, err) < 0)
		return -1;
	finding_say(ret, VERDICT_OK, "the DHCP and name server of 'boxnet' runs; it asks %s",
		str_get(&servers));
	return 0;
}

/* ---- other firewalls ---- */

int doctor_look_firewalls(struct doctor *d, struct finding *ret, struct error *err)
{
	_cleanup_(firewall_findings_done) struct firewall_findings found = VEC_INIT;
	_cleanup_str_ struct str text = STR_INIT;

	(void)d;
	if (firewalls_look(&found, err) < 0)
		return -1;
	if (!found.len) {
		finding_say(
			ret, VERDICT_OK, "no other firewall of this host is in the way of boxes");
		return 0;
	}
	vec_foreach(const struct firewall_finding, f, &found)
		str_printf(&text, "%s%s", text.len ? "; " : "", f->text);
	finding_repair(ret, "%s", found.items[0].repair);
	return error_set(err, ERROR_FAILED, "%s", str_get(&text));
}

int doctor_fix_firewalls(struct doctor *d, struct error *err)
{
	(void)d;
	return firewalls_fix(err);
}
