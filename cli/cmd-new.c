/* SPDX-License-Identifier: GPL-2.0-or-later */
/* box new: a box from a golden image, or a clone of another box. */
#include <fcntl.h>
#include <string.h>

#include "base/fd.h"
#include "base/parse.h"
#include "cli/box-text.h"
#include "cli/making.h"
#include "cli/output.h"
#include "seed/seed.h"
#include "seed/text.h"

struct new_options {
	const char *name, *template, *from, *cpu, *memory, *disk, *user_data;
	bool cold;
};

static const struct option_row rows[] = {
	{
		.name = "name",
		.arg = "NAME",
		.help = "the box's name; the same as giving it as the argument",
		.kind = OPTION_NAME,
		.offset = offsetof(struct new_options, name),
	},
	{
		.name = "template",
		.arg = "TEMPLATE",
		.help = "what it is made of: box templates lists them (default: blank)",
		.kind = OPTION_TEXT,
		.complete = WORD_TEMPLATE,
		.offset = offsetof(struct new_options, template),
	},
	{
		.name = "from",
		.arg = "BOX[/LABEL]",
		.help = "clone a box, as it is or as it was at a snapshot, instead of a template",
		.kind = OPTION_TEXT,
		.complete = WORD_BOX_OR_LABEL,
		.offset = offsetof(struct new_options, from),
	},
	{
		.name = "cpu",
		.arg = "N",
		.help = "number of CPUs, instead of BOX_CPU or the template's",
		.kind = OPTION_TEXT,
		.offset = offsetof(struct new_options, cpu),
	},
	{
		.name = "memory",
		.arg = "SIZE",
		.help = "memory, such as 4GiB, instead of BOX_MEMORY or the template's",
		.kind = OPTION_TEXT,
		.offset = offsetof(struct new_options, memory),
	},
	{
		.name = "disk",
		.arg = "SIZE",
		.help = "size of its disk, such as 40GiB, instead of BOX_DISK or the template's",
		.kind = OPTION_TEXT,
		.offset = offsetof(struct new_options, disk),
	},
	{
		.name = "user-data",
		.arg = "FILE",
		.help = "cloud-init user-data for its first boot, on top of the template's",
		.kind = OPTION_TEXT,
		.complete = WORD_FILE,
		.offset = offsetof(struct new_options, user_data),
	},
	{
		.name = "cold",
		.help = "boot it, though there is a warm image to start from",
		.kind = OPTION_FLAG,
		.offset = offsetof(struct new_options, cold),
	},
};
const struct option_table cmd_new_options = OPTION_TABLE(struct new_options, rows);

/* The box's name from the argument or --name; NULL: neither. */
static int pick_name(const struct call *call, const char **ret, struct error *err)
{
	const struct new_options *options = call->options;

	if (call->count == 1 && options->name)
		return error_set(err, ERROR_USAGE,
			"the box's name is given twice: '%s' and --name %s", call->args[0],
			options->name);
	*ret = call->count == 1 ? call->args[0] : options->name;
	return *ret ? parse_box_name(*ret, err) : 0;
}

/* The seed of a box with user-data of its own; checked before anything is made. */
static int own_seed(
	const char *path, const struct template *template, struct str *into, struct error *err)
{
	_cleanup_str_ struct str text = STR_INIT;
	_cleanup_seed_ struct seed seed = { 0 };
	struct seed_spec spec = { .user_name = path, .template_name = template->path };

	if (file_read_argument(path, SEED_USER_DATA_MAX, &text, err) < 0)
		return -1;
	spec.user_data = str_get(&text);
	spec.user_data_len = text.len;
	if (template->user_data) {
		spec.template_data = template->user_data;
		spec.template_data_len = strlen(template->user_data);
	}
	if (seed_make(&spec, &seed, err) < 0)
		return -1;
	return seed_image(&seed, into, err);
}

static int tell(struct session *s, const struct new_report *report, struct error *err)
{
	_cleanup_json_ json_t *o = NULL;
	char address[16];

	if (!s->global.json)
		return output_line(
			err, "%s: usable; get in with: box shell %s", report->name, report->name);
	o = json_object();
	if (json_set_u64(o, "schema", 1, err) < 0 ||
		json_set_text(o, "name", report->name, err) < 0 ||
		json_set_text(o, "ipv4", box_address_text(report->address, address), err) < 0)
		return -1;
	return output_json(o, err);
}

/* The error that a clone cannot have what only a mint has. */
static int check_from(const struct new_options *options, struct error *err)
{
	if (options->from && options->user_data)
		return error_set(err, ERROR_USAGE,
			"--from and --user-data exclude each other: a clone has had its first boot");
	return 0;
}

/* A seed of its own, made before the host is looked at: what is wrong in a file is wrong everywhere. */
static int make_seed(const struct new_options *options, struct str *seed, struct error *err)
{
	_cleanup_template_ struct template template = { 0 };
	const char *name = options->template ? options->template : MAKING_DEFAULT_TEMPLATE;

	if (!options->user_data)
		return 0;
	if (template_load(name, &template, err) < 0)
		return -1;
	return own_seed(options->user_data, &template, seed, err);
}

int cmd_new(struct session *s, const struct call *call, struct error *err)
{
	const struct new_options *options = call->options;
	_cleanup_making_ struct making making = { 0 };
	_cleanup_new_report_ struct new_report report = { 0 };
	_cleanup_str_ struct str seed = STR_INIT;
	const struct chain_report *source = &making.clone.report;
	const char *name = NULL;
	int ret;

	if (pick_name(call, &name, err) < 0 || check_from(options, err) < 0 ||
		make_seed(options, &seed, err) < 0 ||
		making_open(s, options->template, options->from, &making, err) < 0)
		return -1;
	if (seed.len) {
		making.request.seed = str_get(&seed);
		making.request.seed_len = seed.len;
	}
	making.request.name = name;
	making.request.flags = (struct resources_wish){ options->cpu, options->memory,
		options->disk };
	ret = making_run(s, &making, options->cold, &report, err);
	if (options->from && source->running && !source->quiesced)
		session_warn(s,
			"'%s' was running and its file systems were not at rest (%s): the clone is as after a "
			"power cut",
			options->from, source->why);
	return ret < 0 ? -1 : tell(s, &report, err);
}
