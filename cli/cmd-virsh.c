/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * box virsh: the escape hatch. It enforces ownership (the box is one of ours: NEED_BOX) and nothing else;
 * what can move the box off the isolation stack is warned of and done.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"
#include "cli/session.h"

enum { ARGS_MAX = 512 };

/* Commands of virsh that can give a box a way round our rules, or take our mark or rules from it. */
static const char *const risky[] = {
	"attach-device",
	"attach-disk",
	"attach-interface",
	"create",
	"define",
	"detach-device",
	"detach-device-alias",
	"detach-interface",
	"domif-setlink",
	"edit",
	"metadata",
	"migrate",
	"qemu-attach",
	"qemu-monitor-command",
	"save-image-define",
	"save-image-edit",
	"undefine",
	"update-device",
};

struct hatch {
	const char *argv[ARGS_MAX + 8];
	size_t argc;
	char *owned[ARGS_MAX]; /* texts that were made */
	size_t owned_len;
};

static void hatch_done(struct hatch *h)
{
	for (size_t i = 0; i < h->owned_len; i++)
		free(h->owned[i]);
}

/* word with each {} replaced; *ret_replaced is set if there was one. Owned by h. */
static const char *fill(
	struct hatch *h, const char *word, const char *name, bool *ret_replaced, struct error *err)
{
	_cleanup_str_ struct str text = STR_INIT;
	const char *gap;

	for (; (gap = strstr(word, "{}")); word = gap + 2) {
		str_append_len(&text, word, (size_t)(gap - word));
		str_append(&text, name);
		*ret_replaced = true;
	}
	str_append(&text, word);
	h->owned[h->owned_len] = str_take(&text, err);
	return h->owned[h->owned_len] ? h->owned[h->owned_len++] : NULL;
}

static int build(struct hatch *h, const char *uri, const struct call *call, const char *name,
	struct error *err)
{
	bool replaced = false;

	if (call->count > ARGS_MAX)
		return error_set(err, ERROR_USAGE, "too many arguments");
	h->argv[h->argc++] = "virsh";
	h->argv[h->argc++] = "-c";
	h->argv[h->argc++] = uri;
	for (size_t i = 1; i < call->count; i++) {
		h->argv[h->argc] = fill(h, call->args[i], name, &replaced, err);
		if (!h->argv[h->argc++])
			return -1;
	}
	if (!replaced)
		h->argv[h->argc++] = name;
	return 0;
}

static void tell(struct session *s, const struct hatch *h)
{
	_cleanup_str_ struct str line = STR_INIT;

	for (size_t i = 0; i < h->argc; i++) {
		str_append(&line, i ? " " : "");
		str_append_escaped(&line, h->argv[i], strlen(h->argv[i]), false);
	}
	progress_message(&s->progress, "%s", str_get(&line));
}

static void warn(struct session *s, const char *command)
{
	for (size_t i = 0; i < ARRAY_LEN(risky); i++)
		if (str_equal(command, risky[i]))
			session_warn(s,
				"'%s' can move box '%s' off the isolation stack; see afterwards: box "
				"info %s",
				command, s->box.name, s->box.name);
}

int cmd_virsh(struct session *s, const struct call *call, struct error *err)
{
	_cleanup_(hatch_done) struct hatch h = { 0 };
	_cleanup_free_ char *uri = virConnectGetURI(s->conn);

	if (!uri)
		return error_virt(err, "cannot ask for the connection's URI");
	if (build(&h, uri, call, s->box.name, err) < 0)
		return -1;
	warn(s, call->args[1]);
	tell(s, &h);
	(void)signal(SIGPIPE, SIG_DFL); /* which main ignores */
	/* in our place: terminal, signals and exit status are virsh's own */
	(void)execvp("virsh", (char *const *)h.argv);
	return error_errno(err, errno, "cannot run virsh (package libvirt-clients)");
}
