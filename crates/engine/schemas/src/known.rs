//! Whether a kind is served in a version, and what to write where it is not.

use super::crd::Crd;
use super::removed::removed;
use super::table::{self, Table, group_of};
use bumpwright_nearest::nearest;
use bumpwright_text::Cuts;

/// What is known of a kind in a version of its group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Known {
    Served,
    /// The kind is served in other versions.
    OtherVersion {
        /// Their apiVersions, the one to prefer first: `policy/v1`.
        served: Vec<String>,
        /// When this version is served.
        when: When,
    },
    /// The kind was removed, in all versions.
    Removed {
        /// The minor version of Kubernetes from which on it is not: `1.25`.
        since: String,
    },
    /// Nothing is known of it.
    Unknown,
}

/// When a version is served that the chosen minor version of Kubernetes does not serve.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum When {
    /// Until before this minor version.
    Before(String),
    /// From this minor version on.
    From(String),
    /// In no minor version that is known.
    Never,
}

/// What Kubernetes itself knows of a kind.
pub(crate) fn builtin(table: &Table, api_version: &str, kind: &str) -> Known {
    let kinds = table.kinds_named(kind);
    let version = kinds.iter().find(|one| one.api_version == api_version);
    if version.is_some_and(|one| one.is_served_by(table.minor)) {
        return Known::Served;
    }
    let (when, now) = match removed(api_version, kind) {
        Some((since, None)) => {
            return Known::Removed {
                since: since.to_owned(),
            };
        }
        Some((since, now)) => (When::Before(since.to_owned()), now),
        None => (
            version.map_or(When::Never, |one| when(table, |minor| one.is_served_by(minor))),
            None,
        ),
    };
    let group = now.map_or_else(|| group_of(api_version), group_of);
    let others = kinds.iter().filter(|one| group_of(one.api_version) == group);
    let others = others.filter(|one| one.is_served_by(table.minor));
    let served = preferred(others.map(|one| one.api_version.to_owned()).collect());
    match (served.is_empty(), when) {
        (false, when) => Known::OtherVersion { served, when },
        (true, When::Before(since)) => Known::Removed { since },
        (true, When::From(since)) => Known::OtherVersion {
            served,
            when: When::From(since),
        },
        (true, When::Never) => Known::Unknown,
    }
}

/// When a version is served that this minor version does not serve: before it, or after it.
fn when(table: &Table, is_served: impl Fn(usize) -> bool) -> When {
    let minors: Vec<(usize, &str)> = table::minors().enumerate().collect();
    let (before, after) = minors.split_at(table.minor.min(minors.len()));
    if let Some((_, minor)) = after.iter().find(|(at, _)| is_served(*at)) {
        return When::From((*minor).to_owned());
    }
    let last = before.iter().rposition(|(at, _)| is_served(*at));
    match last.and_then(|last| minors.get(last + 1)) {
        Some((_, minor)) => When::Before((*minor).to_owned()),
        None => When::Never,
    }
}

/// What a CustomResourceDefinition knows of its kind.
pub(crate) fn custom(crd: &Crd, version: &str) -> Known {
    let served = crd.versions.iter().filter(|one| one.served);
    if served.clone().any(|one| one.name == version) {
        return Known::Served;
    }
    let others = served.map(|one| format!("{}/{}", crd.group, one.name));
    Known::OtherVersion {
        served: preferred(others.collect()),
        when: When::Never,
    }
}

/// Sorted as Kubernetes does: stable versions first, then beta, then alpha, and the newest of each first.
fn preferred(mut api_versions: Vec<String>) -> Vec<String> {
    api_versions.sort_by_key(|one| std::cmp::Reverse(priority(one)));
    api_versions
}

fn priority(api_version: &str) -> (u8, u32, u32) {
    let version = api_version.behind_last('/');
    let number = |text: &str| text.parse().unwrap_or_default();
    let version = version.strip_prefix('v').unwrap_or_default();
    for (word, stage) in [("beta", 1), ("alpha", 0)] {
        if let Some((major, minor)) = version.split_once(word) {
            return (stage, number(major), number(minor));
        }
    }
    (2, number(version), 0)
}

/// What is wrong with the version of an object, and the way out; none if it is served, or of no kind that is known.
pub(crate) fn fault(known: &Known, table: &Table, api_version: &str, kind: &str) -> Option<String> {
    match known {
        Known::Served => None,
        Known::OtherVersion { served, when } => {
            let when = match when {
                When::Before(minor) => format!("not served since Kubernetes {minor}"),
                When::From(minor) => format!("served from Kubernetes {minor} on, and not before"),
                When::Never => "not served".to_owned(),
            };
            let instead = match served.as_slice() {
                [] => String::new(),
                [first, ..] => format!("; write it as {first}"),
            };
            Some(format!("{api_version} {kind} is {when}{instead}"))
        }
        Known::Removed { since } => Some(format!("{api_version} {kind} is not served since Kubernetes {since}")),
        Known::Unknown => {
            let group = group_of(api_version);
            let mut kinds = table.kinds_in(group).peekable();
            kinds.peek()?;
            let hint = nearest(kind, kinds).map_or_else(String::new, |near| format!(": did you mean {near}?"));
            Some(format!("{api_version} has no kind {kind}{hint}"))
        }
    }
}
