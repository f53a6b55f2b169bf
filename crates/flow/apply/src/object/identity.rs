//! Object ids as written in inventories, and kinds at a version.

use bumpwright_api::{ObjectId, ObjectName};
use bumpwright_kube::GroupVersionKind;

/// An inventory id that is not valid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unable to parse stored object metadata: {0}")]
pub struct InvalidId(pub String);

/// Kinds whose names may contain colons, which an id cannot.
const RBAC: &str = "rbac.authorization.k8s.io";
const RBAC_KINDS: [&str; 4] = ["Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding"];

/// Reads `<namespace>_<name>_<group>_<kind>`; `__` in the name is a colon (K-209, C11).
pub(crate) fn parse_id(id: &str) -> Result<ObjectId, InvalidId> {
    let invalid = || InvalidId(id.to_owned());
    let (namespace, rest) = id.split_once('_').ok_or_else(invalid)?;
    // Error texts of cli-utils: the rest of the id at the point where parsing failed.
    let invalid = || InvalidId(rest.to_owned());
    let (rest, kind) = rest.rsplit_once('_').ok_or_else(invalid)?;
    let invalid = || InvalidId(rest.to_owned());
    let (name, group) = rest.rsplit_once('_').ok_or_else(invalid)?;
    Ok(ObjectId {
        name: ObjectName::new(namespace, name.replace("__", ":")),
        group: group.to_owned(),
        kind: kind.to_owned(),
    })
}

/// Formats the id for an inventory.
pub(crate) fn written_id(id: &ObjectId) -> String {
    let ObjectName { namespace, name } = &id.name;
    let is_rbac = id.group == RBAC && RBAC_KINDS.contains(&id.kind.as_str());
    let name = if is_rbac { name.replace(':', "__") } else { name.clone() };
    format!("{namespace}_{name}_{}_{}", id.group, id.kind)
}

/// The kind of an object at a version.
pub(crate) fn at(id: &ObjectId, version: &str) -> GroupVersionKind {
    GroupVersionKind {
        group: id.group.clone(),
        version: version.to_owned(),
        kind: id.kind.clone(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// K-209: ids of the document's example, and of cluster-wide roles with colons.
    #[test]
    fn ids_are_written_and_read() {
        for (id, subject) in [
            ("default_podinfo__Service", "Service/default/podinfo"),
            ("default_podinfo_apps_Deployment", "Deployment/default/podinfo"),
            ("_apps__Namespace", "Namespace/apps"),
            (
                "_x-cr__view_rbac.authorization.k8s.io_ClusterRole",
                "ClusterRole/x-cr:view",
            ),
        ] {
            let parsed = parse_id(id).unwrap();
            assert_eq!(written_id(&parsed), id);
            assert_eq!(parsed.to_string(), subject);
        }
    }

    #[test]
    fn what_is_no_id_is_refused() {
        for (id, words) in [
            ("a", "unable to parse stored object metadata: a"),
            ("a_b", "unable to parse stored object metadata: b"),
            ("a_b_c", "unable to parse stored object metadata: b"),
        ] {
            assert_eq!(parse_id(id).unwrap_err().to_string(), words);
        }
    }
}
