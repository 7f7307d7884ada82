/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Against libvirt's test driver, which has a running domain "test" that is not ours. */
#include "tests/unit/golden.h"

#include <stdio.h>

#include "vmm/box.h"

static int open_conn(void **state)
{
	struct error err = { 0 };

	*state = virt_open("test:///default", &err);
	return *state ? 0 : -1;
}

static int close_conn(void **state)
{
	return virConnectClose(*state) < 0 ? -1 : 0;
}

static virDomainPtr define(virConnectPtr conn, const char *name, const char *meta)
{
	char xml[1024];
	virDomainPtr dom;

	snprintf(xml, sizeof(xml),
		"<domain type='test'><name>%s</name><memory>65536</memory><os><type>hvm</type></os>"
		"<metadata>%s</metadata></domain>",
		name, meta);
	dom = virDomainDefineXML(conn, xml);
	assert_non_null(dom);
	return dom;
}

static void undefine(virDomainPtr dom)
{
	if (virDomainIsActive(dom) == 1)
		assert_int_equal(virDomainDestroy(dom), 0);
	assert_int_equal(virDomainUndefine(dom), 0);
	assert_int_equal(virDomainFree(dom), 0);
}

#define MARK(schema, inner) "<b:box xmlns:b='urn:box:domain' schema='" schema "'>" inner "</b:box>"

static void test_missing_and_foreign_get_the_same_refusal(void **state)
{
	virConnectPtr conn = *state;
	struct error missing = { 0 }, foreign = { 0 };
	struct box box = { 0 };

	assert_int_equal(box_find(conn, "tess", &box, &missing), -1);
	assert_error(&missing, ERROR_NOT_FOUND, "no such box: tess");
	assert_int_equal(box_find(conn, "test", &box, &foreign), -1);
	assert_error(&foreign, ERROR_NOT_FOUND, "no such box: test");
	assert_null(box.dom);
	assert_int_equal(box_find(conn, "a\x1b]0;b", &box, &missing), -1);
	assert_error(&missing, ERROR_NOT_FOUND, "no such box: a\\x1b]0;b");
}

static void test_found_read_changed_and_read_again(void **state)
{
	virConnectPtr conn = *state;
	struct error err = { 0 };
	virDomainPtr dom = define(conn, "web", MARK("1", "<b:template>blank</b:template>"));
	_cleanup_box_ struct box box = { 0 };
	_cleanup_box_ struct box again = { 0 };
	_cleanup_meta_ struct box_meta meta = { 0 };
	struct meta_operation op = { .name = "removing", .holder = "me pid 1" };
	enum box_state what = BOX_PAUSED;

	assert_ok(box_find(conn, "web", &box, &err), &err);
	assert_string_equal(box.meta.template, "blank");
	assert_ok(box_get_state(&box, &what, &err), &err);
	assert_int_equal(what, BOX_STOPPED);
	assert_ok(meta_copy(&box.meta, &meta, &err), &err);
	meta.address = 0x0a580005;
	assert_ok(box_save(&box, &meta, &err), &err);
	assert_int_equal(box.meta.address, 0x0a580005);
	assert_int_equal(virDomainCreate(dom), 0);
	assert_ok(box_get_state(&box, &what, &err), &err);
	assert_int_equal(what, BOX_RUNNING);
	assert_ok(box_set_operation(&box, &op, &err), &err);
	assert_ok(box_find_uuid(conn, box.uuid, &again, &err), &err);
	assert_string_equal(again.name, "web");
	assert_int_equal(again.meta.address, 0x0a580005);
	assert_string_equal(again.meta.operation.name, "removing");
	assert_ok(box_set_operation(&again, NULL, &err), &err);
	assert_ok(box_reload(&box, &err), &err);
	assert_string_equal(box.meta.operation.name, "");
	undefine(dom);
}

static void test_newer_schema_and_damage(void **state)
{
	virConnectPtr conn = *state;
	struct error err = { 0 };
	virDomainPtr newer = define(conn, "newer", MARK("7", "<b:template>next</b:template>"));
	virDomainPtr broken = define(conn, "broken", MARK("1", "<b:created>never</b:created>"));
	_cleanup_box_ struct box box = { 0 };
	struct box none = { 0 };

	assert_ok(box_find(conn, "newer", &box, &err), &err);
	assert_int_equal(box_set_operation(&box, NULL, &err), -1);
	assert_error(&err, ERROR_INVALID, "a newer version of box made it");
	assert_int_equal(box_find(conn, "broken", &none, &err), -1);
	assert_error(&err, ERROR_INVALID, "box 'broken': ");
	undefine(newer);
	undefine(broken);
}

static void test_list_is_sorted_and_ours_alone(void **state)
{
	virConnectPtr conn = *state;
	struct error err = { 0 };
	virDomainPtr b = define(conn, "bb", MARK("1", "<b:operation name='creating'/>"));
	virDomainPtr a = define(conn, "aa", MARK("1", ""));
	virDomainPtr c = define(conn, "cc", MARK("1", "<b:created>never</b:created>"));
	virDomainPtr foreign = define(conn, "ab", "<x:box xmlns:x='urn:x' schema='1'/>");
	_cleanup_box_rows_ struct box_rows rows = VEC_INIT;

	assert_int_equal(virDomainCreate(a), 0);
	assert_int_equal(virDomainSuspend(a), 0);
	assert_ok(box_list(conn, &rows, &err), &err);
	assert_int_equal(rows.len, 3);
	assert_string_equal(rows.items[0].name, "aa");
	assert_false(rows.items[0].confined);
	assert_string_equal(box_row_state(&rows.items[0]), "paused");
	assert_string_equal(rows.items[1].name, "bb");
	assert_string_equal(box_row_state(&rows.items[1]), "creating");
	assert_string_equal(box_row_state(&rows.items[2]), "damaged");
	assert_int_equal(err.kind, ERROR_NONE);
	undefine(a);
	undefine(b);
	undefine(c);
	undefine(foreign);
}

static void read_golden(struct str *into)
{
	struct error err = { 0 };

	assert_ok(file_read(AT_FDCWD, GOLDEN_DIR "/domain-xml/clone-tcg.xml", 1 << 20, into, &err),
		&err);
}

static void test_hardware_of_what_the_generator_makes(void **state)
{
	struct error err = { 0 };
	_cleanup_str_ struct str xml = STR_INIT;
	struct box_hardware h = { 0 };

	(void)state;
	read_golden(&xml);
	assert_ok(box_hardware_parse(str_get(&xml), "bxt01234567", &h, &err), &err);
	assert_int_equal(h.cpus, 4);
	assert_int_equal(h.memory, 8ull << 30);
	assert_true(h.tcg);
	assert_true(h.confined);
	assert_string_equal(h.mac, "52:54:00:89:ab:cd");
	assert_non_null(strstr(h.disk, "-1.qcow2"));
	assert_non_null(strstr(h.seed, "seed-0123456789abcdef.iso"));
}

/* The generator's XML with one thing put in before </devices>, or replaced. */
static bool confined_after(const char *what, const char *with)
{
	struct error err = { 0 };
	_cleanup_str_ struct str xml = STR_INIT;
	_cleanup_str_ struct str changed = STR_INIT;
	struct box_hardware h = { 0 };
	const char *at;

	read_golden(&xml);
	at = strstr(str_get(&xml), what);
	assert_non_null(at);
	str_append_len(&changed, str_get(&xml), (size_t)(at - str_get(&xml)));
	str_append(&changed, with);
	str_append(&changed, at + strlen(what));
	assert_ok(box_hardware_parse(str_get(&changed), "bxt01234567", &h, &err), &err);
	return h.confined;
}

static void test_every_way_off_the_stack_is_seen(void **state)
{
	static const char *const added[] = {
		"<interface type='network'><source network='default'/></interface></devices>",
		"<interface type='user'/></devices>",
		"<interface type='direct'><source dev='eth0'/></interface></devices>",
		"<hostdev mode='subsystem' type='usb'/></devices>",
		"<filesystem type='mount'/></devices>",
		"<redirdev bus='usb' type='spicevmc'/></devices>",
		"<vsock model='virtio'/></devices>",
		"<shmem name='x'/></devices>",
		"<disk type='block' device='disk'><source dev='/dev/loop0'/></disk></devices>",
		"<disk type='network' device='disk'/></devices>",
		"<disk type='file' device='disk'><source file='/dev/loop0'/></disk></devices>",
		"<disk type='file' device='lun'/></devices>",
		"<serial type='tcp'><source mode='bind' host='0.0.0.0' service='4555'/></serial>"
		"</devices>",
		"<channel type='udp'/></devices>",
		"<console type='file'><source path='/etc/shadow'/></console></devices>",
		"<channel type='unix'><source mode='connect' path='/run/docker.sock'/></channel>"
		"</devices>",
		"<parallel type='dev'/></devices>",
		"<tpm><backend type='passthrough'/></tpm></devices>",
		"<input type='evdev'/></devices>",
		"<memory model='nvdimm'><source><path>/dev/pmem0</path></source></memory></devices>",
		"<graphics type='vnc'/></devices>",
		("</devices><qemu:commandline xmlns:qemu='http://libvirt.org/schemas/domain/qemu/1.0'>"
		 "<qemu:arg value='-netdev'/></qemu:commandline>"),
	};

	(void)state;
	assert_true(confined_after("</devices>", "</devices>"));
	/* one more disk that is a file is no opening */
	assert_true(confined_after("</devices>",
		"<disk type='file' device='disk'><source file='/srv/d'/></disk></devices>"));
	for (size_t i = 0; i < ARRAY_LEN(added); i++)
		if (confined_after("</devices>", added[i]))
			fail_msg("not seen: %s", added[i]);
	assert_false(confined_after("<port isolated=\"yes\"/>", ""));
	assert_false(confined_after("network=\"boxnet\"", "network=\"default\""));
	assert_false(confined_after("dev=\"bxt01234567\"", "dev=\"bxt01234568\""));
	assert_false(confined_after("dev=\"bxt01234567\"", "dev=\"vnet0123456789012345678\""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_missing_and_foreign_get_the_same_refusal),
		cmocka_unit_test(test_found_read_changed_and_read_again),
		cmocka_unit_test(test_newer_schema_and_damage),
		cmocka_unit_test(test_list_is_sorted_and_ours_alone),
		cmocka_unit_test(test_hardware_of_what_the_generator_makes),
		cmocka_unit_test(test_every_way_off_the_stack_is_seen),
	};

	return cmocka_run_group_tests(tests, open_conn, close_conn);
}
