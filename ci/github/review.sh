#!/bin/sh
# What review/action.yml runs: a review of the change that a workflow is for, in its summary and, if it may write, in one comment.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "${RUNNER_TEMP:=/tmp}"
work=$(mktemp -d "$RUNNER_TEMP/bumpwright.XXXXXX")
report=$work/review.md
. "$here/parts.sh"

# The branch that the pull request is for, as the checkout has it.
base() {
    [ -z "$INPUT_FROM" ] || { echo "$INPUT_FROM"; return; }
    [ -n "${GITHUB_BASE_REF:-}" ] || fail "from: this is no pull request; name the revision that the change is for"
    echo "origin/$GITHUB_BASE_REF"
}

from=$(base) || { echo "$from"; exit 2; }
case $INPUT_FAIL_ON in
    error | warning | note | never) ;;
    *) fail "fail-on is error, warning, note or never, not '$INPUT_FAIL_ON'" ;;
esac
is_wanted=false
! is_true comment "$INPUT_COMMENT" || is_wanted=true
fail_on=$INPUT_FAIL_ON
[ "$fail_on" != never ] || fail_on=error

set -- fleet review --from="$from" --to="$INPUT_TO" --fail-on="$fail_on"
# Of each list a line is an argument, and the patterns of entries are those of files.
while IFS= read -r line; do
    [ -z "$line" ] || set -- "$@" "$line"
done <<END
$INPUT_ARGUMENTS
END
set -- "$@" --
while IFS= read -r line; do
    [ -n "$line" ] || continue
    # A pattern in one line is expanded; blanks are a part of it.
    IFS=''
    for entry in $line; do
        set -- "$@" "$entry"
    done
    unset IFS
done <<END
$INPUT_ENTRIES
END

find_program
give_credentials ""
export BUMPWRIGHT_CACHE="${BUMPWRIGHT_CACHE:-$HOME/.cache/bumpwright}" NO_COLOR=1
mkdir -p "$BUMPWRIGHT_CACHE"

formatted() { # output format, where it goes, arguments of the program
    format=$1 file=$2
    shift 2
    # Options come before the entries.
    command=$1 action=$2
    shift 2
    "$program" "$command" "$action" --output="$format" "$@" >"$file"
}
silently formatted markdown "$report" "$@"
verdict=$code
if [ "$verdict" -gt 1 ] || [ ! -s "$report" ]; then
    fail "bumpwright ended with exit code $verdict before it made a review; its last lines say why"
fi
# Annotations: these are the workflow commands of the program itself, which escapes what is in the repository.
formatted github "$work/annotations" "$@" || true
cat "$work/annotations"
cat "$report" >>"${GITHUB_STEP_SUMMARY:-/dev/null}"
has_something_to_say=true
if grep -qxF '## Nothing changes in the clusters' "$report" && grep -q '^New with this change: no findings' "$report"; then
    has_something_to_say=false
fi
{
    echo "report=$report"
    echo "changed=$has_something_to_say"
} >>"${GITHUB_OUTPUT:-/dev/null}"
if [ "$is_wanted" = true ]; then
    keep_comment review || warn "the comment was not written: it needs a token with 'pull-requests: write', which pull requests of forks do not get; the review is in the summary of the job"
fi
[ "$INPUT_FAIL_ON" != never ] || verdict=0
exit "$verdict"
