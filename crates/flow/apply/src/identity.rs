//! Which object is meant, whatever version it is written in: as inventories and messages name it.

use std::fmt;

use serde_json::Value;

use bumpwright_api::ObjectName;
use bumpwright_kube::GroupVersionKind;

/// An object of a kind, at any version (cli-utils `object.ObjMetadata`).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectId {
    /// Namespace (empty for objects of the cluster) and name.
    pub name: ObjectName,
    /// API group; empty for the core group.
    pub group: String,
    /// The name of the kind.
    pub kind: String,
}

/// An id of an inventory that is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unable to parse stored object metadata: {0}")]
pub struct InvalidId(pub String);

/// Kinds whose names may hold colons, which an id does not have.
const RBAC: &str = "rbac.authorization.k8s.io";
const RBAC_KINDS: [&str; 4] = ["Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding"];

impl ObjectId {
    /// Of a manifest, or of what the server has.
    #[must_use]
    pub fn of(object: &Value) -> Self {
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let gvk = GroupVersionKind::of(object);
        Self {
            name: ObjectName::new(text("/metadata/namespace"), text("/metadata/name")),
            group: gvk.group,
            kind: gvk.kind,
        }
    }

    /// Reads `<namespace>_<name>_<group>_<kind>`; `__` in the name is a colon (K-209, C11).
    ///
    /// # Errors
    /// [`InvalidId`]
    pub fn parse(id: &str) -> Result<Self, InvalidId> {
        let invalid = || InvalidId(id.to_owned());
        let (namespace, rest) = id.split_once('_').ok_or_else(invalid)?;
        // Words as cli-utils has them: what is left of the id when it turns out to be none.
        let invalid = || InvalidId(rest.to_owned());
        let (rest, kind) = rest.rsplit_once('_').ok_or_else(invalid)?;
        let invalid = || InvalidId(rest.to_owned());
        let (name, group) = rest.rsplit_once('_').ok_or_else(invalid)?;
        Ok(Self {
            name: ObjectName::new(namespace, name.replace("__", ":")),
            group: group.to_owned(),
            kind: kind.to_owned(),
        })
    }

    /// As messages name it: `Kind/namespace/name`, or `Kind/name`.
    #[must_use]
    pub fn subject(&self) -> String {
        match self.name.namespace.as_str() {
            "" => format!("{}/{}", self.kind, self.name.name),
            namespace => format!("{}/{namespace}/{}", self.kind, self.name.name),
        }
    }

    /// The kind at a version.
    #[must_use]
    pub fn at(&self, version: &str) -> GroupVersionKind {
        GroupVersionKind {
            group: self.group.clone(),
            version: version.to_owned(),
            kind: self.kind.clone(),
        }
    }
}

/// As inventories write it.
impl fmt::Display for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_rbac = self.group == RBAC && RBAC_KINDS.contains(&self.kind.as_str());
        let ObjectName { namespace, name } = &self.name;
        match is_rbac {
            true => write!(
                f,
                "{namespace}_{}_{}_{}",
                name.replace(':', "__"),
                self.group,
                self.kind
            ),
            false => write!(f, "{namespace}_{name}_{}_{}", self.group, self.kind),
        }
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
            let parsed = ObjectId::parse(id).unwrap();
            assert_eq!(parsed.to_string(), id);
            assert_eq!(parsed.subject(), subject);
        }
    }

    #[test]
    fn what_is_no_id_is_refused() {
        for (id, words) in [
            ("a", "unable to parse stored object metadata: a"),
            ("a_b", "unable to parse stored object metadata: b"),
            ("a_b_c", "unable to parse stored object metadata: b"),
        ] {
            assert_eq!(ObjectId::parse(id).unwrap_err().to_string(), words);
        }
    }
}
