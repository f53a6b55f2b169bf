//! Image policies and image repositories that people keep in the very repository that is updated (CLI.md rule 5).

use super::policies::Policies;
use crate::api::{Objects, read_leniently};

/// Policies found in a repository, file by file.
#[derive(Default)]
pub(super) struct Found {
    objects: Objects,
    notes: Vec<String>,
}

impl Found {
    /// Adds the policies of one file. What cannot be read is noted, with its place, and keeps nothing back.
    pub(super) fn read(&mut self, path: &[u8], bytes: &[u8]) {
        let lenient = read_leniently(&String::from_utf8_lossy(path), bytes);
        self.notes
            .extend(lenient.problems.into_iter().map(|problem| problem.to_string()));
        for document in lenient.documents {
            self.notes
                .extend(self.objects.absorb(document).map(|conflict| conflict.to_string()));
        }
    }

    /// The given policies with those that were found below them, and what is worth saying.
    pub(super) fn below(self, given: &Policies) -> (Policies, Vec<String>) {
        let mut policies = given.clone();
        for repository in self.objects.image_repositories() {
            policies.add_repository(repository);
        }
        for policy in self.objects.image_policies() {
            policies.add(policy);
        }
        (policies, self.notes)
    }
}
