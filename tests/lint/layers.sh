#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Includes obey the layers of docs/ARCHITECTURE.md, and libraries do not print.
. "$(dirname "$(readlink -f "$0")")/files.sh"

# What a file of each folder may include. vmm shares the agent's wire format and nothing else of it, and of
# the probe only the words that a probe on the host or in a box is asked in.
may_include() {
	case $1 in
	base) echo 'base/' ;;
	agent) echo 'base/|agent/' ;;
	probe) echo 'base/|probe/' ;;
	net) echo 'base/|net/' ;;
	images) echo 'base/|images/' ;;
	seed) echo 'base/|seed/' ;;
	mint) echo 'base/|images/|seed/|mint/' ;;
	wire) echo 'base/|wire/' ;;
	vmm) echo 'base/|net/|images/|seed/|vmm/|agent/frame(-[a-z]+)?\.h$|probe/serve\.h$' ;;
	cli) echo 'base/|net/|images/|seed/|vmm/|cli/' ;;
	esac
}

# Who may write to the terminal: cli, the mains of the helper programs, all of the probe, which is one
# program whose words are its result, and in base the two files that are about it;
# mint/event.c, which writes for programs.
may_print() {
	case $1 in
	cli/* | probe/* | */main.c | */main-*.c | */*-main.c | base/log.c | base/progress.c | mint/event.c) return 0 ;;
	esac
	return 1
}

looked=0
for folder in base agent probe net images seed mint vmm wire cli; do
	allowed=$(may_include "$folder")
	for file in $(source_files -path "./$folder/*.[ch]"); do
		looked=$((looked + 1))
		while read -r included; do
			case $included in
			config.h) ;;
			*/*) grep -qE "^($allowed)" <<<"$included" ||
				complain "$file includes \"$included\": not below '$folder' in docs/ARCHITECTURE.md" ;;
			*) complain "$file includes \"$included\": write \"folder/file.h\"" ;;
			esac
		done < <(sed -nE 's/^[ \t]*#[ \t]*include[ \t]+"([^"]+)".*/\1/p' "$file")
		may_print "$file" ||
			while IFS=: read -r line text; do
				complain "$file:$line: a library does not print: $text"
			done < <(grep -nE '\b(v?printf|puts|putchar|perror|v?dprintf)[ ]*\(|\b(stdout|stderr)\b[,)]' "$file" |
				grep -vE '^[0-9]+:[[:space:]]*(/\*|\* )')
	done
done
finish
