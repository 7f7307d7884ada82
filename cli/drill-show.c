/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/drill-show.h"

#include <stdio.h>

#include "cli/output.h"
#include "config.h"
#include "vmm/drill-judge.h"

struct drill_tally drill_tally(const struct drill_run *run)
{
	struct drill_tally tally = { { 0 } };

	for (size_t i = 0; i < drill_claim_count; i++)
		if (run->selected[i])
			tally.count[run->results[i].verdict]++;
	return tally;
}

int drill_tally_status(const struct drill_tally *tally)
{
	if (tally->count[DRILL_BROKEN])
		return 1;
	return tally->count[DRILL_UNKNOWN] ? 3 : 0;
}

const char *drill_tally_text(const struct drill_tally *tally, char buf[64])
{
	(void)snprintf(buf, 64, "%u hold, %u broken, %u unknown", tally->count[DRILL_HOLDS],
		tally->count[DRILL_BROKEN], tally->count[DRILL_UNKNOWN]);
	return buf;
}

int drill_show_claim(size_t claim, const struct drill_result *result, struct error *err)
{
	const struct drill_claim *c = &drill_claims[claim];

	if (output_line(err, "%-8s %-18s %s", drill_verdict_name(result->verdict), c->id, c->says) <
		0)
		return -1;
	return result->verdict == DRILL_HOLDS ? 0 : output_line(err, "         %s", result->reason);
}

/* ---- JSON ---- */

static const char *const answers[] = {
	[ANSWER_NONE] = "none",
	[ANSWER_FAILED] = "failed",
	[ANSWER_SENT] = "sent",
	[ANSWER_OPEN] = "open",
	[ANSWER_REFUSED] = "refused",
	[ANSWER_SILENT] = "silent",
	[ANSWER_NEAR] = "unreachable",
	[ANSWER_FAR] = "unreachable-beyond",
	[ANSWER_NAME] = "name",
	[ANSWER_NO_NAME] = "no-name",
	[ANSWER_YES] = "yes",
	[ANSWER_NO] = "no",
	[ANSWER_UNSEEN] = "unseen",
};

/* "bxt01234567 in", "box", "peer", "host's stack". */
static int add_sight(json_t *list, const struct drill_sight *s, struct error *err)
{
	static const char *const places[] = {
		[WHERE_A] = "box", [WHERE_B] = "peer", [WHERE_LOCAL] = "host's stack"
	};
	char text[64];

	if (s->where != WHERE_WIRE)
		return json_add_new(list, json_string(places[s->where]), err);
	(void)snprintf(text, sizeof(text), "%s %s", s->iface, s->out ? "out" : "in");
	return json_add_new(list, json_string(text), err);
}

static json_t *probe_json(const struct drill_item *item, struct error *err)
{
	_cleanup_json_ json_t *o = json_object();
	_cleanup_json_ json_t *seen = json_array();

	for (size_t i = 0; i < item->sight_count; i++)
		if (add_sight(seen, &item->sights[i], err) < 0)
			return NULL;
	if (json_set_text(o, "from", drill_place_name(drill_item_probe(item)->from), err) < 0 ||
		json_set_text(o, "probe", item->line, err) < 0 ||
		json_set_text(o, "answer", answers[item->answer], err) < 0 ||
		json_set_text(o, "text", item->text, err) < 0 ||
		json_set_new(o, "seen", TAKE(seen), err) < 0)
		return NULL;
	return TAKE(o);
}

static json_t *probes_json(
	const struct drill_plan *plan, bool control, size_t index, struct error *err)
{
	_cleanup_json_ json_t *list = json_array();

	vec_foreach(const struct drill_item, item, &plan->items) {
		if (item->control == control && item->index == index &&
			json_add_new(list, probe_json(item, err), err) < 0)
			return NULL;
	}
	return TAKE(list);
}

static json_t *claim_json(const struct drill_document *d, size_t i, struct error *err)
{
	const struct drill_claim *c = &drill_claims[i];
	const struct drill_result *r = &d->run->results[i];
	_cleanup_json_ json_t *o = json_object();
	_cleanup_json_ json_t *counters = json_array();

	for (size_t k = 0; k < DRILL_COUNTERS_MAX && c->counters[k]; k++)
		if (json_add_new(counters, json_string(c->counters[k]), err) < 0)
			return NULL;
	if (json_set_text(o, "id", c->id, err) < 0 ||
		json_set_text(o, "group", c->group, err) < 0 ||
		json_set_text(o, "claim", c->says, err) < 0 ||
		json_set_text(o, "verdict", drill_verdict_name(r->verdict), err) < 0 ||
		json_set_text(o, "reason", r->reason, err) < 0 ||
		json_set_u64(o, "milliseconds", d->claim_ms[i], err) < 0 ||
		json_set_new(o, "counters", TAKE(counters), err) < 0 ||
		json_set_new(o, "probes", probes_json(&d->run->plan, false, i, err), err) < 0)
		return NULL;
	if (r->expected && r->counters_seen &&
		(json_set_u64(o, "packets_expected", r->expected, err) < 0 ||
			json_set_u64(o, "packets_dropped", r->counted, err) < 0))
		return NULL;
	return TAKE(o);
}

static json_t *claims_json(const struct drill_document *d, struct error *err)
{
	_cleanup_json_ json_t *list = json_array();

	for (size_t i = 0; i < drill_claim_count; i++)
		if (d->run->selected[i] && json_add_new(list, claim_json(d, i, err), err) < 0)
			return NULL;
	return TAKE(list);
}

static json_t *controls_json(const struct drill_document *d, struct error *err)
{
	_cleanup_json_ json_t *list = json_array();

	for (unsigned c = 0; c < DRILL_CONTROLS; c++) {
		char text[DRILL_TEXT_MAX] = "";
		json_t *o;
		bool good;

		if (!d->run->plan.controls[c])
			continue;
		good = drill_control_judge(
			&d->site->world, &d->run->plan, (enum drill_control)c, text);
		o = json_object();
		if (json_add_new(list, o, err) < 0 ||
			json_set_text(o, "control", drill_controls[c].says, err) < 0 ||
			json_set_bool(o, "good", good, err) < 0 ||
			json_set_text(o, "reason", good ? NULL : text, err) < 0 ||
			json_set_new(o, "probes", probes_json(&d->run->plan, true, c, err), err) <
				0)
			return NULL;
	}
	return TAKE(list);
}

static json_t *host_json(const struct drill_document *d, struct error *err)
{
	_cleanup_json_ json_t *o = json_object();
	char digest[65];

	if (drill_site_rules_digest(d->site, digest, err) < 0 ||
		json_set_text(o, "name", d->site->hostname, err) < 0 ||
		json_set_text(o, "kernel", *d->site->kernel ? d->site->kernel : NULL, err) < 0 ||
		json_set_text(o, "libvirt", d->site->libvirt, err) < 0 ||
		json_set_text(o, "qemu", d->site->qemu, err) < 0 ||
		json_set_text(o, "rules_sha256", digest, err) < 0 ||
		json_set_bool(o, "emulated", d->site->tcg, err) < 0 ||
		json_set_bool(o, "local", d->site->local, err) < 0 ||
		json_set_bool(o, "root", d->site->root, err) < 0)
		return NULL;
	return TAKE(o);
}

static json_t *boxes_json(const struct drill_document *d, struct error *err)
{
	_cleanup_json_ json_t *list = json_array();

	for (int i = 0; i < 2; i++) {
		const struct drill_box *box = &d->site->world.box[i];
		json_t *o = json_object();
		char ip[16];

		if (json_add_new(list, o, err) < 0 ||
			json_set_text(o, "place", drill_place_name((enum drill_place)i), err) < 0 ||
			json_set_text(o, "name", box->name, err) < 0 ||
			json_set_text(o, "uuid", d->site->box[i].uuid, err) < 0 ||
			json_set_text(o, "image", d->site->box[i].meta.image, err) < 0 ||
			json_set_text(o, "tap", box->tap, err) < 0 ||
			json_set_text(o, "mac", box->mac, err) < 0 ||
			json_set_text(o, "ipv4", net_format_ipv4(box->ip, ip), err) < 0)
			return NULL;
	}
	return TAKE(list);
}

json_t *drill_document_json(const struct drill_document *d, struct error *err)
{
	_cleanup_json_ json_t *o = json_object();
	struct drill_tally tally = drill_tally(d->run);
	char begun[META_TIME_MAX];

	if (json_set_u64(o, "schema", DRILL_SCHEMA, err) < 0 ||
		json_set_text(o, "version", BOX_VERSION, err) < 0 ||
		json_set_text(o, "begun", meta_time_format(d->begun, begun), err) < 0 ||
		json_set_bool(o, "quick", d->quick, err) < 0 ||
		json_set_u64(o, "boxes_milliseconds", d->boxes_ms, err) < 0 ||
		json_set_u64(o, "probes_milliseconds", d->probes_ms, err) < 0 ||
		json_set_u64(o, "holds", tally.count[DRILL_HOLDS], err) < 0 ||
		json_set_u64(o, "broken", tally.count[DRILL_BROKEN], err) < 0 ||
		json_set_u64(o, "unknown", tally.count[DRILL_UNKNOWN], err) < 0 ||
		json_set_new(o, "host", host_json(d, err), err) < 0 ||
		json_set_new(o, "boxes", boxes_json(d, err), err) < 0 ||
		json_set_new(o, "controls", controls_json(d, err), err) < 0 ||
		json_set_new(o, "claims", claims_json(d, err), err) < 0)
		return NULL;
	return TAKE(o);
}
