#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# box cp with a guest: both directions, with GNU tar and with busybox's, and against a box that means harm.
set -euo pipefail
# What is in single quotes is for the box.
# shellcheck disable=SC2016
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/micro-box.sh"
require_root
require_command bsdtar cmp find python3 tar virsh
make_scratch
box=cp-$$
# busybox's sh prefers its own tar.
micro_box "$box" sh tar

exec_box() { lab_run box exec "$box" -- "$@"; }
# The lab has /tmp of its own, but not the folders of the tree that is tested, nor this one.
cd "$scratch"

cp_ok() {
	assert_status 0 lab_run box cp "$@"
	assert_silent "$out" stdout
}
cp_fails() { # TEXT WORDS...
	local text=$1
	shift
	assert_status 1 lab_run box cp "$@"
	assert_contains "$err" "$text"
	assert_silent "$out" stdout
}
# What matters of a tree: kinds, modes, times, sizes, links, contents.
describe() {
	(cd "$1" && find . -printf '%P %y %m %TY%Tm%Td%TH%TM%TS %l ' \( -type f -printf '%s %n' \) -printf '\n' |
		sort && find . -type f -print0 | sort -z | xargs -0 cksum)
}
no_leftovers() {
	assert_equal '' "$(find . -name '.box-cp-*')" 'left behind here'
	assert_equal '' "$(exec_box find /home /root /tmp -name '.box-cp-*')" 'left behind in the box'
}

mkdir -p src/sub/deep src/shut 'src/a b' src/empty
echo content >src/sub/deep/file
printf 'na\303\257ve' >$'src/na\303\257ve \342\202\254'
head -c 300000 /dev/urandom >src/random
ln src/random src/sub/twin
ln -s ../random src/sub/link
truncate -s 40M src/big
printf middle | dd of=src/big bs=1M seek=20 conv=notrunc status=none
touch "src/$(printf '%0200d' 7)"
chmod 640 src/random
chmod 751 src/sub/deep/file
chmod 1555 src/shut
touch -d '2001-02-03 04:05:06.789012345' src/sub/deep/file src/sub/deep src/sub src

# A tree there and back is the tree, holes included. Special bits are not.
cp_ok src "$box:"
assert_equal 'dev 40M' "$(exec_box sh -c 'stat -c %U src/random; du --apparent-size -m src/big 2>/dev/null | cut -f1' | xargs |
	sed 's/ 41$/ 40M/; s/dev$/dev 40M/')"
[ "$(exec_box du -k src/big | cut -f1)" -lt 1000 ] || fail 'the hole was filled in the box'
cp_ok "$box:src" back
chmod 555 src/shut
[ "$(du -k back/big | cut -f1)" -lt 1000 ] || fail 'the hole was filled here'
assert_equal "$(describe src)" "$(describe back)" 'there and back'
assert_equal "$(stat -c %i back/random)" "$(stat -c %i back/sub/twin)" 'a hard link'
no_leftovers

# Into folders that are there: files are replaced, others stay. In the box as well.
echo mine >back/keep
rm -f back/sub/deep/file
exec_box sh -c 'echo theirs >src/sub/deep/file; echo theirs >src/new'
cp_ok "$box:src/." back
assert_equal 'mine theirs theirs' "$(cat back/keep back/new back/sub/deep/file | xargs)"
exec_box sh -c 'echo stays >src/stays'
cp_ok src/. "$box:src"
assert_equal 'stays content' "$(exec_box cat src/stays src/sub/deep/file | xargs)"
cp_ok src/sub "$box:src"
mkdir into
cp_fails "'link' is a link that leads out of what is copied" "$box:src/sub" into/
assert_equal '' "$(ls -A into)"
cp_ok --skip-unsafe "$box:src/sub" into/
assert_equal content "$(cat into/sub/deep/file)"
cp_ok "$box:/etc/passwd" into
cmp <(exec_box cat /etc/passwd) into/passwd || fail 'a file into a folder'
no_leftovers

# Names, users, the home.
cp_ok src/random "$box:~/renamed"
cp_ok "$box:~/renamed" r1
cmp src/random r1 || fail 'a file under another name'
cp_ok "$box:/home/dev/renamed" r1
cp_ok --user root src/random "$box:"
assert_equal 'root 640' "$(lab_run box exec --user root "$box" -- stat -c '%U %a' /root/random)"
cp_fails 'Permission denied' src/random "$box:/root/x"
cp_fails 'Permission denied' "$box:/root/random" x
cp_ok --user root "$box:random" x
cp_ok --connect qemu:///system -- "$box:renamed" ./a:b
cmp src/random a:b || fail 'a name with a colon'

# Streams are bytes, nothing else.
assert_status 0 lab_run box cp - "$box:stream" <src/random
assert_silent "$out" stdout
lab_run box cp "$box:stream" - >stream 2>/dev/null
cmp src/random stream || fail 'a stream'
lab_run box cp <(cat src/random) "$box:piped"
lab_run box cp --quiet "$box:piped" - | cmp - src/random || fail 'from a fifo'
lab_run box cp --quiet "$box:src/big" - | head -c 10 | cmp - <(head -c 10 src/big) || fail 'a reader that has enough'

# What cannot be, and then nothing is left.
cp_fails "there is no './nothing'" "$box:nothing" y
cp_fails "'/dev/null' is neither file nor folder" "$box:/dev/null" y
cp_fails "cannot read 'nothing': No such file or directory" nothing "$box:"
cp_fails "'/dev/zero' is neither file nor folder" /dev/zero "$box:"
cp_fails "there is no folder './no/such'" src/random "$box:no/such/file"
cp_fails "cannot find folder 'no/'" "$box:renamed" no/such
cp_fails "'./renamed' is not a folder" src "$box:renamed"
exec_box mkdir -p other/random
cp_fails "'./other/random' is a folder" src/random "$box:other"
cp_fails 'is a folder in the box and none here' "$box:src" r1
cp_fails "'-' is for streams" "$box:renamed" /dev/null
assert_status 1 lab_run box cp "$box:src" -
assert_contains "$err" "'./src' is a folder"
[ -c /dev/null ] || fail '/dev/null was replaced'
mkfifo src/fifo
assert_status 0 lab_run box cp src "$box:with-fifo"
assert_contains "$err" "left out: 'src/fifo' is neither file, folder nor link"
rm src/fifo
[ ! -e y ] || fail 'a failure left something'
no_leftovers

# Interrupted in the middle, either way: nothing is left, under its name or another. (A shell makes what it
# starts in the background ignore INT.)
for direction in in out; do
	if [ "$direction" = in ]; then
		words=("src/big-random" "$box:partial")
		head -c 30000000 /dev/urandom >src/big-random
	else
		exec_box sh -c 'mkdir endless; cat /dev/zero | head -c 60000000 >endless/f'
		words=("$box:endless" partial)
	fi
	"$tests_dir/lab/lab" run -- box cp "${words[@]}" 2>"log-$direction" &
	pid=$!
	if [ "$direction" = in ]; then
		wait_until 60 exec_box sh -c 'ls -d .box-cp-*/c'
	else
		wait_until 60 sh -c 'ls -d .box-cp-*/content/f'
	fi
	kill -TERM "$pid"
	status=0
	wait "$pid" || status=$?
	assert_equal 143 "$status" "interrupted $direction"
	[ ! -e partial ] || fail 'half a tree'
	assert_equal '' "$(exec_box sh -c 'ls -d partial 2>/dev/null || true')" 'half a file in the box'
	wait_until 30 sh -c '! ls -d .box-cp-*'
	wait_until 30 exec_box sh -c '! ls -d .box-cp-*'
done
rm src/big-random
exec_box rm -rf endless

# A box that means harm: its tar gives what it likes.
evil() { # FILE: the archive that the box's tar gives from now on
	cp_ok --user root "$1" "$box:/evil.tar"
	lab_run box exec --user root "$box" -- sh -c 'printf "%s\n" "#!/bin/sh" "cat /evil.tar" >/bin/tar; chmod 755 /bin/tar'
}
exec_box cp /bin/tar good-tar
harmless() { # the tar of before
	lab_run box exec --user root "$box" -- cp /home/dev/good-tar /bin/tar
}
mkdir hostile
cd hostile
mkdir .tree && cd .tree && mkdir sub && echo x >sub/x && ln -s /etc/passwd link && cd ..
# No tar makes these by itself.
python3 - <<'END'
import io, tarfile
for archive, member, kind, mode in (
    ("absolute", "/tmp/box-cp-evil", tarfile.REGTYPE, 0o644), ("climb", "./../box-cp-evil", tarfile.REGTYPE, 0o644),
    ("device", "./null", tarfile.CHRTYPE, 0o666), ("setuid", "./x", tarfile.REGTYPE, 0o6755),
):
    with tarfile.open(archive + ".tar", "w") as tar:
        top = tarfile.TarInfo("./")
        top.type, top.mode = tarfile.DIRTYPE, 0o755
        tar.addfile(top)
        info = tarfile.TarInfo("./before")
        tar.addfile(info)
        info = tarfile.TarInfo(member)
        info.type, info.mode, info.devmajor, info.devminor = kind, mode, 1, 3
        info.size = 1 if kind == tarfile.REGTYPE else 0
        tar.addfile(info, io.BytesIO(b"x"))
with tarfile.open("through.tar", "w") as tar:  # a link that stays within the tree, and a file by way of it
    for member, kind, target in (("./", tarfile.DIRTYPE, ""), ("./sub", tarfile.DIRTYPE, ""),
        ("./way", tarfile.SYMTYPE, "sub"), ("./way/x", tarfile.REGTYPE, "")):
        info = tarfile.TarInfo(member)
        info.type, info.mode, info.linkname = kind, 0o755, target
        tar.addfile(info)
END
truncate -s 1T big && tar --sparse --format=posix -cf terabyte.tar ./big && rm big
bsdtar -cf link.tar -C .tree .
printf 'x' >$'.tree/sub/e\033]52;c;eA==\007'
bsdtar -cf control.tar -C .tree/sub .
head -c 2000 control.tar >cut.tar
seq 5000 >nonsense.tar
cd ..
for case in "link:'link' is a link that leads out of what is copied" \
	"control:'e\\x1b]52;c;eA==\\x07' has control characters" \
	"absolute:'/tmp/box-cp-evil' is an absolute path" "climb:'./../box-cp-evil' climbs with '..'" \
	"through:cannot write 'content/way/x'" "device:'null' is neither file, folder nor link" 'terabyte:more than ' \
	'cut:the archive is damaged' 'nonsense:the archive is damaged'; do
	evil "hostile/${case%%:*}.tar"
	cp_fails "${case#*:}" "$box:src" evil-tree
	assert_lacks "$err" $'\033'
	[ ! -e evil-tree ] || fail "${case%%:*}: something of it was put in place"
	harmless
done
evil hostile/setuid.tar
cp_ok "$box:src" evil-setuid
assert_equal 755 "$(stat -c %a evil-setuid/x)"
harmless
evil hostile/link.tar
assert_status 0 lab_run box cp --skip-unsafe "$box:src" evil-tree
assert_contains "$err" "warning: left out: 'link' is a link that leads out"
assert_equal x "$(cat evil-tree/sub/x)"
[ ! -L evil-tree/link ] || fail 'a link that leads out'
harmless
# One that never ends, and goes on when nobody reads; and one that says things on stderr for ever.
bad_tar() { # LINE...: of the script that is the box's tar from now on
	lab_run box exec --user root "$box" -- sh -c 'printf "%s\n" "$@" >/bin/tar' sh '#!/bin/sh' \
		'[ "$1" != --version ] || exit 0' "$@"
}
bad_tar 'trap "" PIPE' 'cat /dev/zero' 'sleep 600'
cp_fails 'bytes behind the end of the archive' "$box:src" evil-endless
bad_tar 'printf "\033]52;c;eA==\007" >&2' 'yes >&2'
assert_status 1 lab_run box cp --timeout 3s "$box:src" evil-words
assert_contains "$err" 'the time limit ran out'
assert_lacks "$err" $'\033'
[ "${#err}" -lt 4000 ] || fail 'endless words of the box'
harmless
# What both limits are when nothing is said: tests/unit/vmm/test-copy-unpack.c has as many entries.
lab_run sh -c 'mkdir "$1" && cp -P "$BOX_LIBEXEC"/* "$1" && mv "$1/box-copy" "$1/real"' sh "$scratch/libexec"
printf '#!/bin/sh\necho "$*" >>%q\nexec %q "$@"\n' "$scratch/words" "$scratch/libexec/real" >"$scratch/libexec/box-copy"
chmod 755 "$scratch/libexec/box-copy"
assert_status 0 lab_run env BOX_LIBEXEC="$scratch/libexec" box cp "$box:src/sub" limits --skip-unsafe
read -r verb entries bytes _ <"$scratch/words"
assert_equal 'unpack 1000000' "$verb $entries" 'the limit of entries'
[ "$bytes" -le $((64 << 30)) ] || fail "the limit of bytes is $bytes"
cp_fails 'more than 5 entries; the limit is --max-entries' --max-entries 5 "$box:src" few
cp_fails 'more than 1 MiB of content; the limit is --max-size' --max-size 1MiB "$box:src" small
assert_lacks "$(ls /tmp)" box-cp-evil
no_leftovers

# With busybox's tar: no holes on the way, otherwise the same.
lab_run box exec --user root "$box" -- sh -c 'rm /bin/tar; ln -s busybox /bin/tar; rm -rf /home/dev/*'
cp_ok src "$box:"
rm -rf back
cp_ok "$box:src" back
assert_equal "$(cd src && find . -type f -print0 | sort -z | xargs -0 cksum)" \
	"$(cd back && find . -type f -print0 | sort -z | xargs -0 cksum)" "busybox's tar"
[ "$(du -k back/big | cut -f1)" -lt 1000 ] || fail 'zeros of a hole were written here'
no_leftovers
