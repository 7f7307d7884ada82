#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The run contract with a guest: statuses, streams, signals, terminal. tests/cli/contract.sh has the
# part where box itself is to blame.
set -euo pipefail
# What is in single quotes is for the box.
# shellcheck disable=SC2016,SC1003
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/micro-box.sh"
. "$(dirname "$0")/status-table.sh"
require_root
require_command script virsh
make_scratch
# An input that neither ends nor gives anything: script(1) would type the end of its own into the terminal.
mkfifo "$scratch/never"
exec 9<>"$scratch/never"
box=contract-$$
micro_box "$box"

# exec CMD...: in the box. In a terminal of its own: tty_exec OPTIONS... -- CMD...
exec_box() { lab_run box exec "$box" -- "$@"; }
on_terminal() { # CMD...: with a terminal for everything; its output has CR LF, and no stderr apart
	script -qec "$(printf '%q ' "$tests_dir/lab/lab" run -- "$@")" /dev/null <&9
}

# The table that run.sh has, too; and what its rows leave out.
for row in "${status_table[@]}" '1 exit 1' '2 exit 2' '129 kill -HUP $$'; do
	assert_status "${row%% *}" exec_box sh -c "${row#* }"
	assert_silent "$out$err" "$row"
	assert_status "${row%% *}" on_terminal box exec "$box" -- sh -c "${row#* }"
	assert_lacks "$out" 'fault='
done
assert_status 124 lab_run box exec --timeout 1s "$box" -- sh -c 'trap "" INT; sleep 600'
assert_silent "$out$err" 'time limit'

# What cannot be executed.
assert_status 127 exec_box /no/such/program
assert_equal "box: fault=not-executable detail=\"cannot execute '/no/such/program' in box '$box': No such file or directory\"" "$err"
assert_status 127 exec_box /etc/passwd
assert_contains "$err" 'Permission denied'
assert_status 127 lab_run box exec --user nobody-here "$box" -- true
assert_contains "$err" 'box: fault=not-executable'
# A command that ends with 127 by itself is not to be mistaken for that.
assert_status 127 exec_box sh -c 'no-such-command'
assert_lacks "$err" 'fault='

# Arguments arrive as they are.
assert_status 0 exec_box printf '%s|' '' 'a b' $'new\nline' "it's" '"' '* ~ $HOME \' '--' $'\xc3\xa9'
assert_equal $'|a b|new\nline|it\'s|"|* ~ $HOME \\|--|\xc3\xa9|' "$out"
long=$(head -c 100000 /dev/zero | tr '\0' x)
assert_status 0 exec_box sh -c 'echo ${#1}' sh "$long"
assert_equal 100000 "$out"

# The user, his home, his login environment, and nothing of a profile that talks.
assert_status 0 exec_box sh -c 'id -un; pwd; echo "$HOME $FROM_PROFILE"'
assert_equal $'dev\n/home/dev\n/home/dev yes' "$out"
assert_status 0 env SECRET_TOKEN=x "$tests_dir/lab/lab" run -- printenv SECRET_TOKEN
for tty in '' --tty; do # with a terminal what describes it goes along, and nothing else
	# shellcheck disable=SC2086 # no word, or one
	assert_status 0 env SECRET_TOKEN=x COLORTERM=of-here "$tests_dir/lab/lab" run -- box exec $tty "$box" -- env
	assert_lacks "$out" SECRET_TOKEN
	assert_equal "${tty:+of-here}" "$(sed -n 's/^COLORTERM=\([^\r]*\).*/\1/p' <<<"$out")"
done
assert_status 0 lab_run box exec --user root "$box" -- id -u
assert_equal 0 "$out"

# Streams: byte-exact, apart, binary, to the end of file.
head -c 5000000 /dev/urandom >"$scratch/in"
exec_box cat <"$scratch/in" >"$scratch/out"
cmp "$scratch/in" "$scratch/out" || fail 'cat is not byte-exact'
assert_status 0 exec_box sh -c 'echo to-out; echo to-err >&2; printf no-newline'
assert_equal $'to-out\nno-newline' "$out"
assert_equal to-err "$err"
exec_box sh -c 'cat >/dev/null; echo "end"' </dev/null >"$scratch/out"
assert_equal end "$(cat "$scratch/out")"
assert_status 0 sh -c '"$@" <&-' sh "$tests_dir/lab/lab" run -- box exec "$box" -- cat
assert_silent "$out"
# The null device is the null device in the box, too, and no pipe: programs look at what their input is.
assert_status 0 exec_box readlink /proc/self/fd/0 </dev/null
assert_equal /dev/null "$out"
out=$(exec_box sh -c 'exec readlink /proc/self/fd/0' <"$scratch/in")
assert_contains "$out" pipe:
# One that closes its output goes on; one that leaves a process with it behind does not wait for that.
assert_status 9 exec_box sh -c 'echo before; exec >&- 2>&-; sleep 0.3; exit 9'
assert_equal before "$out"
begin=$SECONDS
assert_status 4 exec_box sh -c 'sleep 60 & echo done; exit 4'
assert_equal 'done' "$out"
[ $((SECONDS - begin)) -lt 30 ] || fail 'a process that was left behind held up the end'
# A reader that goes away closes the command's output; one that is slow loses nothing.
{
	status=0
	timeout 60 "$tests_dir/lab/lab" run -- box exec "$box" -- yes || status=$?
	echo "$status" >"$scratch/status"
} | head -n 1 >"$scratch/out"
assert_equal y "$(cat "$scratch/out")"
assert_equal 141 "$(cat "$scratch/status")" 'yes dies of SIGPIPE'
sum=$(exec_box sh -c 'yes | head -c 3000000' | { sleep 1; cksum; })
assert_equal "$(yes | head -c 3000000 | cksum)" "$sum" 'a slow reader'

# Signals reach the command, which decides.
for signal in INT TERM HUP; do
	: >"$scratch/out"
	# What a shell starts with "&" ignores INT, and what was ignored stays so.
	env --default-signal=INT "$tests_dir/lab/lab" run -- box exec "$box" -- \
		sh -c "trap 'echo got; exit 9' $signal; echo ready; while :; do sleep 0.1; done" >"$scratch/out" &
	pid=$!
	wait_until 60 grep -q ready "$scratch/out"
	kill "-$signal" "$pid"
	status=0
	wait "$pid" || status=$?
	assert_equal 9 "$status" "$signal"
	assert_equal $'ready\ngot' "$(cat "$scratch/out")"
done

# One that whoever started us ignores stays ignored, as nohup(1) wants.
env --ignore-signal=HUP "$tests_dir/lab/lab" run -- box exec "$box" -- sh -c 'echo ready; read -r word; echo "$word"' \
	<"$scratch/never" >"$scratch/out" &
pid=$!
wait_until 60 grep -q ready "$scratch/out"
kill -HUP "$pid"
echo unharmed >&9
status=0
wait "$pid" || status=$?
assert_equal 0 "$status" 'a signal that is ignored'
assert_equal $'ready\nunharmed' "$(cat "$scratch/out")"

# A terminal when both input and output are one, or --tty; none otherwise.
assert_status 1 exec_box tty
assert_status 0 on_terminal box exec "$box" -- tty
assert_contains "$out" /dev/pts/
assert_status 0 lab_run box exec --tty "$box" -- tty
assert_contains "$out" /dev/pts/
out=$(script -qec "stty rows 41 cols 97; $tests_dir/lab/lab run -- box exec $box -- stty size" /dev/null <&9)
assert_equal '41 97' "${out%$'\r'}" 'size of the window'

# The terminal is as before, whether the command ends by itself or is killed.
for command in true 'sh -c "kill -9 \$\$"' 'sh -c "stty -echo; exit 3"'; do
	out=$(script -qec "stty -g >$scratch/before; $tests_dir/lab/lab run -- box exec $box -- $command
		stty -g >$scratch/after" /dev/null <&9)
	cmp "$scratch/before" "$scratch/after" || fail "settings of the terminal after $command"
done
out=$(script -qec "stty -g >$scratch/before
	$tests_dir/lab/lab run -- sh -c 'echo \$\$ >$scratch/pid; exec box shell $box'
	stty -g >$scratch/after" /dev/null <<<'echo shell=$0; kill -TERM $$; exit 5')
cmp "$scratch/before" "$scratch/after" || fail 'settings of the terminal after a shell'
assert_contains "$out" 'shell='

# root needs nothing inside.
assert_status 0 sh -c 'echo "id -u; exit" | "$@"' sh "$tests_dir/lab/lab" run -- box root "$box"
assert_contains "$out" 0

# Many at once, and one after another.
pids=()
for i in {1..8}; do
	exec_box sh -c "sleep 0.$i; exit 1$i" &
	pids+=("$!")
done
for i in {1..8}; do
	status=0
	wait "${pids[i - 1]}" || status=$?
	assert_equal "1$i" "$status" "session $i of several at once"
done
for i in {1..50}; do
	assert_status 0 exec_box echo "$i"
	assert_equal "$i" "$out"
done

# A host side that is killed leaves a session that the next one gets clean. (agent-sessions.c does it 100 times.)
for i in {1..10}; do
	"$tests_dir/lab/lab" run -- box exec "$box" -- sh -c 'yes; yes' >/dev/null &
	pid=$!
	sleep "0.$((i * 2 % 10))"
	kill -KILL "$pid"
	wait "$pid" 2>/dev/null || true
	assert_status 0 exec_box echo "clean $i"
	assert_equal "clean $i" "$out"
done
wait_until 30 exec_box sh -c '! pgrep yes'

# Through another way to libvirt than its local socket: a program that carries the protocol, as ssh would.
cat >"$scratch/carry" <<'END'
#!/bin/sh
exec virt-ssh-helper qemu:///system
END
chmod 755 "$scratch" "$scratch/carry"
far=(box exec --connect "qemu+ext:///system?command=$scratch/carry" "$box" --)
assert_status 7 lab_run "${far[@]}" sh -c 'echo to-out; echo to-err >&2; exit 7'
assert_equal 'to-out to-err' "$out $err"
lab_run "${far[@]}" cat <"$scratch/in" >"$scratch/out"
cmp "$scratch/in" "$scratch/out" || fail 'cat is not byte-exact through another transport'
out=$(script -qec "stty rows 41 cols 97; $(printf '%q ' "$tests_dir/lab/lab" run -- "${far[@]}") sh -c 'tty; stty size'" \
	/dev/null <&9)
assert_contains "$out" /dev/pts/
assert_contains "$out" '41 97'
