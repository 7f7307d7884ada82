/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The host's side of the claims that are no packet: kernel, hook, memory, QEMU's sockets. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libmnl/libmnl.h>
#include <linux/if_bridge.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/str.h"
#include "net/nl.h"
#include "net/record.h"
#include "vmm/drill-host.h"

/* ---- the bridge's ports ---- */

struct port_flags {
	const char *tap[2];
	int isolated[2]; /* -1: no such port */
};

static int protinfo_attribute(const struct nlattr *attr, void *data)
{
	int *isolated = data;

	if (mnl_attr_get_type(attr) == IFLA_BRPORT_ISOLATED &&
		mnl_attr_validate(attr, MNL_TYPE_U8) >= 0)
		*isolated = mnl_attr_get_u8(attr) != 0;
	return MNL_CB_OK;
}

struct link {
	const char *name;
	int isolated;
};

static int link_attribute(const struct nlattr *attr, void *data)
{
	struct link *link = data;

	switch (mnl_attr_get_type(attr)) {
	case IFLA_IFNAME:
		if (mnl_attr_validate(attr, MNL_TYPE_NUL_STRING) >= 0)
			link->name = mnl_attr_get_str(attr);
		break;
	case IFLA_PROTINFO:
		return mnl_attr_parse_nested(attr, protinfo_attribute, &link->isolated);
	default:
		break;
	}
	return MNL_CB_OK;
}

static int port_answer(const struct nlmsghdr *nlh, void *data)
{
	struct port_flags *flags = data;
	struct link link = { NULL, -1 };

	if (mnl_attr_parse(nlh, sizeof(struct ifinfomsg), link_attribute, &link) < 0)
		return MNL_CB_ERROR;
	for (int i = 0; link.name && i < 2; i++) {
		if (str_equal(link.name, flags->tap[i]) && link.isolated >= 0)
			flags->isolated[i] = link.isolated;
	}
	return MNL_CB_OK;
}

static int read_port_flags(struct port_flags *flags, struct error *err)
{
	_cleanup_(nl_close_p) struct nl *nl = nl_open(NETLINK_ROUTE, err);
	char buf[MNL_NLMSG_HDRLEN + sizeof(struct ifinfomsg) + 64];
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct ifinfomsg *info;

	if (!nl)
		return -1;
	nlh->nlmsg_type = RTM_GETLINK;
	nlh->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	nlh->nlmsg_seq = nl_seq(nl);
	info = mnl_nlmsg_put_extra_header(nlh, sizeof(*info));
	info->ifi_family = AF_BRIDGE;
	return nl_dump(nl,
		&(struct nl_dump){ .request = nlh,
			.cb = port_answer,
			.data = flags,
			.what = "the bridge's ports" },
		err);
}

void drill_check_port_flag(const struct drill_world *world, struct drill_finding *ret)
{
	struct port_flags flags = {
		.tap = { world->box[DRILL_A].tap, world->box[DRILL_B].tap },
		.isolated = { -1, -1 },
	};
	struct error err = { 0 };

	if (read_port_flags(&flags, &err) < 0) {
		drill_find(ret, ANSWER_UNSEEN, "%.180s", err.text);
		return;
	}
	for (int i = 0; i < 2; i++) {
		if (flags.isolated[i] < 0) {
			drill_find(
				ret, ANSWER_UNSEEN, "there is no bridge port '%s'", flags.tap[i]);
			return;
		}
		if (!flags.isolated[i]) {
			drill_find(ret, ANSWER_NO, "port '%s' is not isolated", flags.tap[i]);
			return;
		}
	}
	drill_find(ret, ANSWER_YES, "both ports are isolated");
}

/* ---- the hook ---- */

void drill_check_hook(const char *hook, const char *records, const char *const uuids[2],
	struct drill_finding *ret)
{
	struct stat st;

	if (stat(hook, &st) < 0) {
		drill_find(ret, errno == EACCES ? ANSWER_UNSEEN : ANSWER_NO, "'%s': %s", hook,
			strerror(errno));
		return;
	}
	if (!S_ISREG(st.st_mode) || !(st.st_mode & S_IXUSR) || !st.st_size) {
		drill_find(ret, ANSWER_NO, "'%s' is no program that can run", hook);
		return;
	}
	if (access(records, R_OK | X_OK) < 0) {
		drill_find(ret, errno == EACCES ? ANSWER_UNSEEN : ANSWER_NO, "'%s': %s", records,
			strerror(errno));
		return;
	}
	for (int i = 0; i < 2; i++) {
		if (!record_exists(records, uuids[i])) {
			drill_find(ret, ANSWER_NO, "the hook has not let in %s", uuids[i]);
			return;
		}
	}
	drill_find(ret, ANSWER_YES, "it is there, and let both boxes in");
}

/* ---- memory ---- */

void drill_check_merging(const struct drill_domain *domain, struct drill_finding *ret)
{
	if (!domain->known)
		drill_find(ret, ANSWER_UNSEEN, "the domain's definition cannot be read");
	else if (domain->no_merging)
		drill_find(ret, ANSWER_YES, "the domain opts out");
	else
		drill_find(ret, ANSWER_NO, "the domain does not opt out of page merging");
}

/* ---- QEMU's sockets ---- */

/* Whether /proc/PID/net/KIND has a row of this socket that listens (TCP) or is bound (UDP). */
static bool listens(const char *table, unsigned long inode, bool tcp)
{
	for (const char *line = strchr(table, '\n'); line && line[1];
		line = strchr(line + 1, '\n')) {
		unsigned long this_inode;
		unsigned state;

		if (sscanf(line + 1, "%*s %*s %*s %x %*s %*s %*s %*s %*s %lu", &state,
			    &this_inode) == 2 &&
			this_inode == inode && (!tcp || state == 0x0a))
			return true;
	}
	return false;
}

/* The inode of a descriptor that is a socket; 0: it is none. */
static unsigned long socket_inode(int dir, const char *name)
{
	char target[64];
	ssize_t n = readlinkat(dir, name, target, sizeof(target) - 1);
	unsigned long inode = 0;

	if (n < 0)
		return 0;
	target[n] = '\0';
	return sscanf(target, "socket:[%lu]", &inode) == 1 ? inode : 0;
}

/* 1: the process has a socket that takes packets or connections of the network; *ret_kind is which. */
static int find_listener(int pid, const char **ret_kind, struct error *err)
{
	static const char *const kinds[] = { "tcp", "tcp6", "udp", "udp6", "raw", "raw6" };
	char path[64];
	DIR *dir;
	int found = 0;

	for (size_t i = 0; i < ARRAY_LEN(kinds) && !found; i++) {
		_cleanup_str_ struct str table = STR_INIT;
		const struct dirent *entry;

		(void)snprintf(path, sizeof(path), "/proc/%d/net/%s", pid, kinds[i]);
		if (file_read(AT_FDCWD, path, 8 << 20, &table, err) < 0)
			return -1;
		(void)snprintf(path, sizeof(path), "/proc/%d/fd", pid);
		dir = opendir(path);
		if (!dir)
			return error_errno(err, errno, "cannot look into QEMU (pid %d)", pid);
		while (!found && (entry = readdir(dir))) {
			unsigned long inode = socket_inode(dirfd(dir), entry->d_name);

			found = inode && listens(str_get(&table), inode, i < 2);
		}
		(void)closedir(dir);
		if (found)
			*ret_kind = kinds[i];
	}
	return found;
}

void drill_check_listener(
	const struct drill_domain *domain, const int pids[2], struct drill_finding *ret)
{
	if (domain->listener[0]) {
		drill_find(ret, ANSWER_NO, "the domain has %s", domain->listener);
		return;
	}
	for (int i = 0; i < 2; i++) {
		struct error err = { 0 };
		const char *kind = "";
		int found;

		if (!pids[i]) {
			drill_find(ret, ANSWER_UNSEEN,
				"the boxes' processes can be looked into by root on the host alone");
			return;
		}
		found = find_listener(pids[i], &kind, &err);
		if (found < 0)
			drill_find(ret, ANSWER_UNSEEN, "%.180s", err.text);
		else if (found)
			drill_find(
				ret, ANSWER_NO, "QEMU (pid %d) has a socket of %s", pids[i], kind);
		if (found)
			return;
	}
	drill_find(ret, domain->known ? ANSWER_YES : ANSWER_UNSEEN, "%s",
		domain->known ? "QEMU has no socket of the network"
			      : "the domain's definition cannot be read");
}
