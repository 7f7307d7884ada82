/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Domains: what one asks of a box before one goes in. */
#include <stdlib.h>
#include <string.h>

#include "wire/wire.h"

static int cut(void)
{
	return wire_fail(VIR_ERR_RPC, "the daemon's answer is cut");
}

void wire_put_domain(struct wire_out *o, virDomainPtr dom)
{
	wire_put_text(o, dom->name);
	wire_put_bytes(o, dom->uuid, sizeof(dom->uuid));
	wire_put_u32(o, (uint32_t)dom->id);
}

virDomainPtr virDomainLookupByName(virConnectPtr conn, const char *name)
{
	struct wire_out args = { .len = 0 };
	virDomainPtr dom;
	struct wire_in in;
	const char *text;
	uint32_t id;
	size_t len;

	wire_put_text(&args, name);
	if (wire_call(conn, WIRE_LOOKUP_BY_NAME, &args, &in) < 0)
		return NULL;
	dom = calloc(1, sizeof(*dom));
	if (!dom) {
		wire_fail(VIR_ERR_NO_MEMORY, "out of memory");
		return NULL;
	}
	if (!wire_get_text(&in, &text, &len) ||
		!wire_get_bytes(&in, dom->uuid, sizeof(dom->uuid)) || !wire_get_u32(&in, &id)) {
		free(dom);
		cut();
		return NULL;
	}
	dom->conn = conn;
	dom->id = (int)id;
	dom->name = strndup(text, len);
	if (!dom->name) {
		free(dom);
		wire_fail(VIR_ERR_NO_MEMORY, "out of memory");
		return NULL;
	}
	return dom;
}

int virDomainFree(virDomainPtr dom)
{
	free(dom->name);
	free(dom);
	return 0;
}

virConnectPtr virDomainGetConnect(virDomainPtr dom)
{
	return dom->conn;
}

const char *virDomainGetName(virDomainPtr dom)
{
	return dom->name;
}

int virDomainGetState(virDomainPtr dom, int *state, int *reason, unsigned int flags)
{
	struct wire_out args = { .len = 0 };
	struct wire_in in;
	uint32_t value, why;

	wire_put_domain(&args, dom);
	wire_put_u32(&args, flags);
	if (wire_call(dom->conn, WIRE_GET_STATE, &args, &in) < 0)
		return -1;
	if (!wire_get_u32(&in, &value) || !wire_get_u32(&in, &why))
		return cut();
	*state = (int)value;
	if (reason)
		*reason = (int)why;
	return 0;
}

char *virDomainGetMetadata(virDomainPtr dom, int type, const char *uri, unsigned int flags)
{
	struct wire_out args = { .len = 0 };
	struct wire_in in;
	const char *text;
	size_t len;
	char *copy;

	wire_put_domain(&args, dom);
	wire_put_u32(&args, (uint32_t)type);
	wire_put_optional(&args, uri);
	wire_put_u32(&args, flags);
	if (wire_call(dom->conn, WIRE_GET_METADATA, &args, &in) < 0)
		return NULL;
	if (!wire_get_text(&in, &text, &len)) {
		cut();
		return NULL;
	}
	copy = strndup(text, len);
	if (!copy)
		wire_fail(VIR_ERR_NO_MEMORY, "out of memory");
	return copy;
}
