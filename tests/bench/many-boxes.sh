#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Many boxes at once, from memory: how long until each has answered a command, and what they take then: PSS of
# their processes, and of it what is guest memory and what is code that QEMU has translated (nothing with KVM).
#
#   many-boxes.sh [COUNT]      default 16
set -euo pipefail
. "$(dirname "$(readlink -f "$0")")/../lib.sh"
. "$tests_dir/bench/bench.sh"
require_root
require_command jq
count=${1:-16}
bench_in_lab "$count"
make_scratch
names=()
for ((i = 1; i <= count; i++)); do
	names+=("many-$i-$$")
done
on_exit box rm --quiet --force "${names[@]}"

# A box, and a command in it; what it took is in a file of its name.
one() {
	local begin=$EPOCHREALTIME
	box new --quiet --timing "$1" >"$scratch/$1.out" 2>&1 && box exec "$1" -- true &&
		awk -v begin="$begin" -v end="$EPOCHREALTIME" 'BEGIN { printf "%d\n", (end - begin) * 1000 }' \
			>"$scratch/$1.ms"
}
# mib PID AWK-CONDITION: the PSS of those of its mappings whose first line fits
mib() {
	awk "/^[0-9a-f]+-[0-9a-f]+ / { head = \$0; fits = $2 } /^Pss:/ && fits { sum += \$2 }
		END { printf \"%d\\n\", sum / 1024 }" "/proc/$1/smaps"
}
median() {
	sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'
}

box image warm --quiet blank >&2
begin=$(bench_now)
one "${names[0]}" || fail "$(cat "$scratch/${names[0]}.out")"
alone=$(($(bench_now) - begin))
box rm --quiet --force "${names[0]}"
begin=$(bench_now)
for name in "${names[@]}"; do
	one "$name" &
done
wait
all=$(($(bench_now) - begin))
for name in "${names[@]}"; do
	[ -e "$scratch/$name.ms" ] || fail "$name: $(cat "$scratch/$name.out")"
	grep -q 'timing wake.adopt' "$scratch/$name.out" || fail "$name was booted"
	pid=$(pgrep -f "guest=$name,")
	mib "$pid" 1 >>"$scratch/pss"
	mib "$pid" '$2 ~ /x/ && $5 == 0' >>"$scratch/translated"
done
bench_value 'a box from memory, to its first command' $((alone / 1000)) ms
bench_value "$count boxes at once, to the last one's first command" $((all / 1000)) ms
bench_value "PSS of an idle blank box, median of $count" "$(median <"$scratch/pss")" MiB
bench_value 'of it code that QEMU has translated' "$(median <"$scratch/translated")" MiB
