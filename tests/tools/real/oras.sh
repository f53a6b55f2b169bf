# shellcheck shell=sh
# oras, which pushes artifacts of any media types.

ORAS=v1.3.6 # wants Go 1.26

optional oras "$ORAS" oras.land/oras/cmd/oras
