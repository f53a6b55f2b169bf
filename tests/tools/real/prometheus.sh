# shellcheck shell=sh
# Prometheus with promtool, and Grafana's own types of a dashboard.
PROMETHEUS=3.16.0      # the Go module is v0.316.0
GRAFANA_SDK=v0.0.22    # grafana-foundation-sdk

prometheus_module() {
    asking_for github.com/prometheus/prometheus "v0.3${PROMETHEUS#3.}"
}
grafana_module() { # a program of ours around Grafana's types
    cp "$here/grafana/main.go" . && asking_for github.com/grafana/grafana-foundation-sdk/go "$GRAFANA_SDK"
}
# The tests' targets are listed; a dozen clouds' ways to find others take most of the time to build.
tags=remove_all_sd
version=github.com/prometheus/common/version
built prometheus "v$PROMETHEUS" prometheus_module github.com/prometheus/prometheus/cmd/prometheus "-X $version.Version=$PROMETHEUS"
built promtool "v$PROMETHEUS" prometheus_module github.com/prometheus/prometheus/cmd/promtool "-X $version.Version=$PROMETHEUS"
tags=
built grafana-dashboard "$GRAFANA_SDK" grafana_module . ""
