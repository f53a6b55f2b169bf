# shellcheck shell=sh
# API servers of the oldest and the newest minor version that are supported; `prepare` has the one of all other tests.
OLDEST_KUBERNETES=v1.33.13
NEWEST_KUBERNETES=v1.37.2

oldest_kubernetes_module() {
    kubernetes_modules "$OLDEST_KUBERNETES"
}
newest_kubernetes_module() {
    kubernetes_modules "$NEWEST_KUBERNETES"
}
kubernetes_version() { # version: what the program says of itself
    minor=${1#v1.}
    version=k8s.io/component-base/version
    echo "-X $version.gitVersion=$1 -X $version.gitMajor=1 -X $version.gitMinor=${minor%.*}"
}
built kube-apiserver-oldest "$OLDEST_KUBERNETES" oldest_kubernetes_module k8s.io/kubernetes/cmd/kube-apiserver \
    "$(kubernetes_version "$OLDEST_KUBERNETES")"
built kube-apiserver-newest "$NEWEST_KUBERNETES" newest_kubernetes_module k8s.io/kubernetes/cmd/kube-apiserver \
    "$(kubernetes_version "$NEWEST_KUBERNETES")"
