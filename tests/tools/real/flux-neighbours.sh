# shellcheck shell=sh
# What stays Flux's beside our controllers (tests/real/flux_neighbours.rs, tests/real/flux_cli.rs): its helm-controller reads our sources,
# its notification-controller delivers our events and asks for our sources; with the definitions that they and its CLI know.
HELM_CONTROLLER=v1.6.4         # of Flux 2.9.5
NOTIFICATION_CONTROLLER=v1.9.3 # of Flux 2.9; the v1.9.4 of 2.9.5 is not served everywhere
NEIGHBOUR_APPLIER=v1.9.5       # kustomize-controller, as in `prepare`: for its definition

helm_controller_module() {
    flux_controller_module helm-controller "$HELM_CONTROLLER"
}
notification_controller_module() {
    flux_controller_module notification-controller "$NOTIFICATION_CONTROLLER"
}
built notification-controller "$NOTIFICATION_CONTROLLER" notification_controller_module . ""
built helm-controller "$HELM_CONTROLLER" helm_controller_module . ""

neighbour_crds() {
    [ -d "$tools/flux-neighbour-crds-$HELM_CONTROLLER" ] && return
    get_go || return 1
    mkdir -p "$tools"
    made=$(mktemp -d "$tools/.making.XXXXXX")
    for module in "helm-controller@$HELM_CONTROLLER" "notification-controller@$NOTIFICATION_CONTROLLER" "kustomize-controller@$NEIGHBOUR_APPLIER"; do
        copy=$(cd "$made" && module_copy "github.com/fluxcd/$module")
        cp "$copy"/config/crd/bases/*.yaml "$made" || return 1
    done
    chmod -R u+w "$made" && chmod 755 "$made" && mv "$made" "$tools/flux-neighbour-crds-$HELM_CONTROLLER"
}
there=0
neighbour_crds || there=1
settle flux-neighbour-crds "$HELM_CONTROLLER" "$there"
