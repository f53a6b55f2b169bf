# shellcheck shell=sh
# Gitea, a forge with SQLite inside, and the templates and texts that it reads from a folder unless they are embedded.
# Without the importers from GitLab and from other Giteas, whose libraries are not served everywhere under their names.

GITEA=v1.27.3
ACTIONS_PROTO=v0.6.0 # the same module under its older name

gitea_module() {
    cp -R "$(module_copy "code.gitea.io/gitea@$GITEA")/." . && chmod -R u+w . &&
        rm services/migrations/gitlab*.go services/migrations/gitea_downloader*.go &&
        go mod edit -droprequire=gitlab.com/gitlab-org/api/client-go/v2 -droprequire=gitea.dev/sdk \
            -replace="gitea.dev/actions-proto-go=code.gitea.io/actions-proto-go@$ACTIONS_PROTO"
}
built gitea "$GITEA" gitea_module . "-X main.Version=${GITEA#v}"
forge_files gitea "$GITEA" code.gitea.io/gitea
