/* SPDX-License-Identifier: GPL-2.0-or-later */
/* box setup-host, box teardown-host. */
#include "cli/output.h"
#include "cli/session.h"
#include "vmm/box.h"
#include "vmm/setup.h"

struct teardown_options {
	bool purge;
};

static const struct option_row rows[] = {
	{
		.name = "purge",
		.help = "remove boxes and images as well",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct teardown_options, purge),
	},
};
const struct option_table cmd_teardown_host_options = OPTION_TABLE(struct teardown_options, rows);

static struct setup_request request_of(struct session *s)
{
	return (struct setup_request){
		.uri = s->global.connect,
		.subnet = getenv("BOX_SUBNET"),
		.dns = getenv("BOX_DNS"),
		.observer = &s->observer,
	};
}

int cmd_setup_host(struct session *s, const struct call *call, struct error *err)
{
	const struct setup_request request = request_of(s);
	struct setup_report report = { 0 };

	(void)call;
	if (setup_host(&request, &report, err) < 0)
		return -1;
	if (report.restart_libvirt)
		session_warn(
			s, "restart libvirt's daemon now: it looks for hooks only when it starts");
	return output_line(err, "%s: boxes get addresses from %s",
		report.changed ? "this host is set up" : "nothing to do", report.subnet);
}

/* The question, which says what would be lost. */
static int ask(struct session *s, bool purge, struct error *err)
{
	_cleanup_box_rows_ struct box_rows boxes = VEC_INIT;
	_cleanup_str_ struct str act = STR_INIT;
	size_t running = 0;

	if (!purge)
		return session_confirm(
			s, "take network, rules and images of box off this machine", err);
	if (!session_virt(s, err) || box_list(s->conn, &boxes, err) < 0)
		return -1;
	vec_foreach(struct box_row, row, &boxes) {
		running += row->state != BOX_STOPPED;
	}
	str_printf(&act,
		"take box off this machine with all %zu boxes (%zu running, which are powered off), "
		"their snapshots, and all images",
		boxes.len, running);
	return str_ok(&act, err) < 0 ? -1 : session_confirm(s, str_get(&act), err);
}

int cmd_teardown_host(struct session *s, const struct call *call, struct error *err)
{
	const struct teardown_options *options = call->options;
	struct setup_request request = request_of(s);
	struct setup_report report = { 0 };

	request.purge = options->purge;
	if (ask(s, options->purge, err) < 0 || setup_teardown(&request, &report, err) < 0)
		return -1;
	if (report.boxes_kept)
		session_note(s,
			"the storage pool stays: it holds %u boxes; to remove them: box "
			"teardown-host --purge",
			report.boxes_kept);
	else if (report.volume_kept[0])
		session_note(s,
			"the storage pool stays: it holds '%s', which is not box's to delete, or in use; "
			"to see all of it: virsh vol-list box",
			report.volume_kept);
	return output_line(err, "nothing of box is left on this host%s",
		report.boxes_kept || report.volume_kept[0] ? ", but the storage pool" : "");
}
