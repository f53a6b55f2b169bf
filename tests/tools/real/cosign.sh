# shellcheck shell=sh
# cosign, whose two majors keep signatures in different places.

COSIGN2=v2.6.5
COSIGN3=v3.1.3

cosign2_module() {
    asking_for github.com/sigstore/cosign/v2 "$COSIGN2"
}
cosign3_module() {
    asking_for github.com/sigstore/cosign/v3 "$COSIGN3" && go mod edit -go=1.26.0
}
built cosign2 "$COSIGN2" cosign2_module github.com/sigstore/cosign/v2/cmd/cosign "-X sigs.k8s.io/release-utils/version.gitVersion=$COSIGN2"
built cosign3 "$COSIGN3" cosign3_module github.com/sigstore/cosign/v3/cmd/cosign "-X sigs.k8s.io/release-utils/version.gitVersion=$COSIGN3"
