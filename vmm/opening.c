/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmm/opening.h"

#include "base/macro.h"

/* Where a character device of the host or of the network may be; a box's are "unix" and "pty". */
#define CHARACTER "/domain/devices/*[self::serial or self::console or self::channel]"

/*
 * Kind, XPath, name. The names are the drill's words. What is put behind "commandline" goes to QEMU
 * unread, as do the other elements of libvirt's name space for that.
 */
/* clang-format off */
#define OPENINGS(row) \
	row(FOREIGN, "/domain/devices/filesystem", \
		"a shared folder") \
	row(FOREIGN, "/domain/devices/hostdev", \
		"a device of the host") \
	row(FOREIGN, "/domain/devices/shmem", \
		"shared memory") \
	row(FOREIGN, "/domain/devices/memory[source/path]", \
		"memory that is a file of the host") \
	row(FOREIGN, "/domain/devices/vsock", \
		"a socket to the host (vsock)") \
	row(FOREIGN, "/domain/devices/redirdev", \
		"a redirected USB device") \
	row(FOREIGN, "/domain/devices/smartcard", \
		"a smartcard of the host") \
	row(FOREIGN, "/domain/devices/parallel", \
		"a parallel port") \
	row(FOREIGN, "/domain/devices/tpm[backend/@type='passthrough']", \
		"the host's TPM") \
	row(FOREIGN, "/domain/devices/rng/backend[@model!='random']", \
		"a random source that is not /dev/urandom") \
	row(FOREIGN, "/domain/devices/disk[@type!='file' and @type!='volume'] | " \
		"/domain/devices/disk[starts-with(source/@file, '/dev/')]", \
		"a disk that is no file") \
	row(FOREIGN, "/domain/devices/disk[@device!='disk' and @device!='cdrom']", \
		"a disk passed through") \
	row(FOREIGN, "/domain/devices/input[@type='passthrough' or @type='evdev']", \
		"an input device of the host") \
	row(FOREIGN, CHARACTER "[@type='dev' or @type='pipe' or @type='file' or @type='stdio' or " \
		"@type='spiceport' or @type='nmdm']", \
		"a character device or file of the host") \
	row(FOREIGN, CHARACTER "[@type='unix' and source/@mode='connect']", \
		"a socket of the host") \
	row(FOREIGN, "/domain/*[local-name()='commandline' or " \
		"namespace-uri()='http://libvirt.org/schemas/domain/qemu/1.0']", \
		"arguments for QEMU by hand") \
	row(LISTENER, "/domain/devices/graphics", \
		"a graphics server") \
	row(LISTENER, CHARACTER "[@type='tcp' or @type='udp']", \
		"a character device on the network") \
	row(LISTENER, "/domain/devices/interface[@type='user']", \
		"a user-mode network") \
	row(LISTENER, "/domain/devices/interface[@type='server' or @type='client' or @type='mcast' or " \
		"@type='udp']", \
		"a socket network")
/* clang-format on */

#define AS_ROW(kind, xpath, what) { OPENING_##kind, xpath, what },
#define AS_UNION(kind, xpath, what) xpath " | "

static const struct {
	enum opening_kind kind;
	const char *xpath, *what;
} openings[] = { OPENINGS(AS_ROW) };

int opening_find(struct xml *domain, enum opening_kind kind, const char **ret, struct error *err)
{
	for (size_t i = 0; i < ARRAY_LEN(openings); i++) {
		int has = openings[i].kind == kind ? xml_has(domain, NULL, openings[i].xpath, err)
						   : 0;

		if (has < 0)
			return -1;
		if (has) {
			*ret = openings[i].what;
			return 1;
		}
	}
	return 0;
}

int opening_any(struct xml *domain, struct error *err)
{
	/* what stands behind the last bar is never there */
	return xml_has(domain, NULL, OPENINGS(AS_UNION) "/none", err);
}
