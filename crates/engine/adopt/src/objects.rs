//! The objects that are made: each once, under names that nothing else has.

use std::collections::{BTreeMap, BTreeSet};

use super::adopted::{Access, Automation, Git, Kind, Known, Objects, Policy, Repository, Rule, WriteBack};
use super::files::{Files, common};
use super::image::{Named, object_name};
use super::known::WAITS;
use super::render::{
    Commits, automation as render_automation, policy as render_policy, repository as render_repository,
};
use bumpwright_api::RepositoryKind;
use bumpwright_policy::PolicyName;
use bumpwright_text::Cuts;

/// What is wanted of an image: a policy, and the repository that it chooses from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wanted {
    pub(crate) image: String,
    /// Regular expressions of tags that do not count.
    pub(crate) exclusions: Vec<String>,
    /// The Secret with the login.
    pub(crate) secret: Option<String>,
    /// A regular expression of tags that count.
    pub(crate) filter: Option<String>,
    pub(crate) rule: Rule,
    /// Whether the digest of the tag is written, too.
    pub(crate) digest: bool,
    /// Annotations of the policy.
    pub(crate) annotations: BTreeMap<String, String>,
    /// Labels of the policy, by which its automation knows it.
    pub(crate) labels: BTreeMap<String, String>,
}

impl Automation {
    /// The folder that has all of them.
    pub(crate) fn path(&self) -> String {
        common(self.folders.iter().map(String::as_str))
    }
}

impl<T: PartialEq> Kind<T> {
    /// None yet; these names are taken.
    #[must_use]
    pub fn new(taken: BTreeSet<PolicyName>) -> Self {
        let made = Vec::new();
        Self { made, taken }
    }

    /// The name of an object that is the same, else the first of these names that is free.
    pub fn put(&mut self, namespace: &str, names: &[String], object: T) -> PolicyName {
        let same = |(name, other): &&(PolicyName, T)| name.namespace == namespace && *other == object;
        if let Some((name, _)) = self.made.iter().find(same) {
            return name.clone();
        }
        let numbered = names
            .last()
            .into_iter()
            .flat_map(|last| (2..).map(move |n| format!("{last}-{n}")));
        let free = names
            .iter()
            .cloned()
            .chain(numbered)
            .map(|name| PolicyName::new(namespace, name))
            .find(|name| !self.taken.contains(name));
        let name = free.unwrap_or_else(|| PolicyName::new(namespace, "image"));
        self.taken.insert(name.clone());
        self.made.push((name.clone(), object));
        name
    }
}

impl Objects {
    /// None yet; names of objects in the files are taken.
    pub(crate) fn beside(files: &Files<'_>) -> Self {
        Self {
            repositories: Kind::new(files.names("ImageRepository")),
            policies: Kind::new(files.names("ImagePolicy")),
            sources: Kind::new(files.names("GitRepository")),
            automations: Kind::new(files.names("ImageUpdateAutomation")),
            known: Known::of(files),
            alike: BTreeMap::new(),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.policies.made.is_empty() && self.automations.made.is_empty()
    }

    /// The policy that chooses what is wanted: an equal one, or a new one with the first of these names that is free.
    pub(crate) fn policy(&mut self, namespace: &str, names: &[&str], wanted: Wanted) -> PolicyName {
        let names: Vec<String> = names.iter().map(|name| object_name(name)).collect();
        let repository = Repository {
            image: wanted.image,
            kind: RepositoryKind::Oci,
            exclusions: wanted.exclusions,
            access: Access {
                secret: wanted.secret,
                ..Access::default()
            },
        };
        let mut policy = Policy {
            repository: String::new(),
            filter: wanted.filter,
            extract: None,
            rule: wanted.rule,
            digest: wanted.digest,
            annotations: wanted.annotations,
            labels: wanted.labels,
        };
        // Several repositories may be of the image: a policy of any of them that says the same is the one.
        let written = render_repository(&PolicyName::new(namespace, "known"), &repository, "1m");
        let repositories = self.known.repositories(namespace, &written);
        for name in &repositories {
            policy.repository.clone_from(name);
            let written = render_policy(&PolicyName::new(namespace, "known"), &policy, "1m");
            if let Some(name) = self.known.policy(namespace, &written) {
                return PolicyName::new(namespace, name);
            }
        }
        let first = repositories.into_iter().next();
        policy.repository = first.unwrap_or_else(|| self.new_repository(namespace, &names, repository));
        self.policies.put(namespace, &names, policy)
    }

    /// The name of a repository that is made for an image.
    fn new_repository(&mut self, namespace: &str, names: &[String], repository: Repository) -> String {
        let short = object_name(Named::split(&repository.image).short());
        let of_image: Vec<String> = [short].into_iter().chain(names.iter().cloned()).collect();
        self.repositories.put(namespace, &of_image, repository).name
    }

    /// The name of the GitRepository, an equal one of the files or a new one; and names for its automation.
    pub(crate) fn source(&mut self, namespace: &str, git: &Git) -> (String, Vec<String>) {
        let name = object_name(repository_name(&git.url));
        let branch = object_name(&format!("{name}-{}", git.branch));
        let names = vec![name, branch];
        let mut existing = self.known.sources(namespace, git).into_iter();
        let Some(first) = existing.next() else {
            let source = self.sources.put(namespace, &names, git.clone()).name;
            return (source, names);
        };
        let others: Vec<PolicyName> = existing.map(|name| PolicyName::new(namespace, name)).collect();
        if !others.is_empty() {
            self.alike.insert(PolicyName::new(namespace, first.as_str()), others);
        }
        (first, names)
    }

    /// The automation that commits so: there is one for all that commit alike.
    pub(crate) fn automation(
        &mut self,
        namespace: &str,
        write_back: &WriteBack,
        labels: &BTreeMap<String, String>,
        folders: BTreeSet<String>,
        waits: bool,
    ) {
        let (source, mut names) = self.source(namespace, &write_back.git);
        let same = |(name, other): &&mut (PolicyName, Automation)| {
            name.namespace == namespace
                && other.source == source
                && other.write_back == *write_back
                && other.labels == *labels
        };
        if let Some((_, automation)) = self.automations.made.iter_mut().find(same) {
            automation.folders.extend(folders);
            automation.waits &= waits;
            return;
        }
        if let Some(push) = &write_back.push {
            names.push(object_name(&format!("{source}-{push}")));
        }
        // As its policies say it belongs to them.
        let own = labels.values().next().cloned();
        let names: Vec<String> = own.into_iter().chain(names).collect();
        let automation = Automation {
            source,
            write_back: write_back.clone(),
            labels: labels.clone(),
            folders,
            waits,
        };
        self.automations.put(namespace, &names, automation);
    }
}

impl Automation {
    /// What is written of it.
    pub(crate) fn render(&self, name: &PolicyName, interval: &str) -> String {
        let write_back = &self.write_back;
        let commits = Commits {
            annotations: &write_back.annotations,
            suspended: self.waits.then_some(WAITS),
            source: (None, &self.source),
            branch: Some(&write_back.git.branch),
            author: (&write_back.author.0, &write_back.author.1),
            push: write_back.push.as_deref().map(|branch| (branch, &write_back.options)),
            message: None,
            selector: &self.labels,
            path: &self.path(),
        };
        render_automation(name, &commits, interval)
    }
}

/// The last part of a repository's address.
pub(crate) fn repository_name(url: &str) -> &str {
    let url = url.trim_end_matches('/');
    let last = url.behind_last(['/', ':']);
    last.strip_suffix(".git").unwrap_or(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(image: &str, range: &str) -> Wanted {
        Wanted {
            image: image.to_owned(),
            exclusions: Vec::new(),
            secret: None,
            filter: None,
            rule: Rule::Semver(range.to_owned()),
            digest: false,
            annotations: BTreeMap::new(),
            labels: BTreeMap::new(),
        }
    }

    #[test]
    fn equal_policies_are_one_and_others_get_names_of_their_own() {
        let mut objects = Objects::beside(&Files { parsed: Vec::new() });
        let mut name = |app: &str, image: &str, range: &str| {
            let names = ["web".to_owned(), format!("{app}-web")];
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            objects.policy("argocd", &names, wanted(image, range)).name
        };
        assert_eq!(name("a", "x/web", "1.x"), "web");
        assert_eq!(name("b", "x/web", "1.x"), "web", "the same");
        assert_eq!(name("b", "x/web", "2.x"), "b-web");
        assert_eq!(name("b", "x/web", "3.x"), "b-web-2");
        assert_eq!(objects.repositories.made.len(), 1);
    }

    #[test]
    fn repositories_are_named_by_the_end_of_their_address() {
        for (url, name) in [
            ("https://git.example.com/acme/fleet.git", "fleet"),
            ("ssh://git@git.example.com/fleet/", "fleet"),
            ("git@github.com:fleet.git", "fleet"),
        ] {
            assert_eq!(repository_name(url), name);
        }
    }
}
