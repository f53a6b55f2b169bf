# shellcheck shell=sh
# flate, which renders the fleets of Flux offline, with Helm as a library.

FLATE=v0.6.5 # wants Go 1.27

optional flate "$FLATE" github.com/home-operations/flate/cmd/flate
