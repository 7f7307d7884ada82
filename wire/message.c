/* SPDX-License-Identifier: GPL-2.0-or-later */
/* XDR, as much as the calls of wire/ need: everything is padded to four bytes. */
#include <string.h>

#include "wire/wire.h"

static size_t padding(size_t len)
{
	return -len & 3;
}

static void set_u32(uint8_t *p, uint32_t value)
{
	p[0] = (uint8_t)(value >> 24);
	p[1] = (uint8_t)(value >> 16);
	p[2] = (uint8_t)(value >> 8);
	p[3] = (uint8_t)value;
}

void wire_put_bytes(struct wire_out *o, const void *bytes, size_t len)
{
	size_t whole = len + padding(len);

	if (o->len > WIRE_CALL_MAX || whole > WIRE_CALL_MAX - o->len) {
		o->len = WIRE_CALL_MAX + 1;
		return;
	}
	memcpy(o->bytes + o->len, bytes, len);
	memset(o->bytes + o->len + len, 0, whole - len);
	o->len += whole;
}

void wire_put_u32(struct wire_out *o, uint32_t value)
{
	uint8_t bytes[4];

	set_u32(bytes, value);
	wire_put_bytes(o, bytes, sizeof(bytes));
}

void wire_put_text(struct wire_out *o, const char *text)
{
	size_t len = strlen(text);

	wire_put_u32(o, (uint32_t)MIN(len, (size_t)UINT32_MAX));
	wire_put_bytes(o, text, len);
}

void wire_put_optional(struct wire_out *o, const char *text)
{
	wire_put_u32(o, 1);
	wire_put_text(o, text);
}

bool wire_get_bytes(struct wire_in *in, void *ret, size_t len)
{
	size_t left = (size_t)(in->end - in->at);

	if (len > left || padding(len) > left - len)
		return false;
	memcpy(ret, in->at, len);
	in->at += len + padding(len);
	return true;
}

bool wire_get_u32(struct wire_in *in, uint32_t *ret)
{
	uint8_t b[4];

	if (!wire_get_bytes(in, b, sizeof(b)))
		return false;
	*ret = (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
	return true;
}

bool wire_get_text(struct wire_in *in, const char **ret, size_t *ret_len)
{
	struct wire_in at = *in;
	uint32_t len;

	if (!wire_get_u32(&at, &len) || len > (size_t)(at.end - at.at) ||
		padding(len) > (size_t)(at.end - at.at) - len)
		return false;
	*ret = (const char *)at.at;
	*ret_len = len;
	at.at += len + padding(len);
	*in = at;
	return true;
}

void wire_header(uint8_t *into, enum wire_procedure procedure, enum wire_type type, uint32_t serial,
	enum wire_status status, size_t len)
{
	const uint32_t words[] = { (uint32_t)(WIRE_HEADER + len), WIRE_PROGRAM, WIRE_VERSION,
		procedure, type, serial, status };

	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		set_u32(into + 4 * i, words[i]);
}

bool wire_waits(virConnectPtr c)
{
	struct wire_in in = { c->in + c->start + c->taken, c->in + c->end };
	size_t there = (size_t)(in.end - in.at);
	uint32_t len;

	return wire_get_u32(&in, &len) && len <= there;
}

int wire_next(virConnectPtr c, struct wire_packet *ret)
{
	struct wire_in in;
	uint32_t len, version;
	bool whole;

	c->start += c->taken;
	c->taken = 0;
	in = (struct wire_in){ c->in + c->start, c->in + c->end };
	if (!wire_get_u32(&in, &len))
		return 0;
	if (len < WIRE_HEADER || len > WIRE_PACKET_MAX) {
		c->broken = true;
		return wire_fail(VIR_ERR_RPC, "a packet of the daemon has no possible length");
	}
	if (len > c->end - c->start)
		return 0;
	in.end = c->in + c->start + len;
	/* whole: the header is there by the length */
	whole = wire_get_u32(&in, &ret->program) && wire_get_u32(&in, &version) &&
		wire_get_u32(&in, &ret->procedure) && wire_get_u32(&in, &ret->type) &&
		wire_get_u32(&in, &ret->serial) && wire_get_u32(&in, &ret->status);
	ret->payload = in;
	c->taken = len;
	return whole;
}
