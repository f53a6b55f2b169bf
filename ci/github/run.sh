#!/bin/sh
# What action.yml runs: its inputs come as variables (INPUT_…), and none of them is ever a part of a command. Secrets stay in the
# environment: no program gets one as an argument.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "${RUNNER_TEMP:=/tmp}"
work=$(mktemp -d "$RUNNER_TEMP/bumpwright.XXXXXX")
repository=${ACTION_REPOSITORY:-bumpwright/bumpwright}
ACTION_REF=${ACTION_REF:-}
report=$work/report.md
document=$work/report.json
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
api() { # method, path, file with the body if there is one
    printf 'Authorization: Bearer %s\n' "$INPUT_TOKEN" |
        curl --silent --show-error --fail-with-body --retry 2 --request "$1" --header @- \
            --header 'Accept: application/vnd.github+json' --header 'X-GitHub-Api-Version: 2022-11-28' \
            ${3:+--header 'Content-Type: application/json' --data-binary "@$3"} "$GITHUB_API_URL/repos/$GITHUB_REPOSITORY/$2"
}

# Keeps one comment with the report at the pull request that started the workflow. A new one is made only if it has something to say.
keep_comment() {
    number=$(jq -r '.pull_request.number // empty' "$GITHUB_EVENT_PATH")
    if [ -z "$number" ]; then
        echo "No comment: the workflow was not started by a pull request."
        return
    fi
    mark="<!-- bumpwright:report $(printf '%s' "$INPUT_COMMENT_ID" | tr -cd 'A-Za-z0-9._-') -->"
    id='' page=1
    while [ -z "$id" ]; do
        api GET "issues/$number/comments?per_page=100&page=$page" >"$work/page.json" || return
        id=$(jq -r --arg mark "$mark" 'map(select(.body // "" | startswith($mark)))[0].id // empty' "$work/page.json")
        [ "$(jq length "$work/page.json")" -eq 100 ] || break
        page=$((page + 1))
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
dry_run='' exit_code='' strict='' pull_request=''
! is_true dry-run "$INPUT_DRY_RUN" || dry_run=--dry-run
! is_true exit-code "$INPUT_EXIT_CODE" || exit_code=--exit-code
case $INPUT_STRICT in
    markers | problems) strict=--strict=$INPUT_STRICT ;;
    *) ! is_true strict "$INPUT_STRICT" || strict=--strict ;;
esac
case $INPUT_PULL_REQUEST in
    github | true) pull_request=--pull-request=github ;;
    gitea) pull_request=--pull-request=gitea ;;
    false | '') ;;
    *) fail "pull-request is true, false, github or gitea, not '$INPUT_PULL_REQUEST'" ;;
esac

target=$INPUT_TARGET
if [ -z "$target" ] && [ -n "$INPUT_PUSH_BRANCH$pull_request" ] && [ -z "$INPUT_FILENAMES" ]; then
    target=$GITHUB_SERVER_URL/$GITHUB_REPOSITORY.git
fi
case $target in
    *://*) author=${INPUT_AUTHOR:-github-actions[bot] <41898282+github-actions[bot]@users.noreply.github.com>} ;;
    *) author=$INPUT_AUTHOR ;;
esac

# Of each list a line is an argument.
set -- update --output=json --summary="$report" $dry_run $exit_code $strict $pull_request
while IFS= read -r line; do
    [ -z "$line" ] || set -- "$@" --filename="$line"
done <<END
$INPUT_FILENAMES
END
while IFS= read -r line; do
    [ -z "$line" ] || set -- "$@" --set="$line"
done <<END
$INPUT_SET
END
while IFS= read -r line; do
    [ -z "$line" ] || set -- "$@" "$line"
done <<END
$INPUT_ARGUMENTS
END
[ -z "$INPUT_PUSH_BRANCH" ] || set -- "$@" --push-branch="$INPUT_PUSH_BRANCH"
[ -z "$INPUT_PULL_REQUEST_BASE" ] || set -- "$@" --pull-request-base="$INPUT_PULL_REQUEST_BASE"
[ -z "$author" ] || set -- "$@" --author="$author"
[ -z "$INPUT_MESSAGE" ] || set -- "$@" --message="$INPUT_MESSAGE"
[ -z "$target" ] || set -- "$@" -- "$target"

find_program
give_credentials "$target"
# A cache that is not there would be a warning at the end of the job.
export BUMPWRIGHT_CACHE="${BUMPWRIGHT_CACHE:-$HOME/.cache/bumpwright}" NO_COLOR=1
mkdir -p "$BUMPWRIGHT_CACHE"

# Nothing in the output is a workflow command, whatever is in the repository.
silence=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
echo "::stop-commands::$silence"
code=0
"$program" "$@" >"$document" || code=$?
[ ! -f "$report" ] || cat "$report"
echo "::$silence::"

if [ ! -s "$document" ] || [ ! -f "$report" ]; then
    fail "bumpwright ended with exit code $code before it made a report; its last lines say why"
fi
has_something_to_say=$(jq 'any(.runs[]; (.changes | length > 0) or .error != null or any(.skips[]; .reason != "Commented"))' "$document")
{
    jq -r '"changed=\(any(.runs[]; .changes | length > 0))"' "$document"
    jq -r '"commit=\([.runs[].commit.id // empty] | unique | join(" "))"' "$document"
    jq -r '"pull-request=\([.runs[].pullRequest.url // empty | gsub("[[:cntrl:]]"; "")] | unique | join(" "))"' "$document"
    echo "report=$report"
    echo "json=$document"
} >>"${GITHUB_OUTPUT:-/dev/null}"
cat "$report" >>"${GITHUB_STEP_SUMMARY:-/dev/null}"
if is_true comment "$INPUT_COMMENT"; then
    keep_comment || warn "the comment was not written: it needs a token with 'pull-requests: write', which pull requests of forks do not get"
fi
[ "$code" -ne 2 ] || echo "::error title=bumpwright::$(command_text "$(jq -r '[.runs[] | .error // empty, (.skips[] | select(.reason == "ScanFailed") | .message)][0]' "$document")")"
[ "$code" -ne 3 ] || echo "::error title=bumpwright::a marker was skipped; the summary says which one and why"
[ "$code" -ne 1 ] || echo "::error title=bumpwright::a marked field is behind; the summary says which one"
exit "$code"
