/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of mutations against the table of claims: a claim that nothing turns broken does not count. */
#include "tests/unit/test.h"

#include "base/macro.h"
#include "base/str.h"
#include "tests/drill/mutations.h"
#include "vmm/drill-claim.h"

/* Call each for every word. */
static void each_word(const char *list, void (*each)(const char *word, void *data), void *data)
{
	char copy[1024], *save = NULL;

	if (!list)
		return;
	assert_true(strlen(list) < sizeof(copy));
	strcpy(copy, list);
	for (char *word = strtok_r(copy, " ", &save); word; word = strtok_r(NULL, " ", &save))
		each(word, data);
}

static void is_claim(const char *word, void *data)
{
	if (strcmp(word, "*") != 0 && !drill_claim_find(word))
		fail_msg("mutation '%s' names '%s', which is no claim", (const char *)data, word);
}

static void mark(const char *word, void *data)
{
	bool *shown = data;
	const struct drill_claim *claim = drill_claim_find(word);

	if (claim)
		shown[claim - drill_claims] = true;
}

static void test_names_are_unique(void **state)
{
	(void)state;
	for (size_t i = 0; i < mutation_count; i++) {
		assert_true(mutations[i].name && *mutations[i].name);
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(mutations[i].name, mutations[k].name);
	}
}

static void test_verdicts_are_of_claims(void **state)
{
	(void)state;
	for (size_t i = 0; i < mutation_count; i++) {
		const struct mutation *m = &mutations[i];

		each_word(m->broken, is_claim, (void *)(uintptr_t)m->name);
		each_word(m->unknown, is_claim, (void *)(uintptr_t)m->name);
		each_word(m->either, is_claim, (void *)(uintptr_t)m->name);
	}
}

static void test_every_claim_is_turned_broken(void **state)
{
	bool *shown = calloc(drill_claim_count, sizeof(*shown));

	(void)state;
	assert_non_null(shown);
	for (size_t i = 0; i < mutation_count; i++)
		each_word(mutations[i].broken, mark, shown);
	for (size_t i = 0; i < drill_claim_count; i++) {
		if (!shown[i])
			fail_msg("no mutation turns '%s' broken", drill_claims[i].id);
	}
	free(shown);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names_are_unique),
		cmocka_unit_test(test_verdicts_are_of_claims),
		cmocka_unit_test(test_every_claim_is_turned_broken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
