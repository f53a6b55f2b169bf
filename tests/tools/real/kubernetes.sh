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
built kube-apiserver-oldest "$OLDEST_KUBERNETES" oldest_kubernetes_module k8s.io/kubernetes/cmd/kube-apiserver \
    "$(kubernetes_version "$OLDEST_KUBERNETES")"
built kube-apiserver-newest "$NEWEST_KUBERNETES" newest_kubernetes_module k8s.io/kubernetes/cmd/kube-apiserver \
    "$(kubernetes_version "$NEWEST_KUBERNETES")"
