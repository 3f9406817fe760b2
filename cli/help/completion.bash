_stoker() {
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} verb=${COMP_WORDS[1]} at
    local IFS=$' \t\n'
    COMPREPLY=()
    for ((at = 2; at < COMP_CWORD; at++)); do
        if [ "${COMP_WORDS[at]}" = -- ]; then
            # What is behind it completes as it would without us.
            if declare -F _command_offset >/dev/null; then
                _command_offset $((at + 1))
            elif ((at + 1 == COMP_CWORD)); then
                mapfile -t COMPREPLY < <(compgen -c -- "$word")
            else
                mapfile -t COMPREPLY < <(compgen -f -- "$word")
            fi
            return
        fi
    done
    if ((COMP_CWORD == 1)); then
        mapfile -t COMPREPLY < <(compgen -W "$_stoker_verbs help --help --version" -- "$word")
        return
    elif ((COMP_CWORD == 2)) && [ "$verb" = help ]; then
        mapfile -t COMPREPLY < <(compgen -W "$_stoker_verbs environment --completion" -- "$word")
        return
    fi
    case $before in
    --fresh)
        mapfile -t COMPREPLY < <(compgen -W 'run open never' -- "$word")
        return ;;
    --path | --tier | --decoded)
        mapfile -t COMPREPLY < <(compgen -d -- "$word")
        return ;;
    --json)
        # Of some it takes no file.
        if ! [[ $verb =~ ^(doctor|report|top)$ ]]; then
            mapfile -t COMPREPLY < <(compgen -f -- "$word")
            return
        fi ;;
    --jobs | --share | --sample) return ;;
    esac
    if [ "${word#-}" != "$word" ]; then
        mapfile -t COMPREPLY < <(compgen -W "$(_stoker_flags "$verb") --help" -- "$word")
    else
        mapfile -t COMPREPLY < <(compgen -f -- "$word")
    fi
}
complete -o filenames -F _stoker stoker
