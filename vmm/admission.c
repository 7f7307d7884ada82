/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmm/admission.h"

#include <string.h>
#include <unistd.h>

#include "base/xml.h"
#include "net/isolation.h"
#include "net/record.h"

/* Whether the box has a device on our network: 1, 0, -1. */
static int has_nic(const struct box *box, struct error *err)
{
	_cleanup_free_ char *text = virDomainGetXMLDesc(box->dom, VIR_DOMAIN_XML_INACTIVE);
	_cleanup_(xml_free_p) struct xml *x = NULL;

	if (!text)
		return error_virt(err, "cannot read the definition of box '%s'", box->name);
	x = xml_parse(text, strlen(text), "a domain's XML", err);
	return x ? xml_has(x, NULL,
			   "/domain/devices/interface[@type='network' and "
			   "source/@network='" NET_BRIDGE "']",
			   err)
		 : -1;
}

int admission_begin(const struct box *box, struct admission *ret, struct error *err)
{
	int nic;

	*ret = (struct admission){ 0 };
	if (!virt_is_local(virDomainGetConnect(box->dom)) ||
		access(isolation_paths.config, F_OK) < 0)
		return 0;
	nic = has_nic(box, err);
	if (nic < 0)
		return -1;
	ret->asked = nic;
	ret->before = record_identity(isolation_paths.ports, box->uuid);
	return 0;
}

int admission_check(const struct admission *a, const struct box *box, struct error *err)
{
	ino_t now = a->asked ? record_identity(isolation_paths.ports, box->uuid) : 0;

	if (!a->asked || (now != 0 && now != a->before))
		return 0;
	return error_set(err, ERROR_DENIED,
		"box '%s' was not let run: libvirt did not call the hook that guards it; run: box setup-host, "
		"and restart libvirt's daemon ('box doctor' shows what is wrong)",
		box->name);
}

int admission_standing(const struct box *box, struct error *err)
{
	struct admission a;

	if (admission_begin(box, &a, err) < 0)
		return -1;
	a.before = 0; /* any record will do */
	return admission_check(&a, box, err);
}
