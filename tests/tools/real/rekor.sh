# shellcheck shell=sh
# Rekor 2, sigstore's transparency log, with its tiles in a folder.

REKOR=v2.3.0 # the newest for Go 1.25; v2.4 wants 1.27

rekor_module() {
    asking_for github.com/sigstore/rekor-tiles/v2 "$REKOR"
}
built rekor "$REKOR" rekor_module github.com/sigstore/rekor-tiles/v2/cmd/rekor-server/posix ""
