#!/bin/sh
# What action.yml runs: its inputs come as variables (INPUT_…), and none of them is ever a part of a command. Secrets stay in the
# environment: no program gets one as an argument.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "${RUNNER_TEMP:=/tmp}"
work=$(mktemp -d "$RUNNER_TEMP/bumpwright.XXXXXX")
report=$work/report.md
document=$work/report.json
comment=$work/comment.json
. "$here/parts.sh"

command -v jq >/dev/null || fail "jq is needed; the runners of GitHub have it"

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

update() {
    made=0
    "$program" "$@" >"$document" || made=$?
    [ ! -f "$report" ] || cat "$report"
    return "$made"
}
silently update "$@"

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
    keep_comment report || warn "the comment was not written: it needs a token with 'pull-requests: write', which pull requests of forks do not get"
fi
[ "$code" -ne 2 ] || echo "::error title=bumpwright::$(command_text "$(jq -r '[.runs[] | .error // empty, (.skips[] | select(.reason == "ScanFailed") | .message)][0]' "$document")")"
[ "$code" -ne 3 ] || echo "::error title=bumpwright::a marker was skipped; the summary says which one and why"
[ "$code" -ne 1 ] || echo "::error title=bumpwright::a marked field is behind; the summary says which one"
exit "$code"
