#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# From nothing to the first command in a fresh machine of the same guest: "box new" and "box exec" against
# "virt-install --import --cloud-init" and against "vagrant up" with libvirt, each with 2 CPUs and 2 GiB, until
# the first login over ssh. Peers get what they need beforehand: image, key, network, and their own copy of nothing else.
#
#   start-peers.sh [ROUNDS]    default 1: a round boots two machines
#
# Functions are called by name.
# shellcheck disable=SC2317
set -euo pipefail
. "$(dirname "$(readlink -f "$0")")/../lib.sh"
. "$tests_dir/bench/bench.sh"
require_root
require_command jq qemu-img virsh virt-install ssh ssh-keygen
rounds=${1:-1}
bench_in_lab "$rounds"
make_scratch
export BOX_CPU=2 BOX_MEMORY=2GiB
name=bench-start-$$
peers=/var/lib/libvirt/images/start-peers
wait_s=600

clean_up() {
	virsh -q destroy peer-virt-install
	virsh -q undefine peer-virt-install
	if [ -e "$scratch/vagrant/Vagrantfile" ]; then
		(cd "$scratch/vagrant" && vagrant destroy --force)
	fi
	virsh -q net-destroy start-peers
	virsh -q net-undefine start-peers
	for pool in boot-scratch default start-peers; do
		virsh -q pool-destroy "$pool"
		virsh -q pool-undefine "$pool"
	done
	rm -rf "$peers"
}
on_exit clean_up
on_exit box rm --quiet --force "$name"

# ---- what each peer has beforehand ----

ssh-keygen -q -t ed25519 -N '' -f "$scratch/key"
cat >"$scratch/user-data" <<END
#cloud-config
users:
  - name: dev
    ssh_authorized_keys: [ "$(cat "$scratch/key.pub")" ]
END
mkdir -p "$peers" /var/lib/libvirt/boot # the latter is there where libvirt's packages were installed
chmod 711 "$peers"
golden=$(box image info --json blank | jq -r .volume)
qemu-img convert -O qcow2 "$(virsh vol-path --pool box "$golden")" "$peers/base.qcow2"
chmod 444 "$peers/base.qcow2"
# A name server and gateway nobody needs; other machines are not boxes, so no rule of box's concerns them.
cat >"$scratch/network.xml" <<END
<network>
  <name>start-peers</name>
  <bridge name='peers0'/>
  <ip address='10.99.0.1' netmask='255.255.255.0'><dhcp><range start='10.99.0.2' end='10.99.0.200'/></dhcp></ip>
</network>
END
virsh -q net-define "$scratch/network.xml"
virsh -q net-start start-peers

# address DOMAIN: what the network gave it
address() {
	virsh -q domifaddr "$1" --source lease | awk '{ sub("/.*", "", $4); print $4; exit }'
}
login() {
	local at
	at=$(address "$1")
	[ -n "$at" ] && ssh -i "$scratch/key" -o BatchMode=yes -o ConnectTimeout=2 -o StrictHostKeyChecking=no \
		-o UserKnownHostsFile=/dev/null -o LogLevel=ERROR "dev@$at" true
}

# ---- from nothing to the first command ----

ours() {
	box new --quiet "$name" && box exec "$name" -- true
}
ours_end() { box rm --quiet --force "$name"; }

virt_install() {
	qemu-img create -q -f qcow2 -F qcow2 -b "$peers/base.qcow2" "$peers/virt-install.qcow2" &&
	virt-install --quiet --name peer-virt-install --virt-type qemu --machine q35 --cpu mode=maximum --vcpus 2 --memory 2048 \
		--import --disk "path=$peers/virt-install.qcow2,bus=virtio" --cloud-init "user-data=$scratch/user-data" \
		--network network=start-peers,model=virtio --osinfo detect=off,require=off --rng /dev/urandom \
		--graphics none --noautoconsole &&
	wait_until "$wait_s" login peer-virt-install
}
virt_install_end() {
	virsh -q destroy peer-virt-install
	virsh -q undefine peer-virt-install
	rm -f "$peers/virt-install.qcow2"
}

vagrant_ready() {
	export VAGRANT_HOME=$scratch/vagrant-home VAGRANT_CHECKPOINT_DISABLE=1
	mkdir -p "$scratch/vagrant" "$scratch/box" "$scratch/seed"
	jq -n --argjson gib "$(($(qemu-img info --output=json "$peers/base.qcow2" | jq '.["virtual-size"]') >> 30))" \
		'{provider: "libvirt", format: "qcow2", virtual_size: $gib}' >"$scratch/box/metadata.json"
	cp "$peers/base.qcow2" "$scratch/box/box.img"
	echo 'Vagrant.configure("2") { |config| }' >"$scratch/box/Vagrantfile"
	tar -C "$scratch/box" -cf "$scratch/peer.box" metadata.json Vagrantfile box.img
	cp "$scratch/user-data" "$scratch/seed/user-data"
	echo 'instance-id: peer-vagrant' >"$scratch/seed/meta-data"
	xorriso -as mkisofs -quiet -o "$peers/vagrant-seed.iso" -V cidata -J -R "$scratch/seed" 2>"$scratch/xorriso"
	cat >"$scratch/vagrant/Vagrantfile" <<END
Vagrant.configure("2") do |config|
  config.vm.box = "peer"
  config.vm.box_check_update = false
  config.vm.synced_folder ".", "/vagrant", disabled: true
  config.vm.boot_timeout = $wait_s
  config.ssh.username = "dev"
  config.ssh.private_key_path = "$scratch/key"
  config.ssh.insert_key = false
  config.vm.provider :libvirt do |libvirt|
    libvirt.uri = "qemu:///system"
    libvirt.driver = "qemu"
    libvirt.machine_type = "q35"
    libvirt.cpu_mode = "maximum"
    libvirt.cpus = 2
    libvirt.memory = 2048
    libvirt.random :model => "random"
    libvirt.graphics_type = "none"
    libvirt.video_type = "none"
    libvirt.management_network_name = "start-peers"
    libvirt.management_network_address = "10.99.0.0/24"
    libvirt.storage :file, :device => :cdrom, :bus => "sata", :path => "$peers/vagrant-seed.iso"
  end
end
END
	vagrant box add --name peer "$scratch/peer.box"
	rm "$scratch/peer.box" "$scratch/box/box.img"
}
vagrant_up() {
	(cd "$scratch/vagrant" && vagrant up --provider libvirt && vagrant ssh -c true)
}
vagrant_end() { (cd "$scratch/vagrant" && vagrant destroy --force); }

# against FUNCTION PEER: alternately, the ends are not measured
against() {
	local i
	rm -f "$scratch/bench.ours" "$scratch/bench.peer"
	for ((i = 0; i < rounds; i++)); do
		bench_once "$scratch/bench.ours" ours
		ours_end >&2
		bench_once "$scratch/bench.peer" "$1"
		"$2" >&2
	done
	bench_say 'new machine to its first command' "$3"
}
box image warm --quiet blank >&2
against virt_install virt_install_end 'virt-install --import --cloud-init, to the first ssh'
if command -v vagrant xorriso >/dev/null; then
	vagrant_ready >&2
	vagrant_up >&2 # the first one copies the image into the pool
	vagrant_end >&2
	against vagrant_up vagrant_end 'vagrant up (libvirt)'
else
	echo 'no vagrant or xorriso here: not measured' >&2
fi
