//! The owner of an object, by its field managers.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::cli::error::CliError;
use crate::cli::install::MANAGER;
use crate::cli::installed::{at, items};

/// The owner of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::cli) enum Owner {
    /// `bumpwright install` made it, or took it over.
    Install,
    /// Other field managers.
    Other(String),
}

/// The owner of an object. Another manager of a field, such as its replicas, does not own it.
pub(in crate::cli) fn of(object: &Value) -> Owner {
    match managers(object, |_| true) {
        managers if managers.contains(MANAGER) => Owner::Install,
        managers => Owner::Other(named(&managers)),
    }
}

/// The owner of an object that several installations may need: a definition, the namespace. It is not ours once another
/// client manages it as well.
pub(super) fn of_shared(object: &Value, field: &str) -> Owner {
    let mut others = managers(object, |entry| entry.pointer(&format!("/fieldsV1/f:{field}")).is_some());
    others.remove(MANAGER);
    match of(object) {
        Owner::Install if !others.is_empty() => Owner::Other(named(&others)),
        owner => owner,
    }
}

/// The managers of an object but for its status.
fn managers(object: &Value, is_wanted: impl Fn(&Value) -> bool) -> BTreeSet<&str> {
    items(object, "/metadata/managedFields")
        .filter(|entry| at(entry, "/subresource").is_empty() && is_wanted(entry))
        .map(|entry| at(entry, "/manager"))
        .collect()
}

/// That somebody else made an object.
pub(in crate::cli) fn foreign(object: &str, who: &str) -> CliError {
    CliError::new(format!(
        "{object} was not made by `bumpwright install` but by {who}: remove it with that tool"
    ))
}

fn named(managers: &BTreeSet<&str>) -> String {
    if managers.is_empty() {
        "an unknown client".to_owned()
    } else {
        managers.iter().copied().collect::<Vec<_>>().join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_owner_is_the_client_that_applied_an_object() {
        let entry = |manager: &str, field: &str, subresource: &str| json!({"manager": manager, "fieldsV1": {format!("f:{field}"): {}}, "subresource": subresource});
        let object = |entries: &[Value]| json!({"metadata": {"managedFields": entries}});
        let ours = object(&[
            entry("bumpwright", "spec", ""),
            entry("kube-apiserver", "status", "status"),
        ]);
        assert_eq!((of(&ours), of_shared(&ours, "spec")), (Owner::Install, Owner::Install));
        let both = object(&[entry("bumpwright", "spec", ""), entry("flux", "spec", "")]);
        assert_eq!(
            (of(&both), of_shared(&both, "spec")),
            (Owner::Install, Owner::Other("flux".to_owned()))
        );
        let theirs = object(&[entry("helm", "spec", "")]);
        assert_eq!(of_shared(&theirs, "spec"), Owner::Other("helm".to_owned()));
        assert_eq!(of(&json!({})), Owner::Other("an unknown client".to_owned()));
    }
}
