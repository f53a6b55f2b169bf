//! Why objects are not ready: because of others, which are reported instead, or because they wait for each other.

use std::collections::{BTreeMap, BTreeSet};

use bumpwright_api::ObjectName;
use bumpwright_text::Cuts;

use super::readiness::{Readiness, State};
use super::world::{AUTOMATION, HELM_CHART, Id, KUSTOMIZATION, POLICY, RELEASE, REPOSITORY, World};

/// What the objects that are not ready wait for, as far as that is not ready either.
#[derive(Debug, Default)]
pub(crate) struct Causes {
    because: BTreeMap<Id, Vec<Id>>,
    /// The same the other way round: the objects that wait for each object.
    waiting: BTreeMap<Id, Vec<Id>>,
}

/// All that a way leads to from an object; itself only where one leads back.
pub(crate) fn reached<'g, I: Iterator<Item = &'g Id>>(from: &Id, next: impl Fn(&Id) -> I) -> BTreeSet<&'g Id> {
    let mut reached = BTreeSet::new();
    let mut open: Vec<&'g Id> = next(from).collect();
    while let Some(one) = open.pop() {
        if reached.insert(one) {
            open.extend(next(one));
        }
    }
    reached
}

impl Causes {
    fn new(because: BTreeMap<Id, Vec<Id>>) -> Self {
        let mut waiting = BTreeMap::<Id, Vec<Id>>::new();
        for (id, causes) in &because {
            for cause in causes {
                waiting.entry(cause.clone()).or_default().push(id.clone());
            }
        }
        Self { because, waiting }
    }

    /// Whether it waits for something that is reported: each way from it ends at an object that waits for nothing,
    /// or in a circle.
    pub(crate) fn is_consequence(&self, id: &Id) -> bool {
        self.because.contains_key(id)
    }

    /// The objects that are not ready because of this one, directly or not.
    pub(crate) fn consequences(&self, id: &Id) -> Vec<Id> {
        let waiting = reached(id, |one| self.waiting.get(one).into_iter().flatten());
        waiting.into_iter().filter(|one| *one != id).cloned().collect()
    }

    /// Circles of objects that wait for each other: of each set of objects that lead to each other one, which begins at
    /// the first of them.
    pub(crate) fn circles(&self) -> Vec<Vec<Id>> {
        let mut in_circles: BTreeSet<&Id> = BTreeSet::new();
        let mut circles = Vec::new();
        for id in self.endless() {
            if !in_circles.contains(id)
                && let Some(circle) = self.circle(id)
            {
                let to = reached(id, |one| self.because.get(one).into_iter().flatten());
                let from = reached(id, |one| self.waiting.get(one).into_iter().flatten());
                in_circles.extend(to.intersection(&from));
                circles.push(circle);
            }
        }
        circles
    }

    /// The objects from which a way leads into a circle: what is left when those go that wait for nothing, again and
    /// again. Long chains, which are usual, are left in one walk.
    fn endless(&self) -> Vec<&Id> {
        let unready = |id: &&Id| self.because.contains_key(*id);
        let causes = self.because.iter();
        let mut left: BTreeMap<&Id, usize> = causes
            .map(|(id, of_it)| (id, of_it.iter().filter(unready).count()))
            .collect();
        let mut free: Vec<&Id> = left
            .iter()
            .filter(|(_, count)| **count == 0)
            .map(|(id, _)| *id)
            .collect();
        while let Some(id) = free.pop() {
            left.remove(id);
            for one in self.waiting.get(id).into_iter().flatten() {
                if let Some(count) = left.get_mut(one) {
                    *count = count.saturating_sub(1);
                    if *count == 0 {
                        free.push(one);
                    }
                }
            }
        }
        left.into_keys().collect()
    }

    /// The shortest way from an object back to itself.
    fn circle(&self, start: &Id) -> Option<Vec<Id>> {
        let mut from: BTreeMap<&Id, &Id> = BTreeMap::new();
        let mut open = std::collections::VecDeque::from([start]);
        while let Some(next) = open.pop_front() {
            for cause in self.because.get(next).into_iter().flatten() {
                if cause == start {
                    let mut way = vec![next.clone()];
                    let mut at = next;
                    while let Some(before) = from.get(at) {
                        way.push((*before).clone());
                        at = before;
                    }
                    way.reverse();
                    return Some(way);
                }
                if !from.contains_key(cause) {
                    from.insert(cause, next);
                    open.push_back(cause);
                }
            }
        }
        None
    }
}

impl World {
    /// What the objects that are not ready wait for.
    pub(crate) fn causes(&self, all: &BTreeMap<Id, Readiness>) -> Causes {
        let is_unready = |id: &Id| all.get(id).is_some_and(|one| one.state != State::Ready);
        let mut because = BTreeMap::new();
        for (id, readiness) in all.iter().filter(|(_, readiness)| readiness.state.is_broken()) {
            let mut of_it = self.waits_for(id, readiness);
            of_it.retain(|other| is_unready(other) && is_cause(&readiness.reason, other, all));
            if !of_it.is_empty() {
                because.insert(id.clone(), of_it);
            }
        }
        Causes::new(because)
    }

    /// What an object says to wait for.
    fn waits_for(&self, id: &Id, readiness: &Readiness) -> Vec<Id> {
        match (id.kind.as_str(), readiness.reason.as_str()) {
            (KUSTOMIZATION, "DependencyNotReady") => {
                let kustomization = self.kustomizations.get(&id.name);
                kustomization
                    .into_iter()
                    .flat_map(|kustomization| kustomization.dependencies())
                    .collect()
            }
            // Another error of this reason is about a path that is not in the artifact.
            (KUSTOMIZATION, "ArtifactFailed") if readiness.message.starts_with("Source ") => {
                let kustomization = self.kustomizations.get(&id.name);
                kustomization
                    .into_iter()
                    .map(|kustomization| kustomization.source())
                    .collect()
            }
            (KUSTOMIZATION, "HealthCheckFailed") => unhealthy_releases(&readiness.message),
            (RELEASE, "DependencyNotReady") => {
                let release = self.releases.get(&id.name);
                release.into_iter().flat_map(|release| release.dependencies()).collect()
            }
            (RELEASE, "SourceNotReady") => {
                let release = self.releases.get(&id.name);
                release.into_iter().map(|release| release.chart_source()).collect()
            }
            // The source of the chart has no artifact.
            (HELM_CHART, "NoSourceArtifact") => {
                let source = self.sources.get(id);
                source.into_iter().map(|source| source.chart_source()).collect()
            }
            (POLICY, "DependencyNotReady") => {
                let policy = self.policies.get(&id.name);
                let repository = policy.map(|policy| policy.spec.image_repository_ref.from(&policy.metadata.namespace));
                repository.into_iter().map(|name| Id::new(REPOSITORY, name)).collect()
            }
            (AUTOMATION, reason) if is_about_server(reason) => {
                let automation = self.automations.get(&id.name);
                automation
                    .into_iter()
                    .map(|automation| self.source_of(automation).0)
                    .collect()
            }
            _ => Vec::new(),
        }
    }
}

/// Whether an automation fails as its source does: both reach the same server with the same Secret.
fn is_cause(reason: &str, other: &Id, all: &BTreeMap<Id, Readiness>) -> bool {
    !is_about_server(reason) || all.get(other).is_some_and(|other| is_about_server(&other.reason))
}

/// Reasons about a Git server, and about the Secret for it.
fn is_about_server(reason: &str) -> bool {
    matches!(
        reason,
        "GitOperationFailed" | "AuthenticationFailed" | "InvalidSourceConfiguration"
    )
}

/// The HelmReleases that a failed health check names, as in `[HelmRelease/apps/web status: 'Failed': its message]`;
/// none where it names something else too.
pub(crate) fn unhealthy_releases(message: &str) -> Vec<Id> {
    // What is behind the last status names no object.
    let Some((named, _)) = message.rsplit_once(" status: '") else {
        return Vec::new();
    };
    let one = |text: &str| {
        let object = text.rsplit([' ', '[']).next()?;
        let (namespace, name) = object.strip_prefix("HelmRelease/")?.split_once('/')?;
        Some(Id::new(RELEASE, ObjectName::new(namespace, name)))
    };
    named
        .split(" status: '")
        .map(one)
        .collect::<Option<_>>()
        .unwrap_or_default()
}

/// The Secret that a message says is missing, without its namespace: the wordings of Flux's controllers and
/// of the API server.
pub(crate) fn missing_secret(message: &str) -> Option<&str> {
    let (before, _) = message
        .split_once("' not found")
        .or_else(|| message.split_once("\" not found"))?;
    let (intro, name) = before.rsplit_once(['\'', '"'])?;
    let word = intro.trim_end().behind_last(' ');
    let is_secret = matches!(word.to_ascii_lowercase().as_str(), "secret" | "secrets");
    let name = name.behind_last('/');
    (is_secret && !name.is_empty()).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn causes(edges: &[(&str, &[&str])]) -> Causes {
        let id = |name: &&str| Id::new(KUSTOMIZATION, ObjectName::new("fs", *name));
        let because = edges.iter().map(|(from, to)| (id(from), to.iter().map(id).collect()));
        Causes::new(because.collect())
    }

    fn told(causes: &Causes) -> Vec<String> {
        let names = |circle: Vec<Id>| circle.into_iter().map(|id| id.name.name).collect::<Vec<_>>().join(" ");
        causes.circles().into_iter().map(names).collect()
    }

    #[test]
    fn circles_are_found_once_each() {
        assert_eq!(told(&causes(&[("a", &["b"]), ("b", &["a"])])), ["a b"]);
        assert_eq!(told(&causes(&[("a", &["a"])])), ["a"]);
        assert!(told(&causes(&[("a", &["b"]), ("b", &["c"])])).is_empty());
        // Of what leads into a circle the circle alone is reported.
        assert_eq!(told(&causes(&[("a", &["c"]), ("b", &["c"]), ("c", &["b"])])), ["b c"]);
        let two = causes(&[("a", &["b"]), ("b", &["a"]), ("c", &["d"]), ("d", &["c", "a"])]);
        assert_eq!(told(&two), ["a b", "c d"]);
        let eight = causes(&[("a", &["b", "c"]), ("b", &["a"]), ("c", &["a"])]);
        assert_eq!(told(&eight), ["a b"], "one is enough to begin with");
    }

    #[test]
    fn releases_that_are_not_healthy_are_the_cause_where_they_alone_are() {
        let told = |message: &str| {
            unhealthy_releases(message)
                .iter()
                .map(Id::to_string)
                .collect::<Vec<_>>()
        };
        let one = "health check failed after 30s: timeout waiting for: [HelmRelease/apps/web status: 'InProgress']";
        assert_eq!(told(one), ["HelmRelease/apps/web"]);
        let two = "health check failed after 1s: failed early due to stalled resources: [HelmRelease/a/b status: 'Failed': Helm upgrade failed: \
            [a, b], HelmRelease/a/c status: 'Failed']";
        assert_eq!(told(two), ["HelmRelease/a/b", "HelmRelease/a/c"]);
        let other = "timeout waiting for: [HelmRelease/a/b status: 'Failed', Deployment/a/c status: 'InProgress']";
        assert!(told(other).is_empty() && told("").is_empty());
    }

    #[test]
    fn missing_secrets_are_known_in_all_wordings() {
        for message in [
            "failed to get secret 'fs/auth': secrets \"auth\" not found",
            "secret 'fs/auth' not found",
            "auth secret 'auth' not found",
            "could not find signing key secret 'fs/auth': secrets \"auth\" not found",
        ] {
            assert_eq!(missing_secret(message), Some("auth"), "{message}");
        }
        for message in [
            "'x' not found",
            "tag \"v1\" not found",
            "secret not found",
            "configmaps \"secret\" not found",
        ] {
            assert_eq!(missing_secret(message), None, "{message}");
        }
    }
}
