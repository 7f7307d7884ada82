/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A box's seed disk, from its texts to the file: in process, against genisoimage and cloud-localds with the
 * same three files, alternately. Fails when ours is the slower one.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/run.h"
#include "seed/seed.h"
#include "tests/bench/spread.h"

enum { RUNS = 21, PEERS = 2 };

static const char user_data[] = "#cloud-config\nusers: [{name: dev, shell: /bin/bash}]\n"
				"runcmd: [[touch, /etc/seeded]]\n";

static const struct peer {
	const char *name, *argv[16];
} peers[PEERS] = {
	{ "genisoimage",
		{ "genisoimage", "-quiet", "-output", "theirs.iso", "-volid", "CIDATA", "-joliet",
			"-rock", "user-data", "meta-data", "network-config", NULL } },
	{ "cloud-localds", { "cloud-localds", "--network-config=network-config", "theirs.iso",
				   "user-data", "meta-data", NULL } },
};

static int ours(const struct seed_spec *spec, struct error *err)
{
	_cleanup_seed_ struct seed seed = { 0 };
	_cleanup_str_ struct str image = STR_INIT;

	if (seed_make(spec, &seed, err) < 0 || seed_image(&seed, &image, err) < 0)
		return -1;
	return file_replace(AT_FDCWD, "ours.iso", image.data, image.len, 0600, err);
}

/* The texts of a seed as the files that the peers take. */
static int write_texts(const struct seed_spec *spec, struct error *err)
{
	_cleanup_seed_ struct seed seed = { 0 };

	if (seed_make(spec, &seed, err) < 0)
		return -1;
	const struct {
		const char *name, *text;
	} files[] = { { "user-data", seed.user_data }, { "meta-data", seed.meta_data },
		{ "network-config", seed.network_config } };
	for (size_t i = 0; i < ARRAY_LEN(files); i++) {
		if (file_replace(AT_FDCWD, files[i].name, files[i].text, strlen(files[i].text),
			    0600, err) < 0)
			return -1;
	}
	return 0;
}

static int bench(const struct seed_spec *spec, const struct peer *peer, struct error *err)
{
	uint64_t us[2][RUNS];
	const struct run run = { .argv = peer->argv, .timeout_ms = 60000 };

	for (size_t i = 0; i < RUNS; i++) {
		uint64_t begin = spread_now_us();

		if (ours(spec, err) < 0)
			return -1;
		us[0][i] = spread_now_us() - begin;
		begin = spread_now_us();
		if (run_program(&run, NULL, err) < 0)
			return -1;
		us[1][i] = spread_now_us() - begin;
	}
	if (spread_say("seed disk", us[0], peer->name, us[1], RUNS) <= 1)
		return error_set(err, ERROR_FAILED, "slower than %s", peer->name);
	return 0;
}

int main(void)
{
	const struct seed_spec spec = { .user_data = user_data,
		.user_data_len = strlen(user_data),
		.user_name = "user-data",
		.template_name = "template" };
	char folder[] = "/tmp/box-bench-seed-XXXXXX";
	static const char *const files[] = { "ours.iso", "theirs.iso", "user-data", "meta-data",
		"network-config" };
	struct error err = { 0 };
	int ret = 0;

	if (!mkdtemp(folder) || chdir(folder) < 0 || write_texts(&spec, &err) < 0)
		ret = -1;
	for (size_t i = 0; ret == 0 && i < PEERS; i++)
		ret = bench(&spec, &peers[i], &err);
	if (ret < 0)
		printf("error: %s\n", err.text);
	for (size_t i = 0; i < ARRAY_LEN(files); i++)
		(void)unlink(files[i]);
	(void)rmdir(folder);
	return ret < 0;
}
