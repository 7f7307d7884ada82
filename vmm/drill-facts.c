/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmm/drill-facts.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "base/xml.h"
#include "vmm/opening.h"

void drill_find(struct drill_finding *f, enum drill_answer answer, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(f->text, sizeof(f->text), fmt, ap);
	va_end(ap);
	f->answer = answer;
}

/* ---- the guest's lines ---- */

/* A stranger's word, harmless and cut. */
static void copy_word(char ret[FACTS_WORD], const char *text)
{
	_cleanup_str_ struct str safe = STR_INIT;

	str_append_escaped(&safe, text, strnlen(text, FACTS_WORD), false);
	(void)snprintf(ret, FACTS_WORD, "%s", str_get(&safe));
}

static void add_word(struct drill_words *words, const char *text)
{
	if (words->count == FACTS_LIST)
		words->full = true;
	else
		copy_word(words->items[words->count++], text);
}

void drill_facts_line(struct drill_facts *facts, const char *line)
{
	const struct {
		const char *name;
		char *word;
		struct drill_words *words;
	} rows[] = {
		{ "hostname", facts->hostname, NULL },
		{ "machine-id", facts->machine_id, NULL },
		{ "instance-id", facts->instance_id, NULL },
		{ "dmi-uuid", facts->dmi_uuid, NULL },
		{ "random", facts->random, NULL },
		{ "random-seed", facts->random_seed, NULL },
		{ "ssh-key", NULL, &facts->keys },
		{ "nic", NULL, &facts->nics },
		{ "addr4", NULL, &facts->addr4 },
		{ "addr6", NULL, &facts->addr6 },
		{ "route6", NULL, &facts->route6 },
		{ "virtio", NULL, &facts->virtio },
		{ "port", NULL, &facts->ports },
		{ "mount", NULL, &facts->mounts },
	};
	const char *rest = strchr(line, ' ');
	size_t len = rest ? (size_t)(rest - line) : strlen(line);

	if (str_equal(line, "end"))
		facts->complete = true;
	for (size_t i = 0; rest && i < ARRAY_LEN(rows); i++) {
		if (strlen(rows[i].name) != len || strncmp(rows[i].name, line, len) != 0)
			continue;
		if (rows[i].word)
			copy_word(rows[i].word, rest + 1);
		if (rows[i].words && (rows[i].words != &facts->addr6 || !strstr(rest, " fe80:")))
			add_word(rows[i].words, rest + 1);
	}
}

/* "NAME ADDR/PREFIX" of addr4 apart. */
static bool split_address(const char *word, char name[16], uint32_t *ret_ip, unsigned *ret_prefix)
{
	char addr[20];
	struct in_addr in;

	if (sscanf(word, "%15s %19[0-9.]/%u", name, addr, ret_prefix) != 3 ||
		inet_pton(AF_INET, addr, &in) != 1)
		return false;
	*ret_ip = ntohl(in.s_addr);
	return true;
}

bool drill_facts_iface(const struct drill_facts *facts, uint32_t ip, char ret[16])
{
	for (size_t i = 0; i < facts->addr4.count; i++) {
		unsigned prefix;
		uint32_t addr;
		char name[16];

		if (!split_address(facts->addr4.items[i], name, &addr, &prefix) || addr != ip ||
			strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				     "0123456789-_.@") != strlen(name))
			continue;
		memcpy(ret, name, 16);
		return true;
	}
	return false;
}

/* ---- the domain ---- */

static int count_nodes(struct xml *x, const char *xpath, unsigned *ret, struct error *err)
{
	_cleanup_xml_nodes_ struct xml_nodes nodes = { 0 };

	if (xml_nodes(x, NULL, xpath, &nodes, err) < 0)
		return -1;
	*ret = (unsigned)nodes.len;
	return 0;
}

static int note_opening(
	struct xml *x, enum opening_kind kind, char ret[FACTS_WORD], struct error *err)
{
	const char *what = NULL;
	int found = opening_find(x, kind, &what, err);

	if (found == 1)
		copy_word(ret, what);
	return found < 0 ? -1 : 0;
}

int drill_domain_parse(const char *xml, struct drill_domain *ret, struct error *err)
{
	_cleanup_(xml_free_p) struct xml *x = xml_parse(xml, strlen(xml), "the domain's XML", err);
	struct drill_domain d = { .known = true };
	int has;

	if (!x || count_nodes(x, "/domain/devices/interface", &d.nics, err) < 0 ||
		count_nodes(x,
			"/domain/devices/interface[source/@network='" NET_BRIDGE
			"' or source/@bridge='" NET_BRIDGE "'][port/@isolated='yes']",
			&d.nics_on_bridge, err) < 0)
		return -1;
	if (note_opening(x, OPENING_FOREIGN, d.foreign, err) < 0 ||
		note_opening(x, OPENING_LISTENER, d.listener, err) < 0)
		return -1;
	has = xml_has(x, NULL, "/domain/memoryBacking/nosharepages", err);
	if (has < 0)
		return -1;
	d.no_merging = has;
	*ret = d;
	return 0;
}

/* ---- checks ---- */

static bool complete(const struct drill_facts *facts, struct drill_finding *ret)
{
	if (!facts->complete)
		drill_find(ret, ANSWER_UNSEEN, "the box did not tell what it has");
	return facts->complete;
}

void drill_check_lease(const struct drill_world *world, enum drill_place place,
	const struct drill_facts *facts, struct drill_finding *ret)
{
	char name[16], ip[16];
	unsigned prefix;
	uint32_t addr;

	if (!complete(facts, ret))
		return;
	for (size_t i = 0; i < facts->addr4.count; i++) {
		if (split_address(facts->addr4.items[i], name, &addr, &prefix) &&
			addr == world->box[place].ip && prefix == world->net.prefix) {
			drill_find(ret, ANSWER_YES, "%s", facts->addr4.items[i]);
			return;
		}
	}
	drill_find(ret, ANSWER_NO, "no network device has %s/%u",
		net_format_ipv4(world->box[place].ip, ip), world->net.prefix);
}

void drill_check_ipv6(const struct drill_facts *facts, struct drill_finding *ret)
{
	if (!complete(facts, ret))
		return;
	if (facts->addr6.count)
		drill_find(ret, ANSWER_NO, "the box has the address %s", facts->addr6.items[0]);
	else if (facts->route6.count)
		drill_find(ret, ANSWER_NO, "the box has a default route of IPv6 by %s",
			facts->route6.items[0]);
	else
		drill_find(ret, ANSWER_YES, "none but link-local");
}

void drill_check_nic(const struct drill_facts *facts, const struct drill_domain *domain,
	struct drill_finding *ret)
{
	if (facts->nics.count > 1 || facts->nics.full)
		drill_find(ret, ANSWER_NO, "the box sees %zu network devices: %s, %s",
			facts->nics.count, facts->nics.items[0], facts->nics.items[1]);
	else if (domain->known && domain->nics != 1)
		drill_find(ret, ANSWER_NO, "the domain has %u network devices", domain->nics);
	else if (domain->known && domain->nics_on_bridge != 1)
		drill_find(ret, ANSWER_NO, "its network device is not on " NET_BRIDGE ", isolated");
	else if (!domain->known)
		drill_find(ret, ANSWER_UNSEEN, "the domain's definition cannot be read");
	else if (complete(facts, ret))
		drill_find(
			ret, ANSWER_YES, "%s", facts->nics.count ? facts->nics.items[0] : "none");
}

/* Virtio devices that another machine's memory, files or sockets stand behind (virtio 1.2, section 5). */
static const char *virtio_foreign(const char *id)
{
	static const struct {
		const char *id, *what;
	} ids[] = { { "9", "a shared folder (9p)" }, { "19", "a socket to the host (vsock)" },
		{ "26", "a shared folder (virtiofs)" }, { "16", "a GPU" },
		{ "18", "an input device" }, { "27", "persistent memory" } };

	for (size_t i = 0; i < ARRAY_LEN(ids); i++) {
		if (str_equal(ids[i].id, id))
			return ids[i].what;
	}
	return NULL;
}

void drill_check_devices(const struct drill_facts *facts, const struct drill_domain *domain,
	struct drill_finding *ret)
{
	for (size_t i = 0; i < facts->virtio.count; i++) {
		const char *what = virtio_foreign(facts->virtio.items[i]);

		if (what) {
			drill_find(ret, ANSWER_NO, "the box sees %s", what);
			return;
		}
	}
	for (size_t i = 0; i < facts->ports.count; i++) {
		const char *port = facts->ports.items[i];

		if (!str_starts(port, "box.agent.") && !str_equal(port, "org.qemu.guest_agent.0")) {
			drill_find(ret, ANSWER_NO, "the box sees a channel '%s'", port);
			return;
		}
	}
	if (facts->mounts.count)
		drill_find(ret, ANSWER_NO, "the box has %s mounted", facts->mounts.items[0]);
	else if (domain->foreign[0])
		drill_find(ret, ANSWER_NO, "the domain has %s", domain->foreign);
	else if (!domain->known)
		drill_find(ret, ANSWER_UNSEEN, "the domain's definition cannot be read");
	else if (complete(facts, ret))
		drill_find(ret, ANSWER_YES, "none in the domain, none seen in the box");
}

static bool has_word(const struct drill_words *words, const char *word)
{
	for (size_t i = 0; i < words->count; i++) {
		if (str_equal(words->items[i], word))
			return true;
	}
	return false;
}

void drill_check_identity(
	const struct drill_facts *a, const struct drill_facts *b, struct drill_finding *ret)
{
	/* Not the hardware's UUID: a box that starts from memory sees the one of the boot that made it. */
	const struct {
		const char *name, *a, *b;
		bool optional; /* not every image has it */
	} parts[] = {
		{ "host name", a->hostname, b->hostname, false },
		{ "machine-id", a->machine_id, b->machine_id, false },
		{ "cloud-init instance", a->instance_id, b->instance_id, true },
		{ "random generator", a->random, b->random, false },
		{ "random seed", a->random_seed, b->random_seed, true },
	};

	if (!complete(a, ret) || !complete(b, ret))
		return;
	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		bool missing = !parts[i].a[0] || !parts[i].b[0] || str_equal(parts[i].a, "-") ||
			       str_equal(parts[i].b, "-");

		if (missing && parts[i].optional)
			continue;
		if (missing) {
			drill_find(ret, ANSWER_UNSEEN, "a box has no readable %s", parts[i].name);
			return;
		}
		if (str_equal(parts[i].a, parts[i].b)) {
			drill_find(
				ret, ANSWER_NO, "both have the %s %s", parts[i].name, parts[i].a);
			return;
		}
	}
	for (size_t i = 0; i < a->keys.count; i++) {
		if (has_word(&b->keys, a->keys.items[i])) {
			drill_find(
				ret, ANSWER_NO, "both have the SSH host key %s", a->keys.items[i]);
			return;
		}
	}
	for (size_t i = 0; i < a->nics.count; i++) {
		const char *mac = strchr(a->nics.items[i], ' ');

		for (size_t k = 0; mac && k < b->nics.count; k++) {
			if (strstr(b->nics.items[k], mac)) {
				drill_find(ret, ANSWER_NO, "both have the MAC%s", mac);
				return;
			}
		}
	}
	drill_find(ret, ANSWER_YES, "name, machine-id, MAC, keys and random numbers differ");
}
