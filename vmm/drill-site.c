/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmm/drill-site.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/parse.h"
#include "images/digest.h"
#include "net/host-files.h"
#include "net/isolation.h"
#include "vmm/drill-host.h"
#include "vmm/network.h"

enum {
	SILENCE_MS =
		1000, /* a frame within one host takes microseconds, an emulated box's milliseconds */
	ANSWER_MS = 5000,
};

void drill_site_done(struct drill_site *site)
{
	for (int i = 0; i < 2; i++)
		box_done(&site->box[i]);
	drill_world_done(&site->world);
	nl_close(site->nl);
	*site = (struct drill_site){ .conn = NULL };
}

/* ---- the network ---- */

/* The resolvers in the network's definition: what a client elsewhere can know of the configuration. */
static int read_resolvers(virNetworkPtr net, struct net_config *config, struct error *err)
{
	_cleanup_free_ char *text = virNetworkGetXMLDesc(net, 0);
	_cleanup_(xml_free_p) struct xml *x = NULL;
	_cleanup_xml_nodes_ struct xml_nodes nodes = { 0 };

	if (!text)
		return error_virt(err, "cannot read network '%s'", NETWORK_NAME);
	x = xml_parse(text, strlen(text), "the network's XML", err);
	if (!x || xml_nodes(x, NULL, "/network/dns/forwarder[@addr]", &nodes, err) < 0)
		return -1;
	config->n_dns = 0;
	xml_foreach(node, &nodes) {
		char addr[64];

		if (config->n_dns == NET_DNS_MAX ||
			xml_copy(x, node, "@addr", addr, sizeof(addr), err) <= 0 ||
			parse_ipv4(addr, "forwarder", &config->dns[config->n_dns], err) < 0)
			return error_set(err, ERROR_INVALID,
				"network '%s' has a resolver that this program did not put there",
				NETWORK_NAME);
		config->n_dns++;
	}
	if (!config->n_dns)
		return error_set(err, ERROR_INVALID,
			"network '%s' has no pinned resolver; as root: box setup-host",
			NETWORK_NAME);
	return 0;
}

static int read_network(struct drill_site *s, struct error *err)
{
	_cleanup_(virNetworkFree_p) virNetworkPtr net = network_open(s->conn, err);
	_cleanup_network_view_ struct network_view view = { 0 };
	struct error ignored = { 0 };

	if (!net || network_view_read(net, &view, err) < 0)
		return -1;
	if (virt_is_local(s->conn) &&
		net_config_load(NET_CONFIG_PATH, &s->world.net, &ignored) == 0)
		return 0;
	s->world.net.prefix = view.prefix;
	s->world.net.subnet = view.gateway & net_mask(view.prefix);
	return read_resolvers(net, &s->world.net, err);
}

/* Whether the boxes' gateway is an address of this network namespace. */
static bool has_gateway(const struct drill_world *w)
{
	struct ifaddrs *list = NULL;
	bool found = false;

	if (getifaddrs(&list) < 0)
		return false;
	for (const struct ifaddrs *a = list; a; a = a->ifa_next) {
		if (a->ifa_addr && a->ifa_addr->sa_family == AF_INET &&
			str_equal(a->ifa_name, w->bridge) &&
			ntohl(((const struct sockaddr_in *)(const void *)a->ifa_addr)
					->sin_addr.s_addr) == net_gateway(&w->net))
			found = true;
	}
	freeifaddrs(list);
	return found;
}

/* ---- boxes ---- */

static int read_box(struct drill_site *s, int i, const char *name, struct error *err)
{
	struct box_hardware hardware;
	struct drill_box *to = &s->world.box[i];
	enum box_state state;

	if (box_find(s->conn, name, &s->box[i], err) < 0 ||
		box_get_state(&s->box[i], &state, err) < 0 ||
		box_hardware(&s->box[i], &hardware, err) < 0)
		return -1;
	if (state != BOX_RUNNING)
		return error_set(err, ERROR_BUSY, "box '%s' is %s; start it: box start %s", name,
			box_state_name(state), name);
	s->tcg = s->tcg || hardware.tcg;
	_Static_assert(sizeof(to->name) == BOX_NAME_MAX, "the same length");
	_Static_assert(sizeof(to->tap) == sizeof(s->box[i].meta.tap), "the same length");
	memcpy(to->name, s->box[i].name, sizeof(to->name));
	memcpy(to->tap, s->box[i].meta.tap, sizeof(to->tap));
	(void)snprintf(to->mac, sizeof(to->mac), "%s", hardware.mac);
	to->ip = s->box[i].meta.address;
	return 0;
}

/* QEMU's process, as libvirt notes it for each running domain. */
static int read_pid(const char *name)
{
	_cleanup_str_ struct str text = STR_INIT;
	char path[256];
	struct error ignored = { 0 };

	(void)snprintf(path, sizeof(path), "/run/libvirt/qemu/%s.pid", name);
	return file_read(AT_FDCWD, path, 64, &text, &ignored) == 0 ? atoi(str_get(&text)) : 0;
}

static void version_text(unsigned long version, char *ret, size_t len)
{
	(void)snprintf(
		ret, len, "%lu.%lu.%lu", version / 1000000, version / 1000 % 1000, version % 1000);
}

static void read_versions(struct drill_site *s)
{
	_cleanup_free_ char *hostname = virConnectGetHostname(s->conn);
	unsigned long version;
	struct utsname uts;

	if (virConnectGetLibVersion(s->conn, &version) == 0)
		version_text(version, s->libvirt, sizeof(s->libvirt));
	if (virConnectGetVersion(s->conn, &version) == 0)
		version_text(version, s->qemu, sizeof(s->qemu));
	if (s->local && uname(&uts) == 0)
		(void)snprintf(
			s->kernel, sizeof(s->kernel), "%.60s %.16s", uts.release, uts.machine);
	(void)snprintf(s->hostname, sizeof(s->hostname), "%s", hostname ? hostname : "");
}

static int look_locally(struct drill_site *s, struct error *err)
{
	s->local = virt_is_local(s->conn) && has_gateway(&s->world);
	s->root = s->local && geteuid() == 0;
	if (drill_host_look(&s->world, s->local, err) < 0)
		return -1;
	if (!s->root)
		return 0;
	s->nl = nl_open(NETLINK_NETFILTER, err);
	return s->nl ? 0 : -1;
}

int drill_site_open(
	virConnectPtr conn, const char *a, const char *b, struct drill_site *ret, struct error *err)
{
	_cleanup_drill_site_ struct drill_site s = { .conn = conn };

	s.world.bridge = NET_BRIDGE;
	s.world.gateway_mac = NET_GATEWAY_MAC;
	s.world.silence_ms = SILENCE_MS;
	s.world.answer_ms = ANSWER_MS;
	if (read_box(&s, DRILL_A, a, err) < 0 || read_box(&s, DRILL_B, b, err) < 0 ||
		read_network(&s, err) < 0 || look_locally(&s, err) < 0)
		return -1;
	read_versions(&s);
	*ret = s;
	s = (struct drill_site){ .conn = NULL };
	return 0;
}

/* ---- what the host tells ---- */

int drill_site_counters(struct drill_site *site, struct nft_counter *list, size_t max,
	size_t *ret_n, struct error *err)
{
	return nft_counters(site->nl, list, max, ret_n, err);
}

static void check_rules(struct drill_site *s, struct drill_finding *ret)
{
	_cleanup_nft_differences_ struct nft_differences differences = VEC_INIT;
	struct error err = { 0 };

	if (!s->root)
		drill_find(ret, ANSWER_UNSEEN, "only root on the host can read the rules");
	else if (isolation_check(&isolation_paths, &differences, &err) < 0)
		drill_find(ret, ANSWER_UNSEEN, "%.190s", err.text);
	else if (differences.len)
		drill_find(ret, ANSWER_NO, "%.150s%s", differences.items[0],
			differences.len > 1 ? "; and more" : "");
	else
		drill_find(ret, ANSWER_YES, "every rule and element is as it should be");
}

static void check_hook(struct drill_site *s, struct drill_finding *ret)
{
	const char *const uuids[2] = { s->box[0].uuid, s->box[1].uuid };

	drill_check_hook(HOST_HOOK_QEMU, isolation_paths.ports, uuids, ret);
}

static void check_listener(
	struct drill_site *s, const struct drill_domain *domain, struct drill_finding *ret)
{
	int pids[2] = { 0, 0 };

	for (int i = 0; s->root && i < 2; i++)
		pids[i] = read_pid(s->box[i].name);
	drill_check_listener(domain, pids, ret);
}

/* The box's definition as it is in force now. */
static void read_domain(struct drill_site *s, struct drill_domain *ret)
{
	_cleanup_free_ char *xml = virDomainGetXMLDesc(s->box[DRILL_A].dom, 0);
	struct error err = { 0 };

	*ret = (struct drill_domain){ .known = false };
	if (!xml || drill_domain_parse(xml, ret, &err) < 0)
		log_debug("drill: the definition of '%s' cannot be read", s->box[DRILL_A].name);
}

void drill_site_check(struct drill_site *site, const struct drill_facts *facts, const char *name,
	struct drill_finding *ret)
{
	struct drill_domain domain;
	bool host_only = str_equal(name, "port-flag") || str_equal(name, "hook") ||
			 str_equal(name, "rules-intact");

	read_domain(site, &domain);
	if (host_only && !site->local)
		drill_find(ret, ANSWER_UNSEEN, "the host is another machine");
	else if (str_equal(name, "port-flag"))
		drill_check_port_flag(&site->world, ret);
	else if (str_equal(name, "hook"))
		check_hook(site, ret);
	else if (str_equal(name, "rules-intact"))
		check_rules(site, ret);
	else if (str_equal(name, "one-nic"))
		drill_check_nic(facts, &domain, ret);
	else if (str_equal(name, "no-host-device"))
		drill_check_devices(facts, &domain, ret);
	else if (str_equal(name, "no-host-listener"))
		check_listener(site, &domain, ret);
	else if (str_equal(name, "no-page-merging"))
		drill_check_merging(&domain, ret);
}

int drill_site_rules_digest(const struct drill_site *site, char hex[65], struct error *err)
{
	_cleanup_str_ struct str text = STR_INIT;
	struct ruleset rules;

	rules_build(&site->world.net, site->nl && nft_has_ibrname(site->nl), &rules);
	rules_print(&rules, NULL, 0, &text);
	if (str_ok(&text, err) < 0)
		return -1;
	digest_bytes(str_get(&text), text.len, hex);
	return 0;
}
