# shellcheck shell=sh
# Registries beside the one of `prepare` (distribution 3): distribution 2, and CUE's; each a program of ours around its handlers.

REGISTRY2=v2.8.3
OCISERVER=v0.0.0-20251212221603-3adeb8663819

registry2_module() { # it has no go.mod: the releases of its libraries are chosen here
    cp "$here/registry2/main.go" . && asking_for github.com/docker/distribution "$REGISTRY2+incompatible" &&
        go mod edit -require=github.com/distribution/reference@v0.5.0 -require=github.com/docker/go-metrics@v0.0.1 \
            -require=github.com/docker/libtrust@v0.0.0-20160708172513-aabc10ec26b7 -require=github.com/garyburd/redigo@v1.6.0 \
            -require=github.com/gorilla/handlers@v1.5.2 -require=github.com/gorilla/mux@v1.8.1 \
            -require=github.com/opencontainers/go-digest@v1.0.0 -require=github.com/opencontainers/image-spec@v1.0.2 \
            -require=github.com/sirupsen/logrus@v1.9.3 -require=golang.org/x/crypto@v0.40.0 -require=gopkg.in/yaml.v2@v2.4.0
}
ociserver_module() {
    cp "$here/ociserver/main.go" . && asking_for cuelabs.dev/go/oci/ociregistry "$OCISERVER"
}
built registry2 "$REGISTRY2" registry2_module . ""
built ociserver "$OCISERVER" ociserver_module . ""
