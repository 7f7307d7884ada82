#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# People and editors in a real box: job control in a shell, a window that changes, a terminal that goes away; tmux,
# which survives that; ssh, scp, sftp, rsync and forwarded ports through box proxy; the serial console of a box whose
# agent is dead, which the doctor tells of; and guest bytes that mean to control a terminal, raw in streams and escaped in
# messages.
set -euo pipefail
# What is in single quotes is for the box.
# shellcheck disable=SC2016
. "$(dirname "$0")/../lib.sh"
require_root
export TERM=xterm-256color # whatever this runs in: tmux wants more than "dumb"
require_command jq script ssh scp sftp ssh-keygen rsync curl
make_scratch
lab=$tests_dir/lab/lab box=way-in-$$
lab_run box image info blank >/dev/null 2>&1 || skip 'the lab has no image of blank'
on_exit lab_run box rm --quiet --force "$box"
lab_run box new --quiet --cpu 1 "$box" >/dev/null
in_box() { lab_run box exec "$box" -- "$@"; }

# ---- a person at a terminal ----

mkfifo "$scratch/keys"
exec 8<>"$scratch/keys"
# terminal CMD...: in a terminal of its own, until "closed". What is typed comes from "keys", what is to be
# seen goes to the file "screen"; "pid" has the command's process, "tty" its terminal, "status" how it ended.
terminal() {
	rm -f "$scratch/status" "$scratch/pid"
	printf 'tty >%q; (echo $BASHPID >%q; exec %s); echo $? >%q' "$scratch/tty" "$scratch/pid" \
		"$(printf '%q ' "$lab" run -- "$@")" "$scratch/status" >"$scratch/typed.sh"
	script -qefc "bash $scratch/typed.sh" "$scratch/screen" <&8 >/dev/null 2>&1 &
	wait_until 60 test -s "$scratch/pid"
}
keys() { printf '%b' "$1" >&8; }
seen() { wait_until 60 grep -qaE "$1" "$scratch/screen"; }
closed() { # STATUS: of the command
	wait_until 60 test -s "$scratch/status"
	assert_equal "$1" "$(cat "$scratch/status")" "$(tail -n 5 "$scratch/screen")"
}

# Ctrl-Z stops a job and not us, fg takes it up again, Ctrl-C ends it and not the shell.
terminal box shell "$box"
keys 'PS1="ready> "; echo shell-is-$0\n'
seen 'shell-is--bash'
keys 'sleep 1000\n'
wait_until 60 in_box pgrep -x sleep
keys '\032'
seen 'Stopped +sleep 1000'
assert_equal T "$(in_box sh -c 'ps -o stat= -C sleep | cut -c1')"
keys 'jobs | sed s/^/listed/; fg\n'
seen 'listed.1.\+ +Stopped +sleep 1000'
wait_until 60 in_box sh -c 'ps -o stat= -C sleep | grep -q "^S+"'
keys '\003'
wait_until 60 in_box sh -c '! pgrep -x sleep'
keys 'echo interrupted-with-$?\n'
seen 'interrupted-with-130'
# The window follows, and bytes of UTF-8 arrive as they were typed.
stty -F "$(cat "$scratch/tty")" rows 33 cols 77
keys 'stty size\n'
seen '33 77'
keys 'echo \xc3\xa9\xe2\x82\xac >utf8\n'
wait_until 60 in_box test -s utf8
assert_equal $'\xc3\xa9\xe2\x82\xac' "$(in_box cat utf8)"
keys 'exit 5\n'
closed 5

# A terminal that goes away hangs up what runs in it, as a line that is cut would.
terminal box shell "$box"
keys 'sleep 2000\n'
wait_until 60 in_box pgrep -x sleep
keys '\032'
seen 'Stopped +sleep 2000'
keys 'trap "echo hung-up >gone" HUP; (trap "echo hung-up >gone-child; exit" HUP; touch waits; while :; do sleep 0.1; done)\n'
wait_until 60 in_box test -e waits
kill -KILL "$(cat "$scratch/pid")"
closed 137
wait_until 60 in_box grep -q hung-up gone gone-child
wait_until 60 in_box sh -c '! pgrep -x sleep'

# tmux survives that: attached again, it is the same one.
terminal box tmux "$box" work
wait_until 60 in_box sh -c "tmux list-clients | grep -q ."
keys 'echo $$ >first; touch began\n'
wait_until 60 in_box test -e began
assert_contains "$(in_box tmux list-sessions)" 'work: '
kill -KILL "$(cat "$scratch/pid")"
closed 137
no_client() { [ -z "$(in_box tmux list-clients)" ]; }
wait_until 60 no_client
in_box sh -c 'kill -0 "$(cat first)"' || fail 'the shell in tmux did not survive'
terminal box tmux "$box" work
wait_until 60 in_box sh -c "tmux list-clients | grep -q ."
wait_until 60 sh -c '! "$@"' sh no_client
keys 'echo $$ >second; touch again\n'
wait_until 60 in_box test -e again
assert_equal "$(in_box cat first)" "$(in_box cat second)" 'the shell in tmux'
keys 'exit\n'
closed 0
assert_status 1 in_box tmux has-session -t work

# ---- ssh, by the channel: no network path is there ----

ssh-keygen -q -t ed25519 -N '' -f "$scratch/key"
assert_status 0 lab_run box ssh-config "$box"
assert_lacks "$out" IdentityFile
assert_silent "$(in_box sh -c 'cat .ssh/authorized_keys 2>/dev/null || true')" 'without a key nothing is let in'
lab_run box ssh-config "$box" --key "$scratch/key.pub" >"$scratch/config"
assert_equal "$(cut -d" " -f1,2 "$scratch/key.pub")" "$(in_box cat .ssh/authorized_keys)"
assert_status 0 lab_run box ssh-config "$box" --key "$scratch/key.pub"
assert_contains "$err" 'was let in as '
assert_equal 1 "$(in_box grep -c . .ssh/authorized_keys)" 'lines of authorized_keys'
assert_status 1 lab_run box ssh-config "$box" --key "$scratch/key"
assert_contains "$err" 'private'
ssh_lab() { lab_run "$1" -F "$scratch/config" "${@:2}"; }
assert_status 7 ssh_lab ssh "$box" 'id -un; hostname; cat >&2; exit 7' <<<'from stdin'
assert_equal $'dev\n'"$box" "$out"
assert_equal 'from stdin' "$err"

mkdir -p "$scratch/tree/sub"
head -c 200000 /dev/urandom >"$scratch/tree/sub/random"
ln -s sub/random "$scratch/tree/link"
ssh_lab scp -q -r "$scratch/tree" "$box:by-scp"
ssh_lab scp -q "$box:by-scp/sub/random" "$scratch/back"
cmp "$scratch/tree/sub/random" "$scratch/back" || fail 'scp is not byte-exact'
ssh_lab sftp -q -b - "$box" >"$scratch/out" <<<'ls by-scp'
assert_contains "$(cat "$scratch/out")" by-scp/link
# The machine's rsync with its libraries: the image has none.
mkdir "$scratch/rsync"
ldd "$(command -v rsync)" | grep -oE '/[^ ]+' | xargs cp -Lt "$scratch/rsync" "$(command -v rsync)"
lab_run box cp --quiet "$scratch/rsync" "$box:"
remote='rsync/ld-linux-x86-64.so.2 --library-path rsync rsync/rsync'
sync() { lab_run rsync -a -e "ssh -F $scratch/config" --rsync-path "$remote" "$@"; }
sync "$scratch/tree/" "$box:by-rsync/"
assert_equal "$(cksum <"$scratch/tree/sub/random") sub/random" \
	"$(in_box sh -c 'cd by-rsync && echo "$(cksum <link) $(readlink link)"')"
sync "$box:by-rsync/" "$scratch/rsync-back"
diff -r "$scratch/tree" "$scratch/rsync-back" || fail 'rsync there and back'

# A port of the box here, and one of here in the box; over one connection that is kept.
ssh_lab ssh -o ControlMaster=yes -o ControlPath="$scratch/control" -N -f -L 18080:127.0.0.1:22 "$box" </dev/null >/dev/null 2>&1
on_exit lab_run ssh -F "$scratch/config" -o ControlPath="$scratch/control" -O exit "$box"
assert_contains "$(lab_run bash -c 'exec 3<>/dev/tcp/127.0.0.1/18080 && read -r -t 20 line <&3 && echo "$line"')" 'SSH-2.0-OpenSSH'
ssh_lab ssh -o ControlPath="$scratch/control" -O forward -R 19090:127.0.0.1:18080 "$box"
assert_contains "$(in_box bash -c 'exec 3<>/dev/tcp/127.0.0.1/19090 && read -r -t 20 line <&3 && echo "$line"')" 'SSH-2.0-OpenSSH'

# Host keys come by the channel at each connection: keys that are another's are not taken for the box's.
lab_run box exec --user root "$box" -- sh -c 'rm -f /etc/ssh/ssh_host_*; ssh-keygen -q -t ed25519 -N "" -f /etc/ssh/ssh_host_ed25519_key'
assert_status 0 ssh_lab ssh "$box" true
sed "s|KnownHostsCommand.*|KnownHostsCommand /bin/echo box-$box $(cut -d' ' -f1,2 "$scratch/key.pub")|" \
	"$scratch/config" >"$scratch/other"
assert_status 255 lab_run ssh -F "$scratch/other" "$box" true
assert_contains "$err" 'Host key verification failed'
# A key that may not come in does not.
ssh-keygen -q -t ed25519 -N '' -f "$scratch/stranger"
grep -v IdentityFile "$scratch/config" >"$scratch/other"
assert_status 255 lab_run ssh -F "$scratch/other" -i "$scratch/stranger" "$box" true
assert_contains "$err" 'Permission denied'

# ---- the agent does not answer: the doctor says so, and the console is the way in ----

agent_is() { # VERDICT PART: what the doctor says of agents, whatever else it says
	lab_run box doctor --json >"$scratch/doctor" || true
	jq -r '.checks[] | select(.name == "agents") | .verdict + " " + .text + "; repair: " + (.repair // "")' \
		"$scratch/doctor" >"$scratch/agents"
	grep -q "^$1 .*$2" "$scratch/agents"
}
knocked() {
	keys '\r'
	sleep 0.5
	grep -qaE "$box login: dev \(automatic login\)" "$scratch/screen"
}
on_console() { # nobody is logged in there: a key brings the shell
	terminal box virsh "$box" -- console
	seen 'Escape character is'
	wait_until 60 knocked
	keys 'echo console-$((40 + 2))-$(id -un)-$(hostname)-$(sudo -n id -un)\r'
	seen "console-42-dev-$box-root"
}
off_console() { # virsh wants the key by itself
	keys 'exit\r'
	seen 'logout'
	keys '\035'
	closed 0
}
# After the command that says so has ended, which it could not otherwise.
soon() {
	lab_run box exec --user root "$box" -- sh -c 'setsid sh -c "sleep 1; $1" >/dev/null 2>&1 </dev/null &' sh "$1"
}
agent_is OK 'agents of all' || fail "$(cat "$scratch/agents")"
assert_equal agetty "$(in_box ps -t ttyS0 -o comm= | xargs)" 'what the boot started at the console'
# Stopped, it keeps the way in open and does not answer; the doctor does not wait for that.
soon 'kill -STOP $(systemctl show -p MainPID --value box-agent)'
wait_until 60 agent_is DIRTY "box '$box' runs, but its agent has not answered for 3.0 s; repair: .*box virsh BOX -- console"
begin=$SECONDS
agent_is DIRTY "box '$box'" || fail "$(cat "$scratch/agents")"
[ $((SECONDS - begin)) -lt 30 ] || fail "the doctor took $((SECONDS - begin)) s"
assert_status 126 in_box true
assert_contains "$err" "the agent in the box has not answered for 10 s; another way in: box virsh $box -- console"
on_console
keys 'sudo kill -CONT $(systemctl show -p MainPID --value box-agent)\r'
wait_until 60 agent_is OK 'agents of all'
off_console
assert_status 0 in_box true
# Gone for good, until somebody brings it back.
soon 'systemctl stop box-agent'
wait_until 60 agent_is DIRTY "box '$box'"
on_console
keys 'sudo systemctl start box-agent\r'
wait_until 60 agent_is OK 'agents of all'
off_console

# ---- control sequences: the clipboard (OSC 52), DCS, a cursor report ----

evil=$'\033]52;c;eA==\007\033P$q"p\033\\\033[6n'
in_box printf '%s' "$evil" >"$scratch/raw"
assert_equal "$evil" "$(cat "$scratch/raw")" 'a stream'
assert_status 127 in_box "/no/$evil"
assert_lacks "$err" $'\033'
assert_contains "$err" '\x1b]52;c;eA==\x07'
lab_run box exec --user root "$box" -- sh -c 'sed -i "s|\$| $1|" /etc/ssh/ssh_host_ed25519_key.pub; hostname "$1" || true' sh "${evil//\\/\\\\}"
silent() { # WORDS...: what box says has none of it
	lab_run box "$@" >"$scratch/said" 2>&1 || true
	assert_lacks "$(cat "$scratch/said")" $'\033'
}
silent ssh-config --known-hosts "$box"
silent info "$box"
silent list
silent cp "$box:$evil" -
