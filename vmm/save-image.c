/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmm/save-image.h"

#include <string.h>

static const char magic[16] = "LibvirtQemudSave";
static const char magic_partial[16] = "LibvirtQemudPart"; /* while it is being written */

enum {
	VERSION = 2,
	AT_VERSION = 16,
	AT_DATA_LEN = 20,
	AT_RUNNING = 24,
	AT_COMPRESSED = 28,
	AT_COOKIE = 32
};

static uint32_t word(const uint8_t *bytes, size_t at)
{
	return (uint32_t)bytes[at] | (uint32_t)bytes[at + 1] << 8 | (uint32_t)bytes[at + 2] << 16 |
	       (uint32_t)bytes[at + 3] << 24;
}

static void set_word(uint8_t *bytes, size_t at, uint32_t value)
{
	for (unsigned i = 0; i < 4; i++)
		bytes[at + i] = (uint8_t)(value >> (8 * i));
}

int save_image_size(const uint8_t *bytes, size_t len, size_t *ret, struct error *err)
{
	uint32_t data_len;

	if (len < SAVE_IMAGE_HEADER)
		return error_set(err, ERROR_INVALID, "the memory image is cut short");
	if (memcmp(bytes, magic_partial, sizeof(magic_partial)) == 0)
		return error_set(err, ERROR_INVALID, "the memory image was never finished");
	if (memcmp(bytes, magic, sizeof(magic)) != 0)
		return error_set(err, ERROR_INVALID, "this is no memory image of libvirt's");
	if (word(bytes, AT_VERSION) != VERSION)
		return error_set(err, ERROR_INVALID,
			"the memory image has format %u, and only format %d is known",
			word(bytes, AT_VERSION), VERSION);
	data_len = word(bytes, AT_DATA_LEN);
	if (data_len < 2 || data_len > SAVE_IMAGE_DATA_MAX)
		return error_set(err, ERROR_INVALID,
			"the memory image is corrupt: its description has %u bytes", data_len);
	*ret = SAVE_IMAGE_HEADER + (size_t)data_len;
	return 0;
}

int save_image_read(const uint8_t *bytes, size_t len, struct save_image *ret, struct error *err)
{
	const char *data = (const char *)bytes + SAVE_IMAGE_HEADER;
	struct save_image image = { 0 };
	uint32_t cookie;
	size_t size = 0;

	if (save_image_size(bytes, len, &size, err) < 0)
		return -1;
	if (len < size)
		return error_set(err, ERROR_INVALID, "the memory image is cut short");
	image.data_len = word(bytes, AT_DATA_LEN);
	image.was_running = word(bytes, AT_RUNNING) != 0;
	image.compressed = word(bytes, AT_COMPRESSED);
	image.xml = data;
	cookie = word(bytes, AT_COOKIE);
	if (!memchr(data, '\0', image.data_len) || !*data)
		return error_set(err, ERROR_INVALID, "the memory image has no domain description");
	if (cookie) {
		if (cookie <= strlen(data) || cookie >= image.data_len ||
			!memchr(data + cookie, '\0', image.data_len - cookie))
			return error_set(err, ERROR_INVALID,
				"the memory image is corrupt: its cookie lies outside of it");
		image.cookie = data + cookie;
	}
	*ret = image;
	return 0;
}

int save_image_rewrite(const struct save_image *image, const char *xml, bool running,
	struct str *ret, struct error *err)
{
	size_t xml_size = strlen(xml) + 1;
	size_t cookie_size = image->cookie ? strlen(image->cookie) + 1 : 0;
	_cleanup_str_ struct str out = STR_INIT;
	uint8_t head[SAVE_IMAGE_HEADER] = { 0 };

	if (xml_size + cookie_size > image->data_len)
		return error_set(err, ERROR_INVALID,
			"the new domain description needs %zu bytes and the memory image has room for %u",
			xml_size + cookie_size, image->data_len);
	memcpy(head, magic, sizeof(magic));
	set_word(head, AT_VERSION, VERSION);
	set_word(head, AT_DATA_LEN, image->data_len);
	set_word(head, AT_RUNNING, running);
	set_word(head, AT_COMPRESSED, image->compressed);
	set_word(head, AT_COOKIE, cookie_size ? (uint32_t)xml_size : 0);
	str_append_len(&out, head, sizeof(head));
	str_append_len(&out, xml, xml_size);
	if (cookie_size)
		str_append_len(&out, image->cookie, cookie_size);
	for (size_t have = xml_size + cookie_size; have < image->data_len; have++)
		str_append_char(&out, '\0');
	if (str_ok(&out, err) < 0)
		return -1;
	str_done(ret);
	*ret = out;
	out = (struct str)STR_INIT;
	return 0;
}
