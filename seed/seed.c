/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "seed/seed.h"

#include <string.h>

#include "base/yaml.h"
#include "seed/cloud-key.h"
#include "seed/text.h"

void seed_done(struct seed *seed)
{
	free(seed->user_data);
	free(seed->meta_data);
	free(seed->network_config);
	memset(seed, 0, sizeof(*seed));
}

/* The document of a part that is a #cloud-config; *ret stays NULL for others. */
static int read_part(const struct seed_part *part, struct yml **ret, struct error *err)
{
	if (part->kind != SEED_PART_CLOUD_CONFIG)
		return 0;
	*ret = yml_parse(part->text, part->len, part->name, err);
	return *ret ? 0 : -1;
}

/* cloud-init's lists of modules for the keys of both parts; "" when the image's own will do. */
static char *modules_of(
	const struct seed_part *template, const struct seed_part *own, struct error *err)
{
	_cleanup_(yml_free_p) struct yml *first = NULL, *second = NULL;
	struct yml_node roots[2] = { 0 };

	if (read_part(template, &first, err) < 0 || read_part(own, &second, err) < 0)
		return NULL;
	if (first)
		roots[0] = yml_root(first);
	if (second)
		roots[1] = yml_root(second);
	return cloud_modules(roots, ARRAY_LEN(roots), err);
}

static char *user_data(const struct seed_spec *spec, struct error *err)
{
	struct seed_part template = { .name = spec->template_name, .text = "" };
	struct seed_part own = { .name = spec->user_name, .text = "" };
	struct seed_part modules = { .name = "modules" };
	const struct seed_part *parts[] = { &modules, &template, &own };
	_cleanup_free_ char *text = NULL;

	if (spec->template_data) {
		template.text = spec->template_data;
		template.len = spec->template_data_len;
	}
	if (spec->user_data) {
		own.text = spec->user_data;
		own.len = spec->user_data_len;
	}
	if (seed_part_check(&template, err) < 0 || seed_part_check(&own, err) < 0)
		return NULL;
	text = modules_of(&template, &own, err);
	if (!text)
		return NULL;
	modules.text = text;
	modules.len = strlen(text);
	if (seed_part_check(&modules, err) < 0)
		return NULL;
	return seed_user_data(parts, ARRAY_LEN(parts), err);
}

int seed_make(const struct seed_spec *spec, struct seed *ret, struct error *err)
{
	_cleanup_seed_ struct seed seed = { 0 };

	seed.user_data = user_data(spec, err);
	if (!seed.user_data)
		return -1;
	seed.meta_data = seed_meta_data("box", "box", err);
	if (!seed.meta_data)
		return -1;
	seed.network_config = seed_network_config(err);
	if (!seed.network_config)
		return -1;
	*ret = seed;
	memset(&seed, 0, sizeof(seed));
	return 0;
}

int seed_image(const struct seed *seed, struct str *ret, struct error *err)
{
	const struct seed_texts texts = {
		.user_data = seed->user_data,
		.meta_data = seed->meta_data,
		.network_config = seed->network_config,
	};

	return seed_iso(&texts, ret, err);
}
