#!/bin/sh
# Whether action.yml keeps mirrors between runs, as outputs `keep` and `of`. Whoever may open a pull request can read the caches of the
# branch that it is for, from a fork too; so by default only the mirror of this very repository is kept, which they can read anyway.
set -eu

own=$GITHUB_SERVER_URL/$GITHUB_REPOSITORY
of=others
# Manifests name repositories, and arguments may name manifests (-f).
is_of_manifests() {
    [ -n "$INPUT_FILENAMES" ] || case $INPUT_ARGUMENTS in *-f*) ;; *) return 1 ;; esac
}
if ! is_of_manifests; then
    case $INPUT_TARGET in
        '') case $INPUT_PUSH_BRANCH/$INPUT_PULL_REQUEST in /false | /) of=none ;; *) of=own ;; esac ;;
        "$own" | "$own/" | "$own.git") of=own ;;
        *://* | *@*:*) ;;
        # A folder has no mirror.
        *) of=none ;;
    esac
fi

case $INPUT_CACHE in
    auto | true | false | '') ;;
    *)
        echo "::error title=bumpwright::cache is auto, true or false"
        exit 2
        ;;
esac
keep=false
case ${INPUT_CACHE:-auto}/$of in
    true/own | true/others | auto/own) keep=true ;;
esac
if [ "$keep/$of" = true/others ]; then
    echo "::notice title=bumpwright::cache: everybody who may open a pull request here can read the mirrors of the other repositories"
fi
printf 'keep=%s\nof=%s\n' "$keep" "$of" >>"${GITHUB_OUTPUT:-/dev/null}"
