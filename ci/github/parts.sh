# What the actions have in common. Sourced with the folder of the script in `here`, a folder of the run in `work`, and inputs as variables
# (INPUT_…), none of which is ever a part of a command.

repository=${ACTION_REPOSITORY:-bumpwright/bumpwright}
ACTION_REF=${ACTION_REF:-}

# A workflow command has one line.
command_text() {
    printf '%s' "$*" | sed 's/%/%25/g' | tr '\r\n' '  '
}
fail() {
    echo "::error title=bumpwright::$(command_text "$@")"
    exit 2
}
warn() {
    echo "::warning title=bumpwright::$(command_text "$@")"
}
is_true() { # name of the input, its value
    case $2 in
        true) ;;
        false | '') return 1 ;;
        *) fail "$1 is true or false, not '$2'" ;;
    esac
}

# The release that this action is of. Nothing for a branch, which may be another program tomorrow.
own_version() {
    case $ACTION_REF in
        v[0-9]*.[0-9]*.[0-9]*) echo "$ACTION_REF" ;;
        *) ! is_fixed || echo "$pinned" ;;
    esac
}
# Whether the action is a commit, or files of the repository that uses it.
is_fixed() {
    case $ACTION_REF in
        *[!0-9a-f]*) false ;;
        *) [ "${#ACTION_REF}" -eq 40 ] || [ -z "$ACTION_REF" ] ;;
    esac
}

why_no_version() {
    if is_fixed; then
        echo "this commit of the action has no release with digests"
    else
        echo "$repository@$ACTION_REF may be another program tomorrow"
    fi
}

find_program() {
    if [ -n "$INPUT_BINARY" ]; then
        program=$(command -v "$INPUT_BINARY") || fail "binary: there is no program '$INPUT_BINARY'"
        return
    fi
    # The release of the action's own tree, with its digests: who pins a commit has pinned the program.
    pinned=$(sed -n 's/^version //p' "$here/../release")
    version=$INPUT_VERSION
    [ -n "$version" ] || version=$(own_version)
    [ -n "$version" ] || fail "$(why_no_version): pin the commit of a release (uses: $repository@COMMIT # v0.1.0) or its tag, or name a release (version)"
    sums=''
    [ "$version" != "$pinned" ] || sums=$here/../release
    server=$GITHUB_SERVER_URL
    # Gitea and Forgejo run actions of other servers.
    [ -z "${GITEA_ACTIONS:-}${FORGEJO_ACTIONS:-}" ] || server=https://github.com
    BUMPWRIGHT_RELEASES="${BUMPWRIGHT_RELEASES:-$server/$repository/releases}" \
        sh "$here/../download" "$version" "$work/bin" "$sums" || fail "bumpwright $version was not downloaded"
    program=$work/bin/bumpwright
    echo "$work/bin" >>"${GITHUB_PATH:-/dev/null}"
}

# The credentials for Git and the forge. The job's own token is only for the server that gave it.
give_credentials() { # target
    case $1 in
        "$GITHUB_SERVER_URL"/*) [ -n "$INPUT_GIT_TOKEN" ] || INPUT_GIT_TOKEN=$INPUT_TOKEN ;;
    esac
    if [ -n "$INPUT_GIT_TOKEN" ]; then
        export BUMPWRIGHT_GIT_USERNAME="$INPUT_GIT_USERNAME" BUMPWRIGHT_GIT_TOKEN="$INPUT_GIT_TOKEN"
    fi
    # Manifests do not choose who gets them.
    export BUMPWRIGHT_GIT_SERVER="${INPUT_GIT_SERVER:-$GITHUB_SERVER_URL}"
    if [ -n "$INPUT_PULL_REQUEST_TOKEN" ]; then
        export BUMPWRIGHT_PULL_REQUEST_TOKEN="$INPUT_PULL_REQUEST_TOKEN"
    fi
}

# Nothing in the output of a command is a workflow command, whatever is in the repository.
silently() { # command
    silence=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
    echo "::stop-commands::$silence"
    code=0
    "$@" || code=$?
    echo "::$silence::"
}
