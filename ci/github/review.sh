#!/bin/sh
# What review/action.yml runs: a review of the change that a workflow is for, in its log, in annotations, in its summary, in files and, if it
# may write, in one comment. The program does all of it in one run.
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
fail_on=$INPUT_FAIL_ON
[ "$fail_on" != never ] || fail_on=error

set -- fleet review --from="$from" --to="$INPUT_TO" --fail-on="$fail_on" --output=text --output=markdown="$report" \
    --output=github="$work/annotations" --output=sarif="$work/review.sarif" --output=html="$work/review.html"
if is_true comment "$INPUT_COMMENT"; then
    set -- "$@" --comment
    [ -z "$INPUT_COMMENT_ID" ] || set -- "$@" --comment-name="$INPUT_COMMENT_ID"
fi
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

silently "$program" "$@"
verdict=$code
if [ "$verdict" -gt 1 ] || [ ! -s "$report" ]; then
    fail "bumpwright ended with exit code $verdict before it made a review; its last lines say why"
fi
# These are the workflow commands of the program itself, which escapes what is in the repository.
cat "$work/annotations"
cat "$report" >>"${GITHUB_STEP_SUMMARY:-/dev/null}"
changed=true
if grep -qxF '## Nothing changes in the clusters' "$report" && grep -q '^New with this change: no findings' "$report"; then
    changed=false
fi
{
    echo "report=$report"
    echo "sarif=$work/review.sarif"
    echo "html=$work/review.html"
    echo "changed=$changed"
} >>"${GITHUB_OUTPUT:-/dev/null}"
[ "$INPUT_FAIL_ON" != never ] || verdict=0
exit "$verdict"
