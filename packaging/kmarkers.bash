# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Completes commands and options of kmarkers in bash, as listed by kmarkers --help.

_kmarkers() {
	local word=${COMP_WORDS[COMP_CWORD]} before=("${COMP_WORDS[@]:1:COMP_CWORD-1}") found names
	names=$(kmarkers --help 2>/dev/null | sed -n 's/^  \([a-z -]*[a-z]\)  .*/\1/p')
	local said=" ${before[*]} "
	if [[ $word == -* ]]; then
		# The command is the longest command name at the start of the line.
		found=$(while read -r name; do
			[[ $said != " $name "* ]] || printf '%s\n' "$name"
		done <<<"$names" | tail -n 1)
		# shellcheck disable=SC2086 # a command may have two words
		names=$(kmarkers $found --help 2>/dev/null | grep -o -- '--[a-z-]*' | sort -u)
		mapfile -t COMPREPLY < <(compgen -W "$names" -- "$word")
		return
	fi
	case ${#before[@]} in
	0) found=$(cut -d' ' -f1 <<<"$names") ;;
	1) found=$(sed -n "s/^${before[0]//[^a-z-]/} //p" <<<"$names") ;;
	*) found= ;;
	esac
	mapfile -t COMPREPLY < <(compgen -W "$found" -- "$word" | sort -u)
	((${#COMPREPLY[@]})) || mapfile -t COMPREPLY < <(compgen -f -- "$word")
}
complete -o filenames -F _kmarkers kmarkers
