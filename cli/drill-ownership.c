/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/drill-ownership.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "base/run.h"
#include "base/xml.h"

enum { WORDS = 16, COMMAND_MS = 30000 };

static bool takes_box(const struct command *c)
{
	return !(c->needs & HIDDEN) &&
	       (c->needs & (NEED_BOX | NEED_BOXES) || c->complete[0] == WORD_BOX ||
		       c->complete[0] == WORD_BOX_OR_ALL);
}

bool drill_ownership_argv(
	const struct command *command, const char *program, const char *name, const char **argv)
{
	size_t n = 0, args = 1;

	if (!takes_box(command))
		return false;
	argv[n++] = program;
	argv[n++] = command->name;
	if (command->needs & (CONFIRM | TAKES_FORCE))
		argv[n++] = "--force";
	argv[n++] = name;
	if (command->needs & TAKES_REST)
		argv[n++] = "--";
	/* A port, a label, a new name, a command: "1" will do for each. */
	for (; args < command->min_args; args++)
		argv[n++] = "1";
	argv[n] = NULL;
	return true;
}

static char *foreign_xml(const char *name, struct error *err)
{
	_cleanup_(xml_writer_free_p) struct xml_writer *w = xml_writer_new(err);

	if (!w)
		return NULL;
	xml_open(w, "domain", "type", "qemu", NULL);
	xml_leaf(w, "name", "%s", name);
	xml_leaf(w, "description", "made by box drill, which removes it; it never runs");
	xml_open(w, "memory", "unit", "MiB", NULL);
	xml_text(w, "64");
	xml_close(w);
	xml_open(w, "os", NULL);
	xml_open(w, "type", "arch", "x86_64", NULL);
	xml_text(w, "hvm");
	xml_close(w);
	return xml_finish(w, err);
}

struct foreign {
	const char *program; /* what is tried on it */
	const char *name;
	virDomainPtr dom; /* lent */
};

struct attempt {
	const struct command *command;
	char text[256]; /* the last line of its error output */
};

static void on_error_line(const char *text, void *data)
{
	struct attempt *t = data;

	if (strstr(text, "no such box"))
		(void)snprintf(t->text, sizeof(t->text), "%s", text);
}

/* Whether the command refuses it as it should; else ret says how it does not. */
static bool refuses(const struct command *command, struct session *s, const struct foreign *f,
	struct drill_finding *ret)
{
	const char *argv[WORDS] = { NULL };
	struct attempt t = { .command = command };
	struct run run = {
		.argv = argv,
		.timeout_ms = COMMAND_MS,
		.line = on_error_line,
		.data = &t,
	};
	char wanted[128], connect[300];
	struct error err = { 0 };
	int status = 0;
	size_t n = 0;

	if (!drill_ownership_argv(command, f->program, f->name, argv))
		return true;
	if (s->global.connect) {
		while (argv[n])
			n++;
		/* In front: what follows "--" is another program's. */
		memmove(argv + 3, argv + 2, (n - 1) * sizeof(*argv));
		(void)snprintf(connect, sizeof(connect), "--connect=%s", s->global.connect);
		argv[2] = connect;
	}
	if (run_program(&run, &status, &err) == 0)
		drill_find(ret, ANSWER_NO, "'box %s' does not refuse it", command->name);
	else if (status != ((command->needs & RUN_CONTRACT) ? 125 : 1))
		drill_find(ret, ANSWER_NO, "'box %s' ends with status %d on it: %.100s",
			command->name, status, err.text);
	(void)snprintf(wanted, sizeof(wanted), "no such box: %s", f->name);
	if (ret->answer == ANSWER_YES && !strstr(t.text, wanted))
		drill_find(ret, ANSWER_NO, "'box %s' refuses it with other words: %.100s",
			command->name, err.text);
	return ret->answer == ANSWER_YES;
}

static void try_all(struct session *s, const struct foreign *f, struct drill_finding *ret)
{
	_cleanup_free_ char *before = virDomainGetXMLDesc(f->dom, VIR_DOMAIN_XML_INACTIVE);
	_cleanup_free_ char *after = NULL;
	unsigned tried = 0;

	drill_find(ret, ANSWER_YES, "%s", "");
	for (size_t i = 0; i < command_count; i++) {
		if (!refuses(&commands[i], s, f, ret))
			return;
		tried += takes_box(&commands[i]);
	}
	after = virDomainGetXMLDesc(f->dom, VIR_DOMAIN_XML_INACTIVE);
	if (!before || !after || !str_equal(before, after) || virDomainIsActive(f->dom) != 0)
		drill_find(ret, ANSWER_NO, "it is not as it was");
	else
		drill_find(ret, ANSWER_YES, "%u commands refuse it", tried);
}

void drill_check_ownership(struct session *s, const char *program, struct drill_finding *ret)
{
	_cleanup_(virDomainFree_p) virDomainPtr dom = NULL;
	_cleanup_free_ char *xml = NULL;
	struct error err = { 0 };
	char name[64];
	uint32_t random = 0;

	if (getrandom(&random, sizeof(random), 0) != sizeof(random)) {
		drill_find(ret, ANSWER_UNSEEN, "no random bytes");
		return;
	}
	(void)snprintf(name, sizeof(name), "drill-foreign-%08x", random);
	xml = foreign_xml(name, &err);
	dom = xml ? virDomainDefineXML(s->conn, xml) : NULL;
	if (!dom) {
		if (xml)
			error_virt(&err, "cannot define '%s'", name);
		drill_find(ret, ANSWER_UNSEEN, "%.190s", err.text);
		return;
	}
	try_all(s, &(struct foreign){ program, name, dom }, ret);
	if (virDomainUndefine(dom) < 0)
		session_warn(s, "'%s' is left behind; to remove it: virsh undefine %s", name, name);
}
