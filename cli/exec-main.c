/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * box-exec: "box exec" without libvirt's library, whose start-up takes longer than a short command in a box
 * does. It is linked with wire/ in libvirt's place, and else with the same objects as box-main.
 *
 * It does the plain case and nothing else. Whatever it does not know (another host, --timing, a box that is
 * not there or does not run, metadata that is not as we write it, a daemon that wants a password) is left
 * to box-main, which it becomes: with the words as they came, and before the box or standard input was
 * touched. So what a person is told in such a case is written in one place.
 */
#include <stdio.h>
#include <string.h>

#include "cli/become.h"
#include "cli/program.h"
#include "cli/session.h"
#include "vmm/metadata-peek.h"

static const struct command exec_command = {
	.name = "exec",
	.own_args = 1,
	.needs = NEED_BOX | NEED_RUNNING | RUN_CONTRACT | TAKES_REST,
	.options = &cmd_exec_options,
	.run = cmd_exec,
};

static bool wants_more(const struct global_options *g)
{
	static const char *const names[] = { "BOX_TIMING", "BOX_DEBUG", "BOX_FAULT" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (getenv(names[i]))
			return true;
	return g->timing || g->help || g->version || g->json || g->force ||
	       strcmp(virt_uri(g->connect), "qemu:///system") != 0;
}

static bool read_words(int argc, char **argv, struct call *call)
{
	struct option_rules rules = {
		.own = exec_command.options,
		.needs = exec_command.needs,
		.takes_rest = true,
		.own_args = exec_command.own_args,
	};
	struct error unseen = { 0 };

	return argc > 2 &&
	       options_parse(&rules, (const char *const *)argv + 2, (size_t)argc - 2, call,
		       &unseen) == 0 &&
	       !wants_more(&call->global) && call->count >= 2 &&
	       call->before == (call->dashes ? 1 : call->count);
}

/* The box, if it is one and runs. */
static bool find(struct session *s, const char *name)
{
	_cleanup_free_ char *meta = NULL;
	int state = VIR_DOMAIN_NOSTATE;
	struct error unseen = { 0 };

	s->conn = virt_open(NULL, &unseen);
	if (!s->conn)
		return false;
	s->box.dom = virDomainLookupByName(s->conn, name);
	if (!s->box.dom)
		return false;
	(void)snprintf(s->box.name, sizeof(s->box.name), "%s", virDomainGetName(s->box.dom));
	meta = virDomainGetMetadata(
		s->box.dom, VIR_DOMAIN_METADATA_ELEMENT, META_NAMESPACE, VIR_DOMAIN_AFFECT_CURRENT);
	return meta && meta_peek_user(meta, s->box.meta.user, sizeof(s->box.meta.user)) &&
	       virDomainGetState(s->box.dom, &state, NULL, 0) == 0 && state == VIR_DOMAIN_RUNNING;
}

static void leave(struct session *s)
{
	progress_done(&s->progress);
	if (s->box.dom)
		(void)virDomainFree(s->box.dom);
	if (s->conn)
		(void)virConnectClose(s->conn);
}

/* True with the exit status when the command was run, or cannot be; false: nothing was done. */
static bool run(int argc, char **argv, int *ret_status)
{
	_cleanup_(call_done) struct call call = { 0 };
	struct session s = { .command = &exec_command, .argv = argv };
	struct error err = { 0 };
	bool mine;

	s.in_tty = isatty(STDIN_FILENO);
	s.out_tty = isatty(STDOUT_FILENO);
	s.err_tty = isatty(STDERR_FILENO);
	progress_init(&s.progress, STDERR_FILENO, PROGRESS_QUIET, false);
	mine = read_words(argc, argv, &call) && find(&s, call.args[0]);
	if (mine && cmd_exec(&s, &call, &err) < 0)
		*ret_status = program_report(&exec_command, s.fault, &err);
	else if (mine)
		*ret_status = s.status;
	leave(&s);
	return mine;
}

int main(int argc, char **argv)
{
	int status;

	program_begin();
	return run(argc, argv, &status) ? status : become_main(argv);
}
