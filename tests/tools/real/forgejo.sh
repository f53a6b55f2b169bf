# shellcheck shell=sh
# Forgejo as of December 2024, between its versions 9 and 10: the only one that the Go module proxy serves. Some of its libraries are not
# served; those of Gitea and others take their place where Forgejo's are copies of them. Without F3, which nothing here uses.

FORGEJO=v1.21.0-rc0.0.20241219112042-456d05998231
FORGEJO_SAYS=9.0.0-456d05998231+gitea-1.22.0

forgejo_module() {
    cp -R "$(module_copy "codeberg.org/forgejo/forgejo@$FORGEJO")/." . && chmod -R u+w . || return 1
    rm -r services/f3 cmd/forgejo/f3.go tests
    sed -i '/CmdF3(/d' cmd/forgejo/forgejo.go cmd/main.go
    # The same, but for the key of the connection instead of the last one that was offered.
    sed -i 's/session.ConnPermissions()/session.Permissions()/' modules/ssh/ssh.go
    grep -rl code.forgejo.org/ --include='*.go' . | xargs sed -i \
        -e 's#code.forgejo.org/go-chi/captcha#github.com/dchest/captcha#' \
        -e 's#code.forgejo.org/go-chi/#gitea.com/go-chi/#' \
        -e 's#code.forgejo.org/forgejo-contrib/go-libravatar#strk.kbt.io/projects/go/libravatar#' \
        -e 's#code.forgejo.org/forgejo/reply#github.com/dimiro1/reply#'
    for gone in f3/gof3/v3 forgejo-contrib/go-libravatar forgejo/reply go-chi/binding go-chi/cache go-chi/captcha go-chi/session; do
        go mod edit -droprequire="code.forgejo.org/$gone" || return 1
    done
    go mod edit -dropreplace=github.com/mholt/archiver/v3 -dropreplace=github.com/gliderlabs/ssh \
        -replace=github.com/nektos/act=gitea.com/gitea/act@v0.259.1 \
        -require=github.com/dchest/captcha@v1.1.0 \
        -require=gitea.com/go-chi/binding@v0.0.0-20240430071103-39a851e106ed \
        -require=gitea.com/go-chi/cache@v0.2.1 \
        -require=gitea.com/go-chi/session@v0.0.0-20240316035857-16768d98ec96 \
        -require=github.com/dimiro1/reply@v0.0.0-20200315094148-d0136a4c9e21 \
        -require=strk.kbt.io/projects/go/libravatar@v0.0.0-20191008002943-06d1c002b251
}
tags=sqlite,sqlite_unlock_notify
built forgejo "$FORGEJO" forgejo_module . "-X main.Version=$FORGEJO_SAYS -X main.ForgejoVersion=$FORGEJO_SAYS"
tags=
forge_files forgejo "$FORGEJO" codeberg.org/forgejo/forgejo
