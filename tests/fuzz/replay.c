/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A fuzz target as a plain test: every file of the corpus folders given is fed to it, whole, cut at
 * every length up to a bound, and with every one of its first bytes changed. With libFuzzer
 * (-Dfuzz=true, clang) the target has a main of libFuzzer's instead.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/str.h"

enum { FILE_MAX = 1 << 20, CUTS_MAX = 512, CHANGES_MAX = 512 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* In memory of exactly its size, so that a sanitizer sees a byte read beyond it. */
static void feed(const char *data, size_t size)
{
	uint8_t *copy = malloc(size ? size : 1);

	if (!copy)
		exit(1);
	memcpy(copy, data, size);
	(void)LLVMFuzzerTestOneInput(copy, size);
	free(copy);
}

static void feed_variants(struct str *text)
{
	size_t len = text->len;

	feed(str_get(text), len);
	for (size_t i = 0; i < len && i < CUTS_MAX; i++)
		feed(text->data, i);
	for (size_t i = 0; i < len && i < CHANGES_MAX; i++) {
		text->data[i] ^= 0x15;
		feed(text->data, len);
		text->data[i] ^= 0x15;
	}
}

static int replay_folder(const char *path)
{
	DIR *dir = opendir(path);
	const struct dirent *entry;
	int n = 0;

	if (!dir)
		return -1;
	while ((entry = readdir(dir))) {
		_cleanup_str_ struct str text = STR_INIT;
		struct error err = { 0 };

		if (entry->d_name[0] == '.')
			continue;
		if (file_read(dirfd(dir), entry->d_name, FILE_MAX, &text, &err) < 0) {
			n = -1;
			break;
		}
		feed_variants(&text);
		n++;
	}
	(void)closedir(dir);
	return n;
}

int main(int argc, char **argv)
{
	int files = 0;

	for (int i = 1; i < argc; i++) {
		int n = replay_folder(argv[i]);

		if (n < 0) {
			printf("cannot read '%s'\n", argv[i]);
			return 1;
		}
		files += n;
	}
	printf("%d files\n", files);
	return files == 0;
}
