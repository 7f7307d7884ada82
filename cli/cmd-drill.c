/* SPDX-License-Identifier: GPL-2.0-or-later */
/* box drill: prove the isolation, live. */
#include <fcntl.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/fd.h"
#include "cli/box-text.h"
#include "cli/drill-boxes.h"
#include "cli/drill-ownership.h"
#include "cli/drill-show.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "images/place.h"
#include "vmm/drill-record.h"

enum { QUICK_SILENCE_MS = 700 };

struct drill_options {
	bool quick;
	const char *only, *record;
};

static const struct option_row rows[] = {
	{
		.name = "quick",
		.help = "the most important claims only, in a few seconds",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct drill_options, quick),
	},
	{
		.name = "only",
		.arg = "CLAIMS",
		.help = "these claims only: ids, separated by commas",
		.kind = OPTION_TEXT,
		.offset = offsetof(struct drill_options, only),
	},
	{
		.name = "record",
		.arg = "FILE",
		.help = "write a report of the whole drill, and remember it as the host's last drill",
		.kind = OPTION_TEXT,
		.complete = WORD_FILE,
		.offset = offsetof(struct drill_options, record),
	},
};
const struct option_table cmd_drill_options = OPTION_TABLE(struct drill_options, rows);

/* Everything of one run. */
struct drill {
	struct session *session;
	const struct drill_options *options;
	bool *selected; /* owned; by claim */
	uint64_t *claim_ms; /* owned; the same */
	struct drill_boxes boxes;
	struct drill_site site;
	struct drill_run run;
	bool running; /* the probes have begun */
	int64_t begun;
	uint64_t started, boxes_ms, probes_begun, probes_ms;
	bool silent; /* a line of the table could not be written; output says why */
	struct error output;
};

static void drill_done(struct drill *d)
{
	drill_run_done(&d->run);
	drill_site_done(&d->site);
	free(d->selected);
	free(d->claim_ms);
}

/* ---- which claims ---- */

static int select_only(const char *list, bool *selected, struct error *err)
{
	_cleanup_free_ char *copy = str_dup(list, err);
	_cleanup_free_ const char **ids = calloc(drill_claim_count, sizeof(*ids));
	char *save = NULL;

	if (!copy || !ids)
		return copy ? error_oom(err) : -1;
	for (size_t i = 0; i < drill_claim_count; i++)
		ids[i] = drill_claims[i].id;
	for (char *id = strtok_r(copy, ", ", &save); id; id = strtok_r(NULL, ", ", &save)) {
		const struct drill_claim *claim = drill_claim_find(id);
		const char *near = str_nearest(id, ids, drill_claim_count);
		_cleanup_str_ struct str shown = STR_INIT;

		if (claim) {
			selected[claim - drill_claims] = true;
			continue;
		}
		str_append_escaped(&shown, id, strlen(id), false);
		error_set(err, ERROR_USAGE, "no claim '%s'; box-isolation(7) lists them",
			str_get(&shown));
		return near ? error_hint(err, "; did you mean '%s'?", near) : -1;
	}
	return 0;
}

static int select_claims(struct drill *d, struct error *err)
{
	d->selected = calloc(drill_claim_count, sizeof(*d->selected));
	d->claim_ms = calloc(drill_claim_count, sizeof(*d->claim_ms));
	if (!d->selected || !d->claim_ms)
		return error_oom(err);
	if (d->options->only)
		return select_only(d->options->only, d->selected, err);
	for (size_t i = 0; i < drill_claim_count; i++)
		d->selected[i] = !d->options->quick || drill_claims[i].quick;
	return 0;
}

/* ---- what the run asks of us ---- */

static int op_counters(
	void *ctx, struct nft_counter *list, size_t max, size_t *ret_n, struct error *err)
{
	return drill_site_counters(&((struct drill *)ctx)->site, list, max, ret_n, err);
}

static int op_door(void *ctx, bool open, struct error *err)
{
	struct drill *d = ctx;

	return drill_boxes_door(&d->boxes, open, d->site.world.box_port, d->site.world.door, err);
}

static void op_check(void *ctx, const char *name, struct drill_finding *ret)
{
	struct drill *d = ctx;

	if (str_equal(name, "ownership"))
		drill_check_ownership(d->session, "/proc/self/exe", ret);
	else
		drill_site_check(&d->site, &d->run.facts[DRILL_A], name, ret);
}

static void op_verdict(void *ctx, size_t claim, const struct drill_result *result)
{
	struct drill *d = ctx;

	d->claim_ms[claim] = clock_ms() - d->probes_begun;
	if (d->session->global.json || d->silent)
		return;
	progress_pause(&d->session->progress);
	d->silent = drill_show_claim(claim, result, &d->output) < 0;
	progress_resume(&d->session->progress);
}

static void op_stage(void *ctx, const char *text)
{
	struct drill *d = ctx;

	if (d->running)
		progress_end(&d->session->progress);
	d->running = true;
	progress_begin(&d->session->progress, "drill", text, text);
}

/* ---- steps ---- */

static int make_boxes(struct drill *d, const char *given, struct error *err)
{
	int ret;

	progress_begin(&d->session->progress, "drill", "boxes",
		given ? "making a peer" : "making two boxes");
	ret = drill_boxes_make(&d->boxes, given, err);
	progress_end(&d->session->progress);
	d->boxes_ms = clock_ms() - d->started;
	return ret;
}

static int probe(struct drill *d, struct error *err)
{
	const char *argv[2][12], *host[] = { NULL, "serve", NULL };
	_cleanup_free_ char *program = place_libexec("box-probe", err);
	int ret;

	if (!program || drill_site_open(d->session->conn, d->boxes.names[DRILL_A],
				d->boxes.names[DRILL_B], &d->site, err) < 0)
		return -1;
	host[0] = program;
	for (size_t i = 0; i < 2; i++)
		drill_boxes_argv(&d->boxes, i, argv[i]);
	if (d->options->quick)
		d->site.world.silence_ms = QUICK_SILENCE_MS;
	d->run.world = &d->site.world;
	d->run.selected = d->selected;
	d->run.in_one = d->options->quick;
	d->run.argv[DRILL_A] = argv[DRILL_A];
	d->run.argv[DRILL_B] = argv[DRILL_B];
	d->run.argv[DRILL_HOST] = d->site.local ? host : NULL;
	d->run.ops = (struct drill_ops){
		.counters = d->site.nl ? op_counters : NULL,
		.door = op_door,
		.check = op_check,
		.verdict = op_verdict,
		.stage = op_stage,
		.ctx = d,
	};
	d->run.interrupt_fd = interrupt_fd();
	d->probes_begun = clock_ms();
	ret = drill_run(&d->run, err);
	if (d->running)
		progress_end(&d->session->progress);
	d->probes_ms = clock_ms() - d->probes_begun;
	return ret;
}

static int tell(struct drill *d, struct error *err)
{
	_cleanup_json_ json_t *document = NULL;
	const struct drill_document what = {
		.site = &d->site,
		.run = &d->run,
		.quick = d->options->quick,
		.begun = d->begun,
		.boxes_ms = d->boxes_ms,
		.probes_ms = d->probes_ms,
		.claim_ms = d->claim_ms,
	};
	struct drill_tally tally = drill_tally(&d->run);
	char text[64];

	if (d->silent) {
		*err = d->output;
		return -1;
	}
	document = drill_document_json(&what, err);
	if (!document)
		return -1;
	d->session->status = drill_tally_status(&tally);
	if (d->options->record &&
		drill_record_write(d->session->conn, d->options->record, document,
			d->boxes.own[DRILL_A] ? DRILL_THROW_AWAY : d->site.box[DRILL_A].uuid,
			err) < 0)
		return -1;
	if (d->session->global.json)
		return output_json(document, err);
	return output_line(err, "%s", drill_tally_text(&tally, text));
}

static void warn_of_limits(struct drill *d)
{
	if (d->site.tcg)
		session_warn(d->session,
			"the boxes are emulated (BOX_ACCEL=tcg): that is NO security boundary, whatever the drill says of the network");
	if (!d->site.local)
		session_note(
			d->session, "the host is another machine: what only it can see is unknown");
	else if (!d->site.root)
		session_note(d->session, "not root: what only root on the host can see is unknown");
}

/* A box of the user's is there and runs; before a peer is made for it. */
static int check_given(struct session *s, const char *name, struct error *err)
{
	_cleanup_box_ struct box box = { 0 };
	enum box_state state;

	if (box_find(s->conn, name, &box, err) < 0 || box_get_state(&box, &state, err) < 0)
		return -1;
	if (state == BOX_RUNNING)
		return 0;
	return error_set(err, ERROR_BUSY, "box '%s' is %s; start it first: box start %s", name,
		box_state_name(state), name);
}

int cmd_drill(struct session *s, const struct call *call, struct error *err)
{
	_cleanup_(drill_done) struct drill d = {
		.session = s,
		.options = call->options,
		.begun = (int64_t)time(NULL),
		.started = clock_ms(),
	};
	const char *given = call->count ? call->args[0] : NULL;
	struct error removal = { 0 };
	int ret;

	drill_boxes_init(&d.boxes, s);
	if (select_claims(&d, err) < 0)
		return -1;
	if (d.options->record && d.options->only)
		return error_set(err, ERROR_USAGE,
			"--record is for the whole drill: it does not go with --only");
	if (session_change(s, err) < 0 || (given && check_given(s, given, err) < 0))
		return -1;
	ret = make_boxes(&d, given, err) < 0 || probe(&d, err) < 0 ? -1 : 0;
	virt_interrupt_flag(NULL); /* what follows is to be finished, whatever ended the drill */
	if (drill_boxes_remove(&d.boxes, &removal) < 0)
		session_warn(s, "%s", removal.text);
	if (ret < 0)
		return -1;
	warn_of_limits(&d);
	return tell(&d, err);
}
