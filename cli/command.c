/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table, and look-ups in it. Its order is the order of help. */
#include "cli/command.h"

#include <ctype.h>
#include <string.h>

#include "base/str.h"

static const char group_boxes[] = "Boxes";
static const char group_inside[] = "Inside a box";
static const char group_snapshots[] = "Snapshots and clones";
static const char group_images[] = "Templates and images";
static const char group_host[] = "Host";
static const char group_about[] = "About";

const struct command commands[] = {
	{
		.name = "new",
		.group = group_boxes,
		.args = "[NAME]",
		.summary = "make a box and wait until it is usable",
		.max_args = 1,
		.needs = NEED_VIRT | TAKES_JSON,
		.options = &cmd_new_options,
		.run = cmd_new,
	},
	{
		.name = "run",
		.group = group_boxes,
		.args = "[-- CMD...]",
		.summary = "a box for one command, removed when that has ended",
		.max_args = ARGS_ANY,
		.needs = NEED_VIRT | RUN_CONTRACT | TAKES_REST,
		.options = &cmd_run_options,
		.run = cmd_run,
	},
	{
		.name = "list",
		.alias = "ls",
		.group = group_boxes,
		.args = "",
		.summary = "all boxes, a line each",
		.needs = NEED_VIRT | TAKES_JSON,
		.run = cmd_list,
	},
	{
		.name = "info",
		.group = group_boxes,
		.args = "BOX",
		.summary = "all about one box",
		.min_args = 1,
		.max_args = 1,
		.needs = NEED_BOX | TAKES_JSON,
		.complete = { WORD_BOX },
		.run = cmd_info,
	},
	{
		.name = "start",
		.group = group_boxes,
		.args = "BOX...|all",
		.summary = "start boxes and wait until they are usable",
		.min_args = 1,
		.max_args = ARGS_ANY,
		.needs = NEED_VIRT,
		.complete = { WORD_BOX_OR_ALL },
		.run = cmd_start,
	},
	{
		.name = "down",
		.alias = "stop",
		.group = group_boxes,
		.args = "BOX...|all",
		.summary = "shut boxes down",
		.min_args = 1,
		.max_args = ARGS_ANY,
		.needs = NEED_VIRT | TAKES_FORCE,
		.complete = { WORD_BOX_OR_ALL },
		.run = cmd_down,
	},
	{
		.name = "restart",
		.group = group_boxes,
		.args = "BOX...|all",
		.summary = "shut boxes down and start them again",
		.min_args = 1,
		.max_args = ARGS_ANY,
		.needs = NEED_VIRT,
		.complete = { WORD_BOX_OR_ALL },
		.run = cmd_restart,
	},
	{
		.name = "rename",
		.group = group_boxes,
		.args = "BOX NEW",
		.summary = "give a stopped box another name",
		.min_args = 2,
		.max_args = 2,
		.needs = NEED_BOX | NEED_STOPPED,
		.complete = { WORD_BOX },
		.run = cmd_rename,
	},
	{
		.name = "rm",
		.group = group_boxes,
		.args = "BOX...",
		.summary = "remove boxes and their snapshots",
		.confirm = "remove {} with all snapshots",
		.min_args = 1,
		.max_args = ARGS_ANY,
		.needs = NEED_BOXES | CONFIRM,
		.complete = { WORD_BOX },
		.run = cmd_rm,
	},
	{
		.name = "expose",
		.group = group_boxes,
		.args = "BOX [PORT [HOSTPORT]]",
		.summary = "open a port of a box on this host's 127.0.0.1, list or shut such doors",
		.min_args = 1,
		.max_args = 3,
		.needs = NEED_BOX | TAKES_JSON,
		.complete = { WORD_BOX },
		.options = &cmd_expose_options,
		.run = cmd_expose,
	},
	{
		.name = "virsh",
		.group = group_boxes,
		.args = "BOX -- ARGS...",
		.summary = "run virsh on a box: the escape hatch",
		.min_args = 2,
		.max_args = ARGS_ANY,
		.own_args = 1,
		.needs = NEED_BOX | TAKES_REST,
		.complete = { WORD_BOX },
		.run = cmd_virsh,
	},
	{
		.name = "status",
		.group = group_boxes,
		.args = "",
		.summary = "the old name of list",
		.needs = NEED_VIRT | TAKES_JSON | HIDDEN,
		.run = cmd_status,
	},
	{
		.name = "shell",
		.group = group_inside,
		.args = "BOX",
		.summary = "a login shell as the box's user",
		.min_args = 1,
		.max_args = 1,
		.needs = NEED_BOX | NEED_RUNNING | RUN_CONTRACT,
		.complete = { WORD_BOX },
		.run = cmd_shell,
	},
	{
		.name = "exec",
		.group = group_inside,
		.args = "BOX -- CMD...",
		.summary = "run a command, its arguments unchanged",
		.min_args = 2,
		.max_args = ARGS_ANY,
		.own_args = 1,
		.needs = NEED_BOX | NEED_RUNNING | RUN_CONTRACT | TAKES_REST,
		.complete = { WORD_BOX },
		.options = &cmd_exec_options,
		.run = cmd_exec,
	},
	{
		.name = "cp",
		.group = group_inside,
		.args = "SRC DST",
		.summary = "copy files into a box or out of it",
		.min_args = 2,
		.max_args = 2,
		.needs = NEED_VIRT,
		.complete = { WORD_BOX_PATH, WORD_BOX_PATH },
		.options = &cmd_cp_options,
		.run = cmd_cp,
	},
	{
		.name = "root",
		.group = group_inside,
		.args = "BOX",
		.summary = "a login shell as root, without sudo",
		.min_args = 1,
		.max_args = 1,
		.needs = NEED_BOX | NEED_RUNNING | RUN_CONTRACT,
		.complete = { WORD_BOX },
		.run = cmd_root,
	},
	{
		.name = "tmux",
		.group = group_inside,
		.args = "BOX [SESSION]",
		.summary = "attach to a tmux session that outlives the connection, or make it",
		.min_args = 1,
		.max_args = 2,
		.needs = NEED_BOX | NEED_RUNNING | RUN_CONTRACT,
		.complete = { WORD_BOX },
		.run = cmd_tmux,
	},
	{
		.name = "ssh-config",
		.group = group_inside,
		.args = "BOX",
		.summary = "print what ~/.ssh/config needs, so that 'ssh BOX' works",
		.min_args = 1,
		.max_args = 1,
		.needs = NEED_BOX,
		.complete = { WORD_BOX },
		.options = &cmd_ssh_config_options,
		.run = cmd_ssh_config,
	},
	{
		.name = "proxy",
		.group = group_inside,
		.args = "BOX",
		.summary = "speak to the sshd in a box; for the ProxyCommand of ssh",
		.min_args = 1,
		.max_args = 1,
		.needs = NEED_BOX | NEED_RUNNING | RUN_CONTRACT,
		.complete = { WORD_BOX },
		.run = cmd_proxy,
	},
	{
		.name = "snapshot",
		.group = group_snapshots,
		.args = "BOX [LABEL]",
		.summary = "take a snapshot of a box, list or remove its snapshots",
		.min_args = 1,
		.max_args = 2,
		.needs = NEED_BOX | TAKES_JSON,
		.complete = { WORD_BOX },
		.options = &cmd_snapshot_options,
		.run = cmd_snapshot,
	},
	{
		.name = "restore",
		.group = group_snapshots,
		.args = "BOX LABEL",
		.summary = "go back to a snapshot",
		.confirm = "roll {1} back to {2} and lose what was written since",
		.min_args = 2,
		.max_args = 2,
		.needs = NEED_BOX | CONFIRM,
		.complete = { WORD_BOX, WORD_LABEL },
		.run = cmd_restore,
	},
	{
		.name = "templates",
		.group = group_images,
		.args = "",
		.summary = "what boxes can be made of, a line each",
		.needs = TAKES_JSON,
		.run = cmd_templates,
	},
	{
		.name = "image",
		.group = group_images,
		.args = "mint|list|info|verify|prune|rm|warm [ARG...]",
		.summary = "make, list, check and remove golden images",
		.min_args = 1,
		.max_args = ARGS_ANY,
		.needs = TAKES_JSON | TAKES_FORCE,
		.complete = { WORD_ACTION, WORD_IMAGE },
		.actions = cmd_image_actions,
		.options = &cmd_image_options,
		.run = cmd_image,
	},
	{
		.name = "setup-host",
		.group = group_host,
		.args = "",
		.summary = "make this machine a host for boxes",
		.needs = NEED_ROOT,
		.run = cmd_setup_host,
	},
	{
		.name = "teardown-host",
		.group = group_host,
		.args = "",
		.summary = "take everything of box off this machine",
		.needs = NEED_ROOT | TAKES_FORCE,
		.options = &cmd_teardown_host_options,
		.run = cmd_teardown_host,
	},
	{
		.name = "doctor",
		.group = group_host,
		.args = "",
		.summary = "say whether this host is fit for boxes, and how to repair it",
		.needs = TAKES_JSON,
		.options = &cmd_doctor_options,
		.run = cmd_doctor,
	},
	{
		.name = "drill",
		.group = group_host,
		.args = "[BOX]",
		.summary = "prove the isolation from inside live boxes",
		.max_args = 1,
		.needs = NEED_VIRT | TAKES_JSON,
		.complete = { WORD_BOX },
		.options = &cmd_drill_options,
		.run = cmd_drill,
	},
	{
		.name = "help",
		.group = group_about,
		.args = "[COMMAND]",
		.summary = "list the commands, or explain one",
		.max_args = 1,
		.needs = TAKES_JSON,
		.complete = { WORD_COMMAND },
		.run = cmd_help,
	},
	{
		.name = "version",
		.group = group_about,
		.args = "",
		.summary = "print the version",
		.needs = TAKES_JSON,
		.run = cmd_version,
	},
	{
		.name = "completion",
		.group = group_about,
		.args = "bash|zsh|fish",
		.summary = "print a completion script for a shell",
		.min_args = 1,
		.max_args = 1,
		.complete = { WORD_SHELL },
		.run = cmd_completion,
	},
	{
		.name = "__drill-box",
		.group = group_about,
		.args = "NAME",
		.summary = "make a box for a drill and keep it until standard input ends",
		.min_args = 1,
		.max_args = 1,
		.needs = NEED_VIRT | HIDDEN,
		.run = cmd_drill_box,
	},
	{
		.name = "__complete",
		.group = group_about,
		.args = "[-- WORD...]",
		.summary = "print what can follow the words",
		.max_args = ARGS_ANY,
		.needs = HIDDEN | TAKES_REST,
		.run = cmd_complete,
	},
};

const size_t command_count = ARRAY_LEN(commands);

const struct command *command_find(const char *name)
{
	for (size_t i = 0; i < command_count; i++)
		if (str_equal(commands[i].name, name) ||
			(commands[i].alias && str_equal(commands[i].alias, name)))
			return &commands[i];
	return NULL;
}

/* The nearest name that help shows. */
static const char *nearest(const char *name)
{
	const char *names[2 * ARRAY_LEN(commands)];
	char lower[64];
	size_t count = 0, len = 0;

	for (; len < sizeof(lower) - 1 && name[len]; len++)
		lower[len] = (char)tolower((unsigned char)name[len]);
	lower[len] = '\0';
	for (size_t i = 0; i < command_count; i++) {
		if (commands[i].needs & HIDDEN)
			continue;
		if (str_equal(commands[i].name, lower))
			return commands[i].name;
		names[count++] = commands[i].name;
		if (commands[i].alias)
			names[count++] = commands[i].alias;
	}
	return str_nearest(lower, names, count);
}

const struct command *command_get(const char *name, struct error *err)
{
	const struct command *command = command_find(name);
	_cleanup_str_ struct str shown = STR_INIT;
	const char *near;

	if (command)
		return command;
	str_append_escaped(&shown, name, strlen(name), false);
	error_set(err, ERROR_USAGE, "unknown command '%s'", str_get(&shown));
	near = nearest(name);
	if (near)
		error_hint(err, "; did you mean '%s'?", near);
	return NULL;
}

/* The index-th argument of the synopsis, without brackets and dots; "--" is none. */
static void args_word(const char *args, size_t index, char *buf, size_t len)
{
	size_t n = 0;

	for (;;) {
		size_t word = strcspn(args, " ");

		if (!(word == 2 && strncmp(args, "--", 2) == 0) && index-- == 0) {
			for (size_t i = 0; i < word && n < len - 1; i++)
				if (!strchr("[].", args[i]))
					buf[n++] = args[i];
			break;
		}
		if (!args[word])
			break;
		args += word + 1;
	}
	buf[n] = '\0';
}

static int missing_argument(const struct command *c, size_t index, struct error *err)
{
	char name[64];

	args_word(c->args, index, name, sizeof(name));
	return error_set(err, ERROR_USAGE, "%s is missing: box %s %s", name, c->name, c->args);
}

static int stray_argument(const struct command *c, const char *word, struct error *err)
{
	_cleanup_str_ struct str shown = STR_INIT;

	str_append_escaped(&shown, word, strlen(word), false);
	return error_set(err, ERROR_USAGE, "unexpected argument '%s': box %s%s%s", str_get(&shown),
		c->name, *c->args ? " " : "", c->args);
}

int command_check_args(const struct command *c, const struct call *call, struct error *err)
{
	/* What stands before a "--" is ours alone: "box exec -- ls" lacks the box, not the command. */
	if ((c->needs & TAKES_REST) && call->dashes) {
		if (call->before < MIN(c->own_args, c->min_args))
			return missing_argument(c, call->before, err);
		if (call->before > c->own_args)
			return stray_argument(c, call->args[c->own_args], err);
	}
	if (call->count < c->min_args)
		return missing_argument(c, call->count, err);
	if (call->count > c->max_args)
		return stray_argument(c, call->args[c->max_args], err);
	/* What needs each box by its name does not take the word for all of them. */
	for (size_t i = 0; (c->needs & NEED_BOXES) && i < call->count; i++)
		if (str_equal(call->args[i], "all"))
			return error_set(err, ERROR_USAGE,
				"'box %s' does not take 'all': name the boxes", c->name);
	return 0;
}

struct option_rules command_rules(const struct command *command)
{
	return (struct option_rules){
		.own = command->options,
		.needs = command->needs,
		.takes_rest = command->needs & TAKES_REST,
		.own_args = command->own_args,
	};
}
