//! The feature gates, from the list by which `--feature-gates` is read.

use bumpwright_controllers::{GateDescription, Gates};

use super::markdown::{generated, item, names};

/// `feature-gates.md`.
pub fn page() -> String {
    let mut page = "# Feature gates\n\n".to_owned();
    page.push_str(&generated("the gates of the program"));
    page.push_str(
        "`bumpwright controller --feature-gates NAME=true,OTHER=false`; several flags add up, and later ones win. Flux's defaults are\n\
         those of image-automation-controller and image-reflector-controller v1.2.4, source-controller and\n\
         kustomize-controller v1.10.1. Numbers are rules and decisions: [behaviour](../behaviour/README.md),\n\
         [decisions](../decisions.md).\n\n",
    );
    page.extend(Gates::describe().iter().map(entry));
    page.push_str(&format!(
        "\nGates of Flux that are accepted without effect:\n{}.\n",
        names(Gates::without_effect().iter().copied())
    ));
    page
}

fn entry(gate: &GateDescription) -> String {
    let word = |on: bool| if on { "on" } else { "off" };
    let default = match gate.flux {
        None => format!("{}, not in Flux", word(gate.default)),
        Some(flux) if flux == gate.default => format!("{}, as in Flux", word(gate.default)),
        Some(flux) => format!("{}; in Flux {}", word(gate.default), word(flux)),
    };
    item(gate.name, &format!("({default}) {}", gate.effect))
}
