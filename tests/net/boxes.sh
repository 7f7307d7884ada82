# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2154
#
# Boxes without a guest, for scripts that run inside the lab. Include it behind tests/lib.sh and call
# boxes_begin first. Box n (a digit) has the UUID nnnnnnnn-..., the tap bxtnnnnnnnn, the MAC
# 52:54:00:0n:0n:0n and the address $base.10n.
#
#   box_domain N NAME [XML]      a real domain with our mark, reserved; XML goes into the mark (doors).
#                                Its QEMU has no system to boot. Gone at the end.
#   box_stand_in N               a network namespace takes the place of box n's tap: what answers, and
#                                what asks. It is there until the end.
#   box_stand_away N             the opposite
#   box_admit N [XML]            as box_domain and a start, but without libvirt: the hook alone
#   in_box N CMD...              in that namespace
#   box_serve N PORT             something listens there, and says "box N"

boxes_begin() {
	virsh net-info boxnet >/dev/null 2>&1 || skip 'this lab has no boxnet: its box has no setup-host'
	base=$(ip -4 -json addr show dev boxnet | jq -r '.[0].addr_info[0].local')
	base=${base%.1}
	# shellcheck disable=SC2034 # for the scripts that include this one
	probe=$BOX_BUILD/probe/box-probe
	holders=()
	make_scratch
}

box_uuid() {
	echo "$1$1$1$1$1$1$1$1-89ab-4def-8123-456789abcdef"
}

box_tap() {
	echo "bxt$1$1$1$1$1$1$1$1"
}

box_xml() {
	cat <<-END
		<domain type='qemu'><name>$2</name><uuid>$(box_uuid "$1")</uuid>
		<metadata><box:box xmlns:box='urn:box:domain' schema='1'>
		<box:template>blank</box:template><box:user>dev</box:user><box:origin>mint</box:origin>
		<box:created>2026-01-02T03:04:05Z</box:created>
		<box:image digest=''>golden-blank-0123456789abcdef.qcow2</box:image><box:agent>0.1.0</box:agent>
		<box:address>$base.10$1</box:address><box:tap>$(box_tap "$1")</box:tap>
		${3:-}</box:box></metadata>
		<memory unit='MiB'>32</memory><vcpu>1</vcpu>
		<os><type arch='x86_64' machine='q35'>hvm</type><smbios mode='sysinfo'/></os>
		<sysinfo type='smbios'><system><entry name='serial'>ds=nocloud;i=1;h=$2</entry></system></sysinfo>
		<devices><interface type='network'><mac address='52:54:00:0$1:0$1:0$1'/>
		<source network='boxnet'/><target dev='$(box_tap "$1")'/><model type='virtio'/>
		<port isolated='yes'/></interface><memballoon model='none'/></devices></domain>
	END
}

box_reserve() {
	virsh -q net-update boxnet add ip-dhcp-host \
		"<host mac='52:54:00:0$1:0$1:0$1' ip='$base.10$1'/>" --live --config
	on_exit sh -c "virsh -q net-update boxnet delete ip-dhcp-host \
		\"<host mac='52:54:00:0$1:0$1:0$1'/>\" --live --config >/dev/null 2>&1"
}

box_domain() {
	box_xml "$@" >"$scratch/domain.xml"
	virsh -q define "$scratch/domain.xml"
	on_exit sh -c "virsh -q undefine --managed-save $(box_uuid "$1") >/dev/null 2>&1"
	on_exit sh -c "virsh -q destroy $(box_uuid "$1") >/dev/null 2>&1"
	box_reserve "$1"
}

box_admit() {
	box_xml "$1" "box$1" "${2:-}" >"$scratch/$1.xml"
	/etc/libvirt/hooks/qemu.d/box "box$1" prepare begin - <"$scratch/$1.xml"
	on_exit sh -c "/etc/libvirt/hooks/qemu.d/box box$1 release end - <$scratch/$1.xml"
	box_reserve "$1"
}

box_stand_in() {
	local tap mac=52:54:00:0$1:0$1:0$1
	tap=$(box_tap "$1")
	if [ -e "/sys/class/net/$tap" ]; then # QEMU's, which keeps it under another name
		ip link set "$tap" nomaster down
		ip link set "$tap" name "away$1"
	fi
	if [ -z "${holders[$1]:-}" ]; then
		unshare --net sleep 900 </dev/null >/dev/null 2>&1 &
		holders[$1]=$!
		on_exit kill "${holders[$1]}"
		wait_until 5 sh -c "test \$(readlink /proc/self/ns/net) != \$(readlink /proc/${holders[$1]}/ns/net)"
	fi
	ip link add "$tap" type veth peer name eth0 netns "${holders[$1]}"
	on_exit sh -c "ip link del $tap 2>/dev/null"
	ip link set "$tap" master boxnet up
	bridge link set dev "$tap" isolated on
	in_box "$1" ip link set lo up
	in_box "$1" ip link set eth0 address "$mac"
	in_box "$1" ip link set eth0 up
	in_box "$1" ip addr add "$base.10$1/24" dev eth0
	in_box "$1" ip route add default via "$base.1"
}

# The tap's name is free again, for a start of the real domain.
box_stand_away() {
	ip link del "$(box_tap "$1")"
}

in_box() {
	local n=$1
	shift
	nsenter --net="/proc/${holders[$n]}/ns/net" "$@"
}

box_serve() {
	nsenter --net="/proc/${holders[$1]}/ns/net" socat "TCP-LISTEN:$2,fork,reuseaddr" \
		"SYSTEM:echo box $1" </dev/null >/dev/null 2>&1 &
	on_exit kill $!
	wait_until 5 in_box "$1" sh -c "[ -n \"\$(ss -Hnlt sport = :$2)\" ]"
}
