# shellcheck shell=sh
# Gitea, a forge with SQLite inside, and the templates and texts that it reads from a folder unless they are embedded.
# Without the importers from GitLab and from other Giteas, whose libraries are not served everywhere under their names.

GITEA=v1.27.3
ACTIONS_PROTO=v0.6.0 # the same module under its older name

gitea_copy() { # where its module is
    go mod download -json "code.gitea.io/gitea@$GITEA" | sed -n 's/.*"Dir": "\(.*\)",*/\1/p'
}
gitea_module() {
    cp -R "$(gitea_copy)/." . && chmod -R u+w . &&
        rm services/migrations/gitlab*.go services/migrations/gitea_downloader*.go &&
        go mod edit -droprequire=gitlab.com/gitlab-org/api/client-go/v2 -droprequire=gitea.dev/sdk \
            -replace="gitea.dev/actions-proto-go=code.gitea.io/actions-proto-go@$ACTIONS_PROTO"
}
gitea_files() {
    [ -d "$tools/gitea-files-$GITEA" ] && return
    get_go || return 1
    mkdir -p "$tools"
    made=$(mktemp -d "$tools/.making.XXXXXX")
    copy=$(cd "$made" && gitea_copy)
    cp -R "$copy/templates" "$copy/options" "$made" && chmod -R u+w "$made" && chmod 755 "$made" &&
        mv "$made" "$tools/gitea-files-$GITEA"
}
built gitea "$GITEA" gitea_module . "-X main.Version=${GITEA#v}"
there=0
gitea_files || there=1
settle gitea-files "$GITEA" "$there"
