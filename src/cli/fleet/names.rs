//! `--output names`: a line for each object.

use std::fmt::Write as _;

use bumpwright_fleet::{Fleet, FleetObject, Node};
use bumpwright_text::Cuts;

/// `NAMESPACE/NAME<TAB>group/version/Kind/namespace/name` for each object; cluster-scoped objects have an empty
/// namespace, the core group is empty.
pub(super) fn render(fleets: &[Fleet], is_wanted: &dyn Fn(&Node) -> bool) -> String {
    let mut out = String::new();
    for fleet in fleets {
        for node in fleet.nodes.iter().filter(|node| is_wanted(node)) {
            for object in node.objects() {
                let _ = writeln!(out, "{}\t{}", node.shown(), title(object));
            }
        }
    }
    out
}

/// `group/version/Kind/namespace/name`.
fn title(object: &FleetObject) -> String {
    let (id, version) = (object.id(), object.api_version());
    let version = version.behind_last('/');
    [&id.group, version, &id.kind, &id.name.namespace, &id.name.name].join("/")
}
