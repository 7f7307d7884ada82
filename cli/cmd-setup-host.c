/* SPDX-License-Identifier: GPL-2.0-or-later */
/* box setup-host, box teardown-host. */
#include "cli/output.h"
#include "cli/session.h"
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

int cmd_teardown_host(struct session *s, const struct call *call, struct error *err)
{
	const struct teardown_options *options = call->options;
	struct setup_request request = request_of(s);
	struct setup_report report = { 0 };

	request.purge = options->purge;
	if (setup_teardown(&request, &report, err) < 0)
		return -1;
	if (report.boxes_kept)
		session_note(s,
			"the storage pool stays: it holds %u boxes; to remove them: box "
			"teardown-host --purge",
			report.boxes_kept);
	return output_line(err, "nothing of box is left on this host%s",
		report.boxes_kept ? ", but the storage pool" : "");
}
