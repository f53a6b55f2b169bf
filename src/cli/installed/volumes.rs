//! The volumes that processes with `--shards` leave: they are a user's to delete.

use crate::cli::install::rollout::SELECTOR;
use bumpwright_kube::{Cluster, ClusterError, PERSISTENT_VOLUME_CLAIM, Resource};

/// What their names begin with: that of the volume in the claim template, and of the StatefulSet.
const CLAIM: &str = "data-bumpwright-";

/// Those of the claims in a namespace that belong to pods with this number or a higher one, in their order.
pub(crate) async fn from_member(cluster: &Cluster, namespace: &str, first: u32) -> Result<Vec<String>, ClusterError> {
    let claims = Resource::of(&PERSISTENT_VOLUME_CLAIM, true);
    let claims = cluster.stamps(&claims, namespace, SELECTOR).await?;
    Ok(from(claims.iter().map(|claim| claim.name.as_str()), first))
}

fn from<'a>(names: impl Iterator<Item = &'a str>, first: u32) -> Vec<String> {
    let numbered = names.filter_map(|name| {
        let number: u32 = name.strip_prefix(CLAIM)?.parse().ok()?;
        (number >= first).then_some((number, name))
    });
    let mut numbered: Vec<(u32, &str)> = numbered.collect();
    numbered.sort_unstable();
    numbered.into_iter().map(|(_, name)| name.to_owned()).collect()
}

/// What is said of them; None when there are none.
pub(crate) fn told(namespace: &str, names: &[String]) -> Option<String> {
    let (is, it) = match names {
        [] => return None,
        [_] => ("is", "it"),
        _ => ("are", "them"),
    };
    Some(format!(
        "persistentvolumeclaim/{} {is} left: no process has {it} now, and one of the same name would take {it} again; to delete {it}: kubectl -n \
         {namespace} delete persistentvolumeclaim {}",
        names.join(", "),
        names.join(" ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn volumes_are_those_of_pods_that_are_not_there() {
        let names = [
            "data-bumpwright-10",
            "data-bumpwright-2",
            "data-bumpwright-1",
            "data-other-3",
            "data-bumpwright-x",
        ];
        assert_eq!(from(names.into_iter(), 2), ["data-bumpwright-2", "data-bumpwright-10"]);
        assert_eq!(told("images", &[]), None);
        let told = told("images", &["data-bumpwright-2".to_owned()]).unwrap_or_default();
        assert!(
            told.ends_with("to delete it: kubectl -n images delete persistentvolumeclaim data-bumpwright-2"),
            "{told}"
        );
    }
}
