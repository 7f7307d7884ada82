/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A user's user-data, on its way into a seed. */
#include <stdint.h>
#include <stdlib.h>

#include "seed/seed.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct seed_spec spec = {
		.user_data = (const char *)data,
		.user_data_len = size,
		.user_name = "fuzz.yaml",
		.template_name = "",
	};
	_cleanup_seed_ struct seed seed = { 0 };
	struct error err = { 0 };
	int ret = seed_make(&spec, &seed, &err);

	if ((ret == 0) != (seed.user_data != NULL) || (ret < 0 && err.kind == ERROR_NONE))
		abort();
	return 0;
}
