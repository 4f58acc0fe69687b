#compdef kmarkers
# SPDX-License-Identifier: GPL-2.0-only
# Completes commands and options of kmarkers in zsh, as listed by kmarkers --help.

local -a names firsts seconds options
names=(${(f)"$(kmarkers --help 2>/dev/null | sed -n 's/^  \([a-z -]*[a-z]\)  .*/\1/p')"})
if (( CURRENT == 2 )); then
	firsts=(${(u)names%% *})
	compadd -a firsts
	return
fi
if [[ $PREFIX == -* ]]; then
	options=(${(u)${(f)"$(kmarkers $words[2,CURRENT-1] --help 2>/dev/null | grep -o -- '--[a-z-]*')"}})
	compadd -a options
	return
fi
if (( CURRENT == 3 )); then
	seconds=(${${(M)names:#$words[2] *}#* })
	compadd -a seconds
fi
_files
