# What the actions have in common. Sourced with the folder of the script in `here`, a folder of the run in `work`, its report in Markdown in
# `report`, and inputs as variables (INPUT_…), none of which is ever a part of a command.

repository=${ACTION_REPOSITORY:-bumpwright/bumpwright}
ACTION_REF=${ACTION_REF:-}
comment=$work/comment.json

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
    BUMPWRIGHT_RELEASES="$GITHUB_SERVER_URL/$repository/releases" \
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

# A request to GitHub's API. The token goes through a pipe.
request() { # method, path, file with the body if there is one
    printf 'Authorization: Bearer %s\n' "$INPUT_TOKEN" |
        curl --silent --show-error --fail-with-body --retry 2 --request "$1" --header @- \
            --header 'Accept: application/vnd.github+json' --header 'X-GitHub-Api-Version: 2022-11-28' \
            ${3:+--header 'Content-Type: application/json' --data-binary "@$3"} "$GITHUB_API_URL/$2"
}
api() { # method, path in the repository, file with the body if there is one
    request "$1" "repos/$GITHUB_REPOSITORY/$2" ${3:+"$3"}
}

# The account of the token. Nothing for the job's own token and those of apps, which may not ask.
own_login() {
    request GET user 2>/dev/null | jq -r '.login // empty' 2>/dev/null || true
}

# Keeps one comment with the report at the pull request that started the workflow, known by a mark. A new one is made only if it has
# something to say. Anybody can write the mark: the comment is one of the token's account or, where that is not known, of an app. People cannot
# write as an app.
keep_comment() { # what the report is
    number=$(jq -r '.pull_request.number // empty' "$GITHUB_EVENT_PATH")
    if [ -z "$number" ]; then
        echo "No comment: the workflow was not started by a pull request."
        return
    fi
    mark="<!-- bumpwright:$1 $(printf '%s' "$INPUT_COMMENT_ID" | tr -cd 'A-Za-z0-9._-') -->"
    own=$(own_login)
    id='' page=1 before=''
    while [ -z "$id" ]; do
        api GET "issues/$number/comments?per_page=100&page=$page" >"$work/page.json" || return
        id=$(jq -r --arg mark "$mark" --arg own "$own" '
            def is_own: if $own != "" then .user.login == $own
                else .user.type == "Bot" or (.user.login | IN("gitea-actions", "forgejo-actions")) end;
            map(select((.body // "" | startswith($mark)) and is_own))[0].id // empty' "$work/page.json")
        [ "$(jq length "$work/page.json")" -eq 100 ] || break
        # Gitea has no pages here: each is the first one.
        first=$(jq -r '.[0].id' "$work/page.json")
        [ "$first" != "$before" ] || break
        before=$first page=$((page + 1))
    done
    [ -n "$id" ] || [ "$has_something_to_say" = true ] || return 0
    # Longer comments are refused.
    jq -Rs --arg mark "$mark" '{body: ($mark + "\n" + .[:65000])}' "$report" >"$comment"
    if [ -n "$id" ]; then
        api PATCH "issues/comments/$id" "$comment" >/dev/null
    else
        api POST "issues/$number/comments" "$comment" >/dev/null
    fi
}

command -v jq >/dev/null || fail "jq is needed; the runners of GitHub have it"

# Nothing in the output of a command is a workflow command, whatever is in the repository.
silently() { # command
    silence=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
    echo "::stop-commands::$silence"
    code=0
    "$@" || code=$?
    echo "::$silence::"
}
