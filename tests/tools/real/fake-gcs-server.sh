# shellcheck shell=sh
# Google Cloud Storage's JSON API, which Google has no program of.
FAKE_GCS=v1.56.1 # wants Go 1.26

optional fake-gcs-server "$FAKE_GCS" github.com/fsouza/fake-gcs-server
