# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Completion for bash: the commands of MapSHMEM. What can be completed is read from each command's own --help when it is
# first needed. bash-completion finds this file under the name of the command, by a link; without bash-completion, source
# the file under that name.

declare -gA _mapshmem_help_of=()

# Sets help to the text of a command. Programs that would join a job or meet a launcher start alone.
_mapshmem_help() {
    [ -n "${_mapshmem_help_of[$1]+known}" ] ||
        _mapshmem_help_of[$1]=$(SHMEM_BOOTSTRAP=single timeout 10 "$1" --help 2>/dev/null </dev/null)
    help=${_mapshmem_help_of[$1]}
}

# The lines of help that list options, with those that go on with an explanation joined to them.
_mapshmem_lines() {
    awk '
        function flush() { if (line) print line; line = "" }
        /^ +-/ { flush(); line = $0; next }
        /^      / && line { line = line " " $0; next }
        { flush() }
        END { flush() }' <<<"$help"
}

# The options, one a line: what stands in front of the explanation, which two blanks separate.
_mapshmem_options() {
    _mapshmem_lines | sed -E 's/^ +//; s/  +[^- ].*//' | grep -oE '(^|[ ,|])--?[A-Za-z][A-Za-z0-9-]*' | tr -d ' ,|'
}

# The line of an option, and what is to follow it: "N", "cuda|opencl" or nothing. In "-d, --device TYPE" it is TYPE for both.
_mapshmem_line() {
    [[ ! $1 =~ ^-[A-Za-z0-9-]+$ ]] || _mapshmem_lines | grep -E -m 1 -- "(^|[ ,|])$1([ ,|=]|\$)"
}
_mapshmem_value() {
    _mapshmem_line "$1" | sed -E 's/^ +//; s/  +[^- ].*//' | awk -v option="$1" '{
        n = split($0, forms, /, */)
        for (i = 1; i <= n; i++) {
            words = split(forms[i], word, / /)
            known = known || word[1] == option
            if (known && words > 1) { print word[2]; exit }
        }
    }'
}

# The words that an option may have as its value: "a|b|c" behind it, or "a, b, c" or "a, b or c" in its explanation.
_mapshmem_words() {
    local value
    value=$(_mapshmem_value "$1")
    if [[ $value == *'|'* ]]; then
        tr '|' '\n' <<<"$value"
    else
        { _mapshmem_line "$1" | grep -oE '([a-z0-9_-]+, ){2,}(or )?[a-z0-9_-]+' ||
            _mapshmem_line "$1" | grep -oE '([a-z0-9_-]+, )*[a-z0-9_-]+ or [a-z0-9_-]+'; } | head -n 1 |
            sed 's/\bor / /' | tr -s ', ' '\n'
    fi
}

# Sets program to the index of the word with the command that a launcher is to start; 0 if there is none yet.
_mapshmem_find_program() {
    local i word
    program=0
    for ((i = 1; i < COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        case $word in
            --) program=$((i + 1)); return ;;
            -*) if [ "${COMP_WORDS[i + 1]:-}" = = ]; then
                    ((i += 2))
                elif [ -n "$(_mapshmem_value "$word")" ]; then
                    ((i++))
                fi ;;
            *) program=$i; return ;;
        esac
    done
}

_mapshmem() {
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} help program=0 words word
    local command=${1##*/}
    COMPREPLY=()
    _mapshmem_help "$1"
    case $command in oshrun | oshcopy) _mapshmem_find_program ;; esac
    if [ "$program" -gt 0 ] && [ "$program" -le "$COMP_CWORD" ]; then
        if declare -F _command_offset >/dev/null; then
            _command_offset "$program"
        else
            mapfile -t COMPREPLY < <(compgen -c -- "$cur"; compgen -f -- "$cur")
        fi
        return
    fi
    if [ "$prev" = = ]; then
        prev=${COMP_WORDS[COMP_CWORD - 2]}
    elif [ "$cur" = = ]; then
        cur=
    fi
    if [[ $prev == -* ]] && [ -n "$(_mapshmem_value "$prev")" ]; then
        words=$(_mapshmem_words "$prev")
    elif [[ $cur == -* ]]; then
        words=$(_mapshmem_options)
    elif [[ $command == osu_oshm_* ]]; then
        words=$(printf '%s\n' heap global H D P)
    elif [ "$command" = oshrun ] || [ "$command" = oshcopy ]; then
        mapfile -t COMPREPLY < <(compgen -c -- "$cur"; compgen -f -- "$cur")
        return
    fi
    if [ -n "${words:-}" ]; then
        # compgen -W would evaluate them
        mapfile -t COMPREPLY < <(tr -s '[:space:]' '\n' <<<"$words" |
            while IFS= read -r word; do [[ -z $word || $word != "$cur"* ]] || printf '%s\n' "$word"; done | sort -u)
    else
        compopt -o filenames 2>/dev/null
        mapfile -t COMPREPLY < <(compgen -f -- "$cur")
    fi
}

complete -F _mapshmem -- "${BASH_SOURCE[0]##*/}"
