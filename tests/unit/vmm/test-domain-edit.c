/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/test.h"

#include <stdio.h>

#include "base/str.h"
#include "vmm/domain-edit.h"

/* Parts of what libvirt gives back after a live snapshot and a virsh edit. */
static const char definition[] =
	"<domain type='kvm'><name>web</name><title>of mine</title>"
	"<metadata><other:x xmlns:other='urn:other'>kept</other:x>"
	"<box:box xmlns:box='urn:box:domain' schema='1'><box:template>blank</box:template></box:box>"
	"</metadata>"
	"<sysinfo type='smbios'><system>"
	"<entry name='serial'>ds=nocloud;i=i-0123;h=web</entry></system></sysinfo>"
	"<devices>"
	"<disk type='file' device='disk'><driver name='qemu' type='qcow2' discard='unmap'/>"
	"<source file='/pool/box-1.qcow2'/>"
	"<backingStore type='file'><format type='qcow2'/><source file='/pool/old'/></backingStore>"
	"<target dev='vda' bus='virtio'/></disk>"
	"<disk type='file' device='disk'><source file='/pool/seed.iso'/><target dev='vdb'/></disk>"
	"<serial type='pty'><log file='/var/log/libvirt/qemu/web-console.log' append='off'/></serial>"
	"<console type='pty'><log file='/var/log/libvirt/qemu/web-console.log' append='off'/></console>"
	"</devices></domain>";

static void test_only_the_chain_goes_when_nothing_is_to_change(void **state)
{
	_cleanup_free_ char *edited = NULL;
	struct error err = { 0 };

	(void)state;
	edited = domain_edit(definition, &(struct domain_change){ 0 }, &err);
	assert_ok(edited ? 0 : -1, &err);
	assert_null(strstr(edited, "backingStore"));
	assert_null(strstr(edited, "/pool/old"));
	assert_non_null(strstr(edited, "<source file=\"/pool/box-1.qcow2\"/>"));
	assert_non_null(strstr(edited, "<title>of mine</title>"));
	assert_non_null(strstr(edited, "kept"));
	assert_non_null(strstr(edited, "<box:template>blank</box:template>"));
	assert_non_null(strstr(edited, ";h=web"));
}

static void test_disk_metadata_and_name_change_together(void **state)
{
	_cleanup_meta_ struct box_meta meta = { .schema = 1, .template = "codex" };
	struct domain_change change = { "/pool/box-2.qcow2", &meta, "api" };
	_cleanup_free_ char *edited = NULL;
	struct error err = { 0 };

	(void)state;
	edited = domain_edit(definition, &change, &err);
	assert_ok(edited ? 0 : -1, &err);
	assert_null(strstr(edited, "box-1.qcow2"));
	assert_non_null(strstr(edited, "<source file=\"/pool/box-2.qcow2\"/>"));
	assert_non_null(strstr(edited, "/pool/seed.iso"));
	assert_non_null(strstr(edited, "<name>api</name>"));
	assert_non_null(strstr(edited, "ds=nocloud;i=i-0123;h=api<"));
	assert_null(strstr(edited, "web-console.log"));
	assert_non_null(strstr(edited, "qemu/api-console.log"));
	assert_non_null(strstr(edited, "<box:template>codex</box:template>"));
	assert_null(strstr(edited, "blank"));
	assert_non_null(strstr(edited, "kept"));
}

static void test_a_domain_of_another_shape_is_refused(void **state)
{
	struct domain_change disk = { .disk = "/pool/x" }, name = { .name = "api" };
	struct error err = { 0 };

	(void)state;
	assert_null(domain_edit("<domain><devices/></domain>", &disk, &err));
	assert_error(&err, ERROR_INVALID, "0 times a disk 'vda'");
	assert_null(domain_edit("<domain><name>a</name></domain>", &name, &err));
	assert_error(&err, ERROR_INVALID, "0 times a serial number");
	assert_null(domain_edit("<domain><name>a</name><sysinfo><system><entry name='serial'>x"
				"</entry></system></sysinfo></domain>",
		&name, &err));
	assert_error(&err, ERROR_INVALID, "was changed");
	assert_null(domain_edit("<domain>", &disk, &err));
	assert_error(&err, ERROR_INVALID, "the box's definition");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_only_the_chain_goes_when_nothing_is_to_change),
		cmocka_unit_test(test_disk_metadata_and_name_change_together),
		cmocka_unit_test(test_a_domain_of_another_shape_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
