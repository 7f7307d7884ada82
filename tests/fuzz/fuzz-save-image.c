/* SPDX-License-Identifier: GPL-2.0-or-later */
/* libvirt's save image: lengths and texts in a file. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "vmm/save-image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_str_ struct str out = STR_INIT;
	struct save_image image = { 0 };
	struct error err = { 0 };
	size_t whole = 0;

	if (save_image_size(data, size, &whole, &err) == 0 &&
		whole > SAVE_IMAGE_HEADER + (size_t)SAVE_IMAGE_DATA_MAX)
		abort();
	if (save_image_read(data, size, &image, &err) < 0)
		return 0;
	/* Both texts lie within what was given. */
	if ((const uint8_t *)image.xml + strlen(image.xml) >= data + size ||
		(image.cookie &&
			(const uint8_t *)image.cookie + strlen(image.cookie) >= data + size))
		abort();
	if (save_image_rewrite(&image, "<domain/>", true, &out, &err) == 0 &&
		out.len != SAVE_IMAGE_HEADER + image.data_len)
		abort();
	return 0;
}
