#!/bin/sh
# What action.yml runs: its inputs come as variables (INPUT_…), and none of them is ever a part of a command. Secrets stay in the
# environment: no program gets one as an argument.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "${RUNNER_TEMP:=/tmp}"
work=$(mktemp -d "$RUNNER_TEMP/bumpwright.XXXXXX")
report=$work/report.md
document=$work/report.json
. "$here/parts.sh"

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
