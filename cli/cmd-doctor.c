/* SPDX-License-Identifier: GPL-2.0-or-later */
/* box doctor: run the table of checks (cli/doctor.h) and tell. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/doctor.h"
#include "cli/output.h"

struct doctor_options {
	bool fix;
};

static const struct option_row rows[] = {
	{
		.name = "fix",
		.help = "repair what can be repaired without a person",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct doctor_options, fix),
	},
};
const struct option_table cmd_doctor_options = OPTION_TABLE(struct doctor_options, rows);

static const char *const verdict_names[] = {
	[VERDICT_OK] = "OK",
	[VERDICT_DIRTY] = "DIRTY",
	[VERDICT_UNSEEN] = "UNSEEN",
};

/* Why this check cannot be made from here; NULL when it can. */
static const char *hindrance(const struct doctor *d, const struct check *check)
{
	if (check->needs_virt && !d->conn)
		return "libvirt does not answer";
	if (check->needs_local && !d->local)
		return "the host is another machine";
	if (check->needs_root && !d->root)
		return "only root can see this";
	return NULL;
}

static void look(struct doctor *d, const struct check *check, struct finding *ret)
{
	const char *why = hindrance(d, check);
	struct error err = { 0 };

	*ret = (struct finding){ 0 };
	if (why)
		finding_say(ret, VERDICT_UNSEEN, "%s", why);
	else if (check->look(d, ret, &err) < 0)
		finding_say(ret, VERDICT_DIRTY, "%s", err.text);
	if (ret->verdict == VERDICT_OK)
		ret->repair[0] = '\0';
}

/* Repair, and see whether it helped. */
static void fix(struct doctor *d, const struct check *check, struct finding *ret)
{
	struct error err = { 0 };

	if (ret->verdict != VERDICT_DIRTY || !check->fix)
		return;
	if (check->fix(d, &err) < 0)
		session_warn(d->session, "%s: %s", check->name, err.text);
	look(d, check, ret);
}

static int print_lines(const struct finding *findings, struct error *err)
{
	_cleanup_(table_done) struct table table = { .columns = 3 };

	for (size_t i = 0; i < doctor_check_count; i++) {
		const struct finding *f = &findings[i];
		bool told = !*f->repair ||
			    strstr(f->text, f->repair); /* errors name their next step */

		table_cell(&table, verdict_names[f->verdict]);
		table_cell(&table, doctor_checks[i].name);
		table_cellf(
			&table, "%s%s%s", f->text, told ? "" : "; repair: ", told ? "" : f->repair);
	}
	return output_table(&table, err);
}

/* What the line names but a few of: "volumes", of a check that has such. When they cannot be seen, the line says why. */
static int add_list(struct doctor *d, const struct check *check, const struct finding *f,
	json_t *object, struct error *err)
{
	struct error ignored = { 0 };
	json_t *list;

	if (!check->list)
		return 0;
	list = json_array();
	if (json_set_new(object, "volumes", list, err) < 0)
		return -1;
	if (f->verdict == VERDICT_DIRTY && check->list(d, list, &ignored) < 0)
		(void)json_array_clear(list);
	return 0;
}

static int print_json(
	struct doctor *d, const struct finding *findings, bool clean, struct error *err)
{
	_cleanup_json_ json_t *document = json_object();
	json_t *list = json_array();

	if (json_set_new(document, "checks", list, err) < 0 ||
		json_set_u64(document, "schema", 1, err) < 0 ||
		json_set_bool(document, "clean", clean, err) < 0)
		return -1;
	for (size_t i = 0; i < doctor_check_count; i++) {
		const struct finding *f = &findings[i];
		json_t *object = json_object();

		if (json_add_new(list, object, err) < 0 ||
			json_set_text(object, "name", doctor_checks[i].name, err) < 0 ||
			json_set_text(object, "verdict", verdict_names[f->verdict], err) < 0 ||
			json_set_text(object, "text", f->text, err) < 0 ||
			json_set_text(object, "repair", *f->repair ? f->repair : NULL, err) < 0 ||
			add_list(d, &doctor_checks[i], f, object, err) < 0)
			return -1;
	}
	return output_json(document, err);
}

int cmd_doctor(struct session *s, const struct call *call, struct error *err)
{
	const struct doctor_options *options = call->options;
	_cleanup_free_ struct finding *findings = calloc(doctor_check_count, sizeof(*findings));
	struct doctor d = { .session = s, .root = geteuid() == 0 };
	struct error ignored = { 0 };
	bool clean = true;

	if (!findings)
		return error_oom(err);
	d.conn = session_virt(s, &ignored);
	d.local = d.conn ? virt_is_local(d.conn) : true;
	for (size_t i = 0; i < doctor_check_count; i++) {
		look(&d, &doctor_checks[i], &findings[i]);
		if (options->fix)
			fix(&d, &doctor_checks[i], &findings[i]);
		clean &= findings[i].verdict != VERDICT_DIRTY;
	}
	s->status = clean ? 0 : 1;
	return s->global.json ? print_json(&d, findings, clean, err) : print_lines(findings, err);
}
