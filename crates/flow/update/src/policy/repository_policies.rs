//! Image policies and image repositories in the very repository that is updated (docs/cli.md, *TARGET*, rule 5).

use std::collections::{BTreeMap, BTreeSet};

use super::policies::Policies;
use bumpwright_api::{
    Conflict, Document, ImagePolicySpec, ImageRepositorySpec, Object, ObjectName, Objects, UnknownFields,
    read_in_folder, read_leniently,
};

/// Policies found in a repository, file by file.
#[derive(Default)]
pub(crate) struct FoundPolicies {
    objects: Objects,
    notes: Vec<String>,
    /// What is wrong with a file that has policies: one that is missing may be there.
    unread: Option<String>,
    /// The names of automations, which are not followed.
    pub(crate) automations: BTreeSet<String>,
    wishes: BTreeMap<(&'static str, ObjectName), (String, Wish)>,
    /// Policies with several definitions that differ, as in a repository with a folder for each cluster, or with fields
    /// that are unknown, and the message for each. It is not known what is meant, so none of them chooses an image.
    unclear: BTreeMap<(&'static str, ObjectName), String>,
}

/// The part of a manifest that decides about the image.
#[derive(PartialEq)]
enum Wish {
    /// With the annotations that may be guards.
    Policy(ImagePolicySpec, BTreeMap<String, String>),
    Repository(ImageRepositorySpec),
}

const AUTOMATION: &str = "ImageUpdateAutomation";
const POLICY: &str = "ImagePolicy";
const REPOSITORY: &str = "ImageRepository";

impl FoundPolicies {
    /// Adds the policies of one file. Unreadable manifests are noted with their place, and do not stop the others.
    pub(crate) fn read(&mut self, path: &[u8], bytes: &[u8]) {
        let lenient = read_leniently(&String::from_utf8_lossy(path), bytes);
        let problems = lenient.problems.into_iter().map(|problem| problem.to_string());
        let before = self.notes.len();
        self.notes.extend(problems);
        if memchr::memmem::find(bytes, POLICY.as_bytes()).is_some() {
            self.unread = self.unread.take().or_else(|| self.notes.get(before).cloned());
        }
        for (at, doubt) in lenient.doubts {
            let wish = lenient.documents.get(at).and_then(|document| wish(&document.object));
            if let Some((key, _)) = wish {
                self.unclear.entry(key).or_insert_with(|| doubt.to_string());
            }
        }
        for document in lenient.documents {
            self.compare(&document);
            self.notes
                .extend(self.objects.absorb(document).map(|conflict| conflict.to_string()));
        }
    }

    fn compare(&mut self, document: &Document) {
        let Some((key, wish)) = wish(&document.object) else {
            return;
        };
        let place = format!("{}:{}", document.path, document.place.line);
        match self.wishes.get(&key) {
            Some((_, known)) if *known == wish => {}
            Some((first, _)) => {
                let conflict = Conflict {
                    kind: key.0,
                    name: key.1.clone(),
                    first: first.clone(),
                    second: place,
                };
                let words = format!("{conflict}, or give the one that counts with -f");
                self.unclear.entry(key).or_insert(words);
            }
            None => {
                self.wishes.insert(key, (place, wish));
            }
        }
    }

    /// Notes the names of the automations of one file. Those that cannot be read are followed by nobody.
    pub(crate) fn read_automations(&mut self, path: &[u8], bytes: &[u8]) {
        if memchr::memmem::find(bytes, AUTOMATION.as_bytes()).is_none() {
            return;
        }
        let read = read_in_folder(&String::from_utf8_lossy(path), bytes, UnknownFields::Allow);
        let documents = read.iter().flatten();
        self.automations
            .extend(documents.filter_map(|document| match &document.object {
                Object::ImageUpdateAutomation(automation) => Some(automation.metadata.object_name().to_string()),
                _ => None,
            }));
    }

    /// The given policies together with those found in the repository, and the notes.
    pub(crate) fn below(self, given: &Policies) -> (Policies, Vec<String>) {
        let mut policies = given.clone();
        if policies.unbuilt().is_none() {
            policies = policies.with_unbuilt(self.unread);
        }
        for repository in self.objects.image_repositories() {
            match self.unclear.get(&(REPOSITORY, repository.name())) {
                Some(why) => policies.add_unclear_repository(repository.name(), why),
                None => policies.add_repository(repository),
            }
        }
        for policy in self.objects.image_policies() {
            match self.unclear.get(&(POLICY, policy.metadata.object_name())) {
                Some(why) => policies.add_unclear(policy, why),
                None => policies.add(policy),
            }
        }
        (policies, self.notes)
    }
}

fn wish(object: &Object) -> Option<((&'static str, ObjectName), Wish)> {
    match object {
        Object::ImagePolicy(policy) => {
            let ours = policy
                .metadata
                .annotations
                .iter()
                .filter(|(key, _)| key.starts_with("bumpwright.dev/"));
            let guards = ours.map(|(key, value)| (key.clone(), value.clone())).collect();
            let key = (POLICY, policy.metadata.object_name());
            Some((key, Wish::Policy(policy.spec.clone()?, guards)))
        }
        Object::ImageRepository(repository) => {
            let key = (REPOSITORY, repository.name());
            Some((key, Wish::Repository(repository.spec.clone())))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_cannot_be_read_may_have_the_policy() {
        let unread = |files: &[(&str, &str)]| {
            let mut found = FoundPolicies::default();
            for (path, text) in files {
                found.read(path.as_bytes(), text.as_bytes());
            }
            let (policies, notes) = found.below(&Policies::default());
            (policies.unbuilt().map(str::to_owned), notes.len())
        };
        let policy = "kind: ImagePolicy\na: b: c\n";
        let (why, notes) = unread(&[("other.yaml", "a: b: c\n"), ("policies.yaml", policy)]);
        assert!(
            why.as_ref().is_some_and(|why| why.starts_with("policies.yaml:2:")),
            "{why:?}"
        );
        assert_eq!(notes, 2);
        assert_eq!(unread(&[("other.yaml", "a: b: c\n")]).0, None);
    }
}
