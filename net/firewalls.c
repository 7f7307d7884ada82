/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A table of firewalls: how each is seen to be there, what it is asked, and what it is told. ufw and Docker
 * work through iptables, so what they really let through is read from the kernel by "iptables -S"; the
 * program is the host's own, be it the one over nftables or the older one.
 */
#include "net/firewalls.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/run.h"
#include "base/str.h"
#include "net/config.h"
#include "net/nft-strangers.h"

enum {
	WAIT_MS = 30000, /* ufw and firewall-cmd are Python; a reload takes seconds */
	TOLD_MAX = 12,
	WANTED_MAX = 5,
	STATUS_EXISTS = 26, /* of firewall-cmd: NAME_CONFLICT, the zone is there already */
};

/* 1: it exited with 0 and its output is in ret (may be NULL); 0: another status, or there is no such program. */
static int ask(const char *const *argv, struct str *ret, struct error *err)
{
	struct run run = { .argv = argv, .output = ret, .timeout_ms = WAIT_MS };
	int status = -1;

	if (ret)
		str_clear(ret);
	if (run_program(&run, &status, err) == 0)
		return 1;
	if (status < 0 && err->kind != ERROR_NOT_FOUND)
		return -1;
	error_clear(err);
	return 0;
}

/* The rules of a chain of iptables as it prints them; as ask. */
static int ask_chain(const char *chain, struct str *ret, struct error *err)
{
	const char *const argv[] = { "iptables", "-w", "-S", chain, NULL };

	return ask(argv, ret, err);
}

static bool has_line(const struct str *text, const char *line)
{
	size_t len = strlen(line);

	for (const char *at = strstr(str_get(text), line); at; at = strstr(at + 1, line)) {
		if ((at == str_get(text) || at[-1] == '\n') && (at[len] == '\n' || at[len] == '\0'))
			return true;
	}
	return false;
}

/* The policy of the chain through which iptables has what is forwarded: does it drop? */
static int forward_drops(struct error *err)
{
	_cleanup_str_ struct str text = STR_INIT;
	int there = ask_chain("FORWARD", &text, err);

	return there <= 0 ? there : has_line(&text, "-P FORWARD DROP");
}

/* A chain and a line that it must have. */
struct wanted {
	const char *chain;
	const char *line;
};

/* 1: the chain of the first is there, and some line is missing; 0: none is, or no such firewall. */
static int lines_missing(const struct wanted *wanted, struct error *err)
{
	_cleanup_str_ struct str text = STR_INIT;
	const char *read = NULL;
	int there;

	for (; wanted->chain; wanted++) {
		if (!str_equal(read, wanted->chain)) {
			there = ask_chain(wanted->chain, &text, err);
			if (there <= 0)
				return there;
			read = wanted->chain;
		}
		if (!has_line(&text, wanted->line))
			return 1;
	}
	return 0;
}

/* ---- the ones we know ---- */

static int docker_in_the_way(const struct wanted *wanted, struct error *err)
{
	int drops = forward_drops(err);

	return drops <= 0 ? drops : lines_missing(wanted, err);
}

static int firewalld_in_the_way(const struct wanted *wanted, struct error *err)
{
	static const char *const state[] = { "firewall-cmd", "--state", NULL };
	static const char *const zone[] = { "firewall-cmd", "--get-zone-of-interface=" NET_BRIDGE,
		NULL };
	_cleanup_str_ struct str text = STR_INIT;
	int ret = ask(state, NULL, err);

	(void)wanted;
	if (ret > 0)
		ret = ask(zone, &text, err) < 0 ? -1 : !has_line(&text, "box");
	return ret;
}

/* Who has FORWARD dropped, when it is none of those that we know. */
static int iptables_in_the_way(const struct wanted *wanted, struct error *err)
{
	int drops = forward_drops(err), there;

	if (drops <= 0)
		return drops;
	there = ask_chain("DOCKER-USER", NULL, err);
	if (there == 0)
		there = ask_chain("ufw-user-forward", NULL, err);
	return there != 0 ? MIN(there, 0) : lines_missing(wanted, err);
}

struct telling {
	const char *argv[12]; /* ended by NULL */
	int status_too; /* this exit status is as good as 0 */
};

#define ZONE "firewall-cmd", "-q", "--permanent", "--zone=box"
#define POLICY "firewall-cmd", "-q", "--permanent", "--policy=boxes"
#define FROM_LINE(chain)                                          \
	{                                                         \
		chain, "-A " chain " -i " NET_BRIDGE " -j ACCEPT" \
	}
#define TO_LINE(chain)                                            \
	{                                                         \
		chain, "-A " chain " -o " NET_BRIDGE " -j ACCEPT" \
	}
#define INPUT_LINE(proto, port)                                                                \
	{                                                                                      \
		"ufw-user-input", "-A ufw-user-input -i " NET_BRIDGE " -p " proto " -m " proto \
				  " --dport " port " -j ACCEPT"                                \
	}

static const struct firewall {
	const char *name;
	const char *text; /* what it does to boxes */
	const char *repair; /* for people */
	bool forgets; /* what it was told, at its or the host's next start */
	int (*in_the_way)(const struct wanted *wanted, struct error *err); /* 1, 0, -1 */
	struct wanted wanted[WANTED_MAX]; /* ended by one without a chain */
	struct telling told[TOLD_MAX]; /* ended by an empty one; none: a person has to */
	struct telling taken_back[TOLD_MAX]; /* the opposite */
} firewalls[] = {
	{
		.name = "Docker",
		.text = "drops what boxes send to the internet (FORWARD has policy DROP)",
		.repair = "box doctor --fix, which lets " NET_BRIDGE " through its chain DOCKER-USER",
		.forgets = true,
		.in_the_way = docker_in_the_way,
		.wanted = { FROM_LINE("DOCKER-USER"), TO_LINE("DOCKER-USER") },
		.told = {
			{ { "iptables", "-w", "-I", "DOCKER-USER", "-i", NET_BRIDGE, "-j", "ACCEPT" }, 0 },
			{ { "iptables", "-w", "-I", "DOCKER-USER", "-o", NET_BRIDGE, "-j", "ACCEPT" }, 0 },
		},
		.taken_back = {
			{ { "iptables", "-w", "-D", "DOCKER-USER", "-i", NET_BRIDGE, "-j", "ACCEPT" }, 0 },
			{ { "iptables", "-w", "-D", "DOCKER-USER", "-o", NET_BRIDGE, "-j", "ACCEPT" }, 0 },
		},
	},
	{
		.name = "ufw",
		.text = "drops what boxes send to the internet, or to the gateway's DHCP and name server",
		.repair = "box doctor --fix, which adds rules for " NET_BRIDGE " to ufw",
		.in_the_way = lines_missing,
		.wanted = {
			FROM_LINE("ufw-user-forward"),
			INPUT_LINE("udp", "67"),
			INPUT_LINE("udp", "53"),
			INPUT_LINE("tcp", "53"),
		},
		.told = {
			{ { "ufw", "route", "allow", "in", "on", NET_BRIDGE }, 0 },
			{ { "ufw", "allow", "in", "on", NET_BRIDGE, "to", "any", "port", "53" }, 0 },
			{ { "ufw", "allow", "in", "on", NET_BRIDGE, "to", "any", "port", "67",
					  "proto", "udp" }, 0 },
		},
		.taken_back = {
			{ { "ufw", "route", "delete", "allow", "in", "on", NET_BRIDGE }, 0 },
			{ { "ufw", "delete", "allow", "in", "on", NET_BRIDGE, "to", "any", "port", "53" }, 0 },
			{ { "ufw", "delete", "allow", "in", "on", NET_BRIDGE, "to", "any", "port", "67",
					  "proto", "udp" }, 0 },
		},
	},
	{
		.name = "firewalld",
		.text = "has " NET_BRIDGE " in no zone of its own, and rejects what boxes send",
		.repair = "box doctor --fix, which makes a zone \"box\" and a policy \"boxes\" for it",
		.in_the_way = firewalld_in_the_way,
		.told = {
			{ { "firewall-cmd", "-q", "--permanent", "--new-zone=box" }, STATUS_EXISTS },
			{ { ZONE, ("--add-interface=" NET_BRIDGE) }, 0 },
			{ { ZONE, "--add-service=dhcp", "--add-service=dns" }, 0 },
			{ { "firewall-cmd", "-q", "--permanent", "--new-policy=boxes" }, STATUS_EXISTS },
			{ { POLICY, "--add-ingress-zone=box" }, 0 },
			{ { POLICY, "--add-egress-zone=ANY" }, 0 },
			{ { POLICY, "--set-target=ACCEPT" }, 0 },
			{ { "firewall-cmd", "-q", "--reload" }, 0 },
		},
		.taken_back = {
			{ { "firewall-cmd", "-q", "--permanent", "--delete-policy=boxes" }, 0 },
			{ { "firewall-cmd", "-q", "--permanent", "--delete-zone=box" }, 0 },
			{ { "firewall-cmd", "-q", "--reload" }, 0 },
		},
	},
	{
		.name = "iptables",
		.text = "drops what boxes send to the internet (FORWARD has policy DROP)",
		.repair = "iptables -I FORWARD -i " NET_BRIDGE " -j ACCEPT; iptables -I FORWARD -o " NET_BRIDGE
			  " -j ACCEPT; and keep them where your firewall keeps its rules",
		.in_the_way = iptables_in_the_way,
		.wanted = { FROM_LINE("FORWARD"), TO_LINE("FORWARD") },
	},
};

static int tell(const struct firewall *f, const struct telling *t, struct error *err)
{
	for (; t->argv[0]; t++) {
		struct run run = { .argv = t->argv, .timeout_ms = WAIT_MS };
		int status = -1;

		if (run_program(&run, &status, err) == 0)
			continue;
		if (t->status_too == 0 || status != t->status_too)
			return error_wrap(err, "cannot tell %s about boxes", f->name);
		error_clear(err);
	}
	return 0;
}

static int add_finding(struct firewall_findings *ret, const struct firewall *f, struct error *err)
{
	struct firewall_finding finding = { .name = f->name, .fixable = f->told[0].argv[0] };

	(void)snprintf(finding.text, sizeof(finding.text), "%s %s", f->name, f->text);
	(void)snprintf(finding.repair, sizeof(finding.repair), "%s", f->repair);
	return firewall_findings_push(ret, finding, err);
}

/* Chains of nftables that somebody wrote by hand: whether a rule names boxnet is all that can be said. */
static int add_strangers(struct firewall_findings *ret, struct error *err)
{
	_cleanup_(nft_strangers_done) struct nft_strangers list = VEC_INIT;

	if (nft_strangers_read(&list, err) < 0)
		return -1;
	vec_foreach(const struct nft_stranger, s, &list) {
		struct firewall_finding finding = { .name = "the packet filter" };

		if (s->names_us)
			continue;
		(void)snprintf(finding.text, sizeof(finding.text),
			"the chain %s of nftables' table %s %s drops by policy, and no rule of it names " NET_BRIDGE,
			s->chain, s->family, s->table);
		(void)snprintf(finding.repair, sizeof(finding.repair),
			"let " NET_BRIDGE " through it where it is written: iifname \"" NET_BRIDGE
			"\" accept%s",
			s->forward ? ", oifname \"" NET_BRIDGE "\" accept" : "");
		if (firewall_findings_push(ret, finding, err) < 0)
			return -1;
	}
	return 0;
}

int firewalls_look(struct firewall_findings *ret, struct error *err)
{
	for (size_t i = 0; i < ARRAY_LEN(firewalls); i++) {
		int found = firewalls[i].in_the_way(firewalls[i].wanted, err);

		if (found < 0 || (found > 0 && add_finding(ret, &firewalls[i], err) < 0))
			return -1;
	}
	return add_strangers(ret, err);
}

static int fix(bool forgetful_only, struct error *err)
{
	for (size_t i = 0; i < ARRAY_LEN(firewalls); i++) {
		const struct firewall *f = &firewalls[i];
		int found;

		if (!f->told[0].argv[0] || (forgetful_only && !f->forgets))
			continue;
		found = f->in_the_way(f->wanted, err);
		if (found < 0 || (found > 0 && tell(f, f->told, err) < 0))
			return -1;
	}
	return 0;
}

int firewalls_fix(struct error *err)
{
	return fix(false, err);
}

/* Something of ours is in it: 1, 0, -1. */
static int was_told(const struct firewall *f, struct error *err)
{
	static const char *const zones[] = { "firewall-cmd", "--permanent", "--info-zone=box",
		NULL };
	_cleanup_str_ struct str text = STR_INIT;
	int there;

	if (!f->wanted[0].chain)
		return ask(zones, NULL, err);
	for (const struct wanted *w = f->wanted; w->chain; w++) {
		there = ask_chain(w->chain, &text, err);
		if (there < 0)
			return -1;
		if (there > 0 && has_line(&text, w->line))
			return 1;
	}
	return 0;
}

int firewalls_take_back(struct error *err)
{
	for (size_t i = 0; i < ARRAY_LEN(firewalls); i++) {
		const struct firewall *f = &firewalls[i];
		int told = f->told[0].argv[0] ? was_told(f, err) : 0;

		if (told < 0 || (told > 0 && tell(f, f->taken_back, err) < 0))
			return -1;
	}
	return 0;
}

void firewalls_remind(void)
{
	struct error err = { 0 };

	if (fix(true, &err) < 0)
		log_debug("%s", err.text);
}
