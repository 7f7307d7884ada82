/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/test.h"

#include <fcntl.h>

#include "base/fd.h"
#include "tests/unit/vmm/drill-world.h"
#include "vmm/drill-facts.h"

static struct drill_world world;
static struct drill_facts a, b;
static struct drill_domain domain;
static struct drill_finding f;

static void lines(struct drill_facts *facts, const char *const *text)
{
	for (; *text; text++)
		drill_facts_line(facts, *text);
}

static int setup(void **state)
{
	static const char *const of_a[] = { "hostname drill-a", "machine-id 11", "instance-id i-a",
		"dmi-uuid u-a", "random 01", "random-seed 0a", "ssh-key ssh-ed25519 AAAA",
		"nic enp1s0 52:54:00:00:00:0a", "addr4 enp1s0 10.88.0.2/24",
		"addr6 enp1s0 fe80::1/64", "virtio 1", "virtio 2", "virtio 3", "virtio 4",
		"virtio 5", "port box.agent.0", "port org.qemu.guest_agent.0", "end", NULL };
	static const char *const of_b[] = { "hostname drill-b", "machine-id 22", "instance-id i-b",
		"dmi-uuid u-b", "random 02", "random-seed 0b", "ssh-key ssh-ed25519 BBBB",
		"nic enp1s0 52:54:00:00:00:0b", "addr4 enp1s0 10.88.0.3/24", "end", NULL };

	(void)state;
	world_make(&world);
	a = b = (struct drill_facts){ 0 };
	lines(&a, of_a);
	lines(&b, of_b);
	domain = (struct drill_domain){ .known = true, .nics = 1, .nics_on_bridge = 1 };
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	drill_world_done(&world);
	return 0;
}

#define FOUND(wanted, part)                                                             \
	do {                                                                            \
		if (f.answer != (wanted) || !strstr(f.text, part))                      \
			fail_msg("%d '%s'; wanted %d with '%s'", (int)f.answer, f.text, \
				(int)(wanted), part);                                   \
	} while (0)

static void test_lease(void **state)
{
	(void)state;
	drill_check_lease(&world, DRILL_A, &a, &f);
	FOUND(ANSWER_YES, "10.88.0.2/24");
	drill_check_lease(&world, DRILL_A, &b, &f);
	FOUND(ANSWER_NO, "10.88.0.2/24");
	a.complete = false;
	drill_check_lease(&world, DRILL_A, &a, &f);
	FOUND(ANSWER_UNSEEN, "");
}

static void test_iface(void **state)
{
	struct drill_facts odd = { 0 };
	char name[16];

	(void)state;
	assert_true(drill_facts_iface(&a, 0x0a580002, name));
	assert_string_equal(name, "enp1s0");
	assert_false(drill_facts_iface(&a, 0x0a580003, name));
	/* The name goes into lines for the probe: nothing but letters, digits and a few signs. */
	drill_facts_line(&odd, "addr4 e;rm{ 10.88.0.2/24");
	assert_false(drill_facts_iface(&odd, 0x0a580002, name));
}

static void test_ipv6(void **state)
{
	(void)state;
	drill_check_ipv6(&a, &f);
	FOUND(ANSWER_YES, "");
	drill_facts_line(&a, "route6 enp1s0");
	drill_check_ipv6(&a, &f);
	FOUND(ANSWER_NO, "default route");
	drill_facts_line(&a, "addr6 enp1s0 2001:db8::1/64");
	drill_check_ipv6(&a, &f);
	FOUND(ANSWER_NO, "2001:db8::1/64");
}

static void test_nic(void **state)
{
	(void)state;
	drill_check_nic(&a, &domain, &f);
	FOUND(ANSWER_YES, "");
	domain.nics_on_bridge = 0;
	drill_check_nic(&a, &domain, &f);
	FOUND(ANSWER_NO, "not on boxnet");
	domain.nics = 2;
	drill_check_nic(&a, &domain, &f);
	FOUND(ANSWER_NO, "2 network devices");
	domain.known = false;
	drill_check_nic(&a, &domain, &f);
	FOUND(ANSWER_UNSEEN, "");
	drill_facts_line(&a, "nic enp2s0 52:54:00:00:00:ff");
	drill_check_nic(&a, &domain, &f);
	FOUND(ANSWER_NO, "enp2s0");
}

static void test_devices(void **state)
{
	(void)state;
	drill_check_devices(&a, &domain, &f);
	FOUND(ANSWER_YES, "");
	strcpy(domain.foreign, "a shared folder");
	drill_check_devices(&a, &domain, &f);
	FOUND(ANSWER_NO, "shared folder");
	domain.foreign[0] = '\0';
	domain.known = false;
	drill_check_devices(&a, &domain, &f);
	FOUND(ANSWER_UNSEEN, "");
	drill_facts_line(&a, "mount virtiofs /mnt");
	drill_check_devices(&a, &domain, &f);
	FOUND(ANSWER_NO, "virtiofs /mnt");
	drill_facts_line(&a, "port org.example.spy.0");
	drill_check_devices(&a, &domain, &f);
	FOUND(ANSWER_NO, "org.example.spy.0");
	drill_facts_line(&a, "virtio 26");
	drill_check_devices(&a, &domain, &f);
	FOUND(ANSWER_NO, "virtiofs");
}

static void test_identity(void **state)
{
	struct {
		char *part, *other;
	} rows[] = { { a.hostname, b.hostname }, { a.machine_id, b.machine_id },
		{ a.instance_id, b.instance_id }, { a.random, b.random },
		{ a.random_seed, b.random_seed }, { a.keys.items[0], b.keys.items[0] },
		{ a.nics.items[0], b.nics.items[0] } };

	(void)state;
	drill_check_identity(&a, &b, &f);
	FOUND(ANSWER_YES, "");
	strcpy(b.dmi_uuid, a.dmi_uuid); /* both started from one memory */
	drill_check_identity(&a, &b, &f);
	FOUND(ANSWER_YES, "");
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char was[FACTS_WORD];

		strcpy(was, rows[i].other);
		strcpy(rows[i].other, rows[i].part);
		drill_check_identity(&a, &b, &f);
		FOUND(ANSWER_NO, "both have");
		strcpy(rows[i].other, was);
	}
	strcpy(b.instance_id, "-"); /* an image without cloud-init */
	drill_check_identity(&a, &b, &f);
	FOUND(ANSWER_YES, "");
	strcpy(b.machine_id, "-");
	drill_check_identity(&a, &b, &f);
	FOUND(ANSWER_UNSEEN, "machine-id");
}

static void test_hostile_lines_are_bounded(void **state)
{
	struct drill_facts h = { 0 };
	char line[2000];

	(void)state;
	memset(line, 'A', sizeof(line));
	memcpy(line, "nic ", 4);
	line[sizeof(line) - 1] = '\0';
	for (int i = 0; i < 100; i++)
		drill_facts_line(&h, line);
	assert_int_equal(h.nics.count, FACTS_LIST);
	assert_true(h.nics.full);
	drill_facts_line(&h, "hostname \x1b[2J");
	assert_null(strchr(h.hostname, 0x1b));
	drill_facts_line(&h, "hostname");
	drill_facts_line(&h, "");
	drill_facts_line(&h, "nonsense x");
	assert_false(h.complete);
}

#define DOMAIN(devices)                                                                          \
	"<domain type='kvm'><memoryBacking><nosharepages/></memoryBacking><devices>"             \
	"<interface type='network'><source network='boxnet'/><port isolated='yes'/></interface>" \
	"<disk type='file' device='disk'/><channel type='unix'/><serial type='pty'/>"            \
	"<rng><backend model='random'>/dev/urandom</backend></rng>" devices "</devices></domain>"

static void test_domain(void **state)
{
	static const char *const foreign[] = {
		DOMAIN("<filesystem type='mount'/>"),
		DOMAIN("<hostdev mode='subsystem'/>"),
		DOMAIN("<vsock/>"),
		DOMAIN("<disk type='block' device='disk'/>"),
		DOMAIN("<channel type='pipe'/>"),
		DOMAIN("<channel type='file'><source path='/etc/shadow'/></channel>"),
		DOMAIN("<channel type='unix'><source mode='connect' path='/run/x'/></channel>"),
		DOMAIN("<shmem name='x'/>"),
	};
	static const char *const listening[] = {
		DOMAIN("<graphics type='vnc'/>"),
		DOMAIN("<serial type='tcp'/>"),
		DOMAIN("<interface type='user'/>"),
	};
	struct error err = { 0 };

	(void)state;
	assert_ok(drill_domain_parse(DOMAIN(""), &domain, &err), &err);
	assert_true(domain.known && domain.no_merging);
	assert_int_equal(domain.nics, 1);
	assert_int_equal(domain.nics_on_bridge, 1);
	assert_string_equal(domain.foreign, "");
	assert_string_equal(domain.listener, "");
	for (size_t i = 0; i < ARRAY_LEN(foreign); i++) {
		assert_ok(drill_domain_parse(foreign[i], &domain, &err), &err);
		assert_string_not_equal(domain.foreign, "");
	}
	for (size_t i = 0; i < ARRAY_LEN(listening); i++) {
		assert_ok(drill_domain_parse(listening[i], &domain, &err), &err);
		assert_string_not_equal(domain.listener, "");
	}
	assert_int_equal(drill_domain_parse("<domain", &domain, &err), -1);
	assert_error(&err, ERROR_INVALID, "domain");
}

/* What this program itself makes is clean. */
static void test_our_own_domain_is_clean(void **state)
{
	_cleanup_str_ struct str xml = STR_INIT;
	struct error err = { 0 };

	(void)state;
	assert_ok(file_read(AT_FDCWD, SOURCE_ROOT "/tests/golden/domain-xml/mint-kvm.xml", 1 << 20,
			  &xml, &err),
		&err);
	assert_ok(drill_domain_parse(str_get(&xml), &domain, &err), &err);
	assert_string_equal(domain.foreign, "");
	assert_string_equal(domain.listener, "");
	assert_int_equal(domain.nics, 1);
	assert_int_equal(domain.nics_on_bridge, 1);
	assert_true(domain.no_merging);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_lease),
		TEST(test_iface),
		TEST(test_ipv6),
		TEST(test_nic),
		TEST(test_devices),
		TEST(test_identity),
		TEST(test_hostile_lines_are_bounded),
		TEST(test_domain),
		TEST(test_our_own_domain_is_clean),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
