//! Access to objects of other namespaces (`spec.accessFrom`; fluxcd/pkg `runtime/acl`).

use bumpwright_api::{AccessFrom, LabelSelector, ObjectName};
use bumpwright_kube::{Cluster, ClusterError, NAMESPACE};

/// Why access is denied.
#[derive(Debug)]
pub(crate) enum Denied {
    /// The object does not allow it.
    Denied(String),
    /// The namespace could not be read.
    Unknown(ClusterError),
}

/// Checks whether objects of the namespace `from` may use the object `name`.
pub(crate) async fn check(
    cluster: &Cluster,
    from: &str,
    name: &ObjectName,
    access: Option<&AccessFrom>,
) -> Result<(), Denied> {
    if from == name.namespace {
        return Ok(());
    }
    let Some(access) = access else {
        return Err(Denied::Denied(format!(
            "'{name}' can't be accessed due to missing ACL labels on 'accessFrom'"
        )));
    };
    let namespace = cluster
        .get(&NAMESPACE, &ObjectName::new("", from))
        .await
        .map_err(Denied::Unknown)?;
    let mut selectors = access.namespace_selectors.iter().map(LabelSelector::from);
    if selectors.any(|selector| selector.matches(&namespace.labels).unwrap_or(false)) {
        return Ok(());
    }
    Err(Denied::Denied(format!(
        "'{name}' can't be accessed due to ACL labels mismatch on namespace '{from}'"
    )))
}
