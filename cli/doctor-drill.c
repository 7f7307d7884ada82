/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The doctor's look at the last drill that was recorded. */
#include "cli/doctor.h"
#include "vmm/drill-record.h"
#include "vmm/pool.h"

int doctor_look_drill(struct doctor *d, struct finding *ret, struct error *err)
{
	_cleanup_(virStoragePoolFree_p) virStoragePoolPtr pool = NULL;
	_cleanup_str_ struct str text = STR_INIT;
	struct drill_last last;

	finding_repair(ret, "box doctor --fix, then box drill --record FILE");
	pool = pool_open(d->conn, err);
	if (!pool || drill_record_last(pool, NULL, &last, err) < 0)
		return -1;
	if (!last.when) {
		finding_say(ret, VERDICT_OK,
			"no drill is recorded; one is by: box drill --record FILE");
		return 0;
	}
	drill_last_format(&last, &text);
	finding_say(
		ret, last.broken ? VERDICT_DIRTY : VERDICT_OK, "last drill, %s", str_get(&text));
	return 0;
}
