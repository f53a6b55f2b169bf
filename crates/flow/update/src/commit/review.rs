//! Changes at review servers: the Change-Id of the short form, and what Gerrit's refusals mean (Gerrit Code Review,
//! *Change-Ids* and *Uploading Changes*).

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::find::facts::Marked;
use crate::job::edits::Edits;
use crate::policy::policies::Policies;
use crate::policy::view::View;
use bumpwright_edit::{Images, Reason, Verdict};
use bumpwright_git::RemoteUrl;

/// Closed changes in a row that are passed over; a policy that flips to and fro closes one each time.
const MAX_CLOSED: u32 = 32;
/// Older patch sets of one change that are passed over.
pub(crate) const MAX_OLDER: u32 = 16;

/// How a commit for review differs from the default one for the same edits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Variant {
    /// Index of the Change-Id among those of the same state: the first whose change is not closed.
    pub(crate) change: u32,
    /// Seconds after the base commit. Gerrit distinguishes the patch sets of a change by their commits, so one that
    /// returns to the content of an older one needs another time.
    pub(crate) seconds: u32,
}

impl Variant {
    /// The same edits in another change.
    pub(crate) fn next_change(self) -> Option<Self> {
        let change = self.change + 1;
        (change < MAX_CLOSED).then_some(Self { change, seconds: 0 })
    }

    /// Why this commit is made in the place of the default one.
    pub(crate) fn reason(self) -> Option<&'static str> {
        match self {
            Self { change: 0, seconds: 0 } => None,
            Self { seconds: 0, .. } => Some("another change, since the one with the Change-Id before is closed"),
            Self { .. } => Some("another commit, since the one before is an older patch set of the change"),
        }
    }

    /// The same edits in another commit.
    pub(crate) fn next_commit(self) -> Option<Self> {
        let seconds = self.seconds + 1;
        (seconds < MAX_OLDER).then_some(Self { seconds, ..self })
    }
}

/// The meaning of a review server's refusal: Gerrit (`ReceiveCommits`, Gerrit 3.10; older versions use the same texts),
/// and AGit at Gitea and Forgejo (their `services/agit`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// The server has the commit: in a change, open or not, or only on a branch.
    NothingNew,
    /// The change already holds the commit.
    Current,
    /// The commit is an older patch set of its change.
    Older,
    /// The change with this Change-Id was merged or abandoned.
    Closed,
    /// AGit: the topic holds another commit, which is replaced only on request.
    AsksForForce,
    /// Anything else: a refusal.
    Refused,
}

impl Answer {
    pub(crate) fn of(reason: &str) -> Self {
        let same = [
            "new commit is same with old commit",
            "new commit is the same as the old commit",
        ];
        if same.iter().any(|same| reason.contains(same)) {
            Self::Current
        } else if reason.contains("`force-push`") {
            Self::AsksForForce
        } else if reason.contains("no new changes") {
            Self::NothingNew
        } else if reason.contains("(as current patchset)") {
            Self::Current
        } else if reason.starts_with("commit ") && reason.contains(" already exists in change ") {
            Self::Older
        } else if reason.starts_with("change ") && reason.ends_with(" closed") {
            Self::Closed
        } else {
            Self::Refused
        }
    }
}

/// The lines that name the address of a change, trimmed.
pub(crate) fn links(said: &str) -> impl Iterator<Item = &str> {
    said.lines().map(str::trim).filter(|line| line.contains("://"))
}

/// The address in one of these lines.
pub(crate) fn address<'l>(lines: &[&'l str]) -> Option<&'l str> {
    let words = lines.iter().flat_map(|line| line.split_whitespace());
    let mut addresses = words.filter(|word| word.starts_with("https://") || word.starts_with("http://"));
    addresses.next()
}

/// The address by which a Gerrit finds a change: a search for its Change-Id, which leads to its page. None for a server
/// that is reached otherwise than by HTTP, the address of whose pages is not known.
pub(crate) fn search(url: &str, id: &str) -> Option<String> {
    let parsed = RemoteUrl::parse(url).ok()?;
    let web = parsed.web()?;
    // Below a login there may be a folder for all of Gerrit.
    let folder = web.path().split_once("/a/").map_or("", |(folder, _)| folder);
    Some(format!("{}{folder}/q/{id}", web.origin().ascii_serialization()))
}

/// The input of a Change-Id.
///
/// Tags are left out, so that an open change is amended when a newer image comes, whichever of the run's policies it is
/// for. The current values of the marked fields in Git are included: once the change is merged they differ, and the
/// next change is a new one. Commits that touch none of the fields do not matter.
#[derive(Debug)]
pub(crate) struct ReviewState<'a> {
    /// The repository, see [`repository`].
    repository: String,
    /// The target of the change, `refs/for/main`.
    pub(crate) reference: &'a str,
    /// `namespace/name` of the automation, if there is one.
    pub(crate) automation: Option<&'a str>,
    /// Policy, file and value of each field that the run may set.
    fields: BTreeSet<(String, &'a [u8], &'a str)>,
}

impl<'a> ReviewState<'a> {
    pub(crate) fn new(
        (url, reference): (&'a str, &'a str),
        marked: &'a [Marked],
        edits: &'a Edits,
        policies: &'a Policies,
    ) -> Self {
        let view = View {
            policies,
            namespace: edits.namespace.as_deref(),
            selector: edits.selector.as_ref(),
        };
        // Policies of another automation belong to its changes; all others count, even while
        // their registry is unreachable.
        let others = |verdict| matches!(verdict, Verdict::Skip(Reason::OtherNamespace | Reason::NotSelected, _));
        let scans = marked
            .iter()
            .filter_map(|file| Some((&file.path, file.facts.scan.as_ref()?)));
        let sites = scans.flat_map(|(path, scan)| scan.sites.iter().map(move |site| (path, site)));
        let own = sites.filter(|(_, site)| !others(view.verdict(&site.setter.policy)));
        Self {
            repository: repository(url),
            reference,
            automation: edits.automation.as_deref(),
            fields: own
                .map(|(path, site)| (site.setter.policy.to_string(), path.as_slice(), site.value.as_str()))
                .collect(),
        }
    }

    /// The Change-Id, `I` and 40 hexadecimal digits. `change` counts those of the same state whose changes are closed:
    /// a reverted merge, or an abandoned change.
    pub(crate) fn change_id(&self, change: u32) -> String {
        let change = change.to_be_bytes();
        let automation = self.automation.unwrap_or_default();
        let mut parts = vec![
            self.repository.as_bytes(),
            self.reference.as_bytes(),
            automation.as_bytes(),
            &change,
        ];
        for (policy, path, value) in &self.fields {
            parts.extend([policy.as_bytes(), *path, value.as_bytes()]);
        }
        change_id(&parts)
    }
}

/// The name of a repository at Gerrit, whatever way its address is spelled: without user, port, scheme and `.git`, and
/// with or without the `/a/` of a login by HTTP. It is the most usual address, so that changes from before this was so
/// are still amended there (docs/decisions.md, *Gerrit*).
pub(crate) fn repository(url: &str) -> String {
    let Ok(parsed) = RemoteUrl::parse(url) else {
        return url.to_owned();
    };
    if let Some(path) = parsed.local_path() {
        return format!("file://{}", plain(path).display());
    }
    let path = parsed.web().map(|web| web.path()).or(parsed.ssh_path());
    let (Some(host), Some(path)) = (parsed.host(), path) else {
        return url.to_owned();
    };
    let path = path.trim_matches('/');
    let path = path.strip_suffix(".git").unwrap_or(path).trim_end_matches('/');
    let project = path.strip_prefix("a/").unwrap_or(path);
    format!("https://{}/a/{project}", host.to_ascii_lowercase())
}

/// A path without `.`, `..` and double slashes. Links are not followed: a mirror of another machine has none of them.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                plain.pop();
            }
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    plain
}

/// A Change-Id of these parts.
pub(crate) fn change_id(parts: &[&[u8]]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part.len().to_be_bytes());
        hash.update(part);
    }
    let digits = hash.finalize();
    let hex = digits.iter().take(20).map(|byte| format!("{byte:02x}"));
    format!("I{}", hex.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state<'a>(reference: &'a str, fields: &[(&str, &'a str, &'a str)]) -> ReviewState<'a> {
        ReviewState {
            repository: repository("https://review.example/a/fleet"),
            reference,
            automation: Some("flux-system/all"),
            fields: fields
                .iter()
                .map(|(policy, path, value)| ((*policy).to_owned(), path.as_bytes(), *value))
                .collect(),
        }
    }

    #[test]
    fn a_change_id_follows_the_fields_and_not_their_order() {
        let (a, b) = (("fs:a", "a.yaml", "o/a:1"), ("fs:b", "b.yaml", "o/b:1"));
        let id = state("refs/for/main", &[a, b]).change_id(0);
        assert_eq!(id, state("refs/for/main", &[b, a]).change_id(0));
        assert!(
            id.len() == 41 && id.strip_prefix('I').is_some_and(|hex| hex == hex.to_lowercase()),
            "{id}"
        );
        let others = [
            state("refs/for/main", &[a, b]).change_id(1),
            state("refs/for/stable", &[a, b]).change_id(0),
            state("refs/for/main", &[a]).change_id(0),
            state("refs/for/main", &[a, ("fs:b", "b.yaml", "o/b:2")]).change_id(0),
            state("refs/for/main", &[a, ("fs:b", "c.yaml", "o/b:1")]).change_id(0),
            state("refs/for/main", &[a, ("fs:bb", ".yaml", "o/b:1")]).change_id(0),
        ];
        let all: BTreeSet<_> = others.iter().chain([&id]).collect();
        assert_eq!(all.len(), 7);
    }

    #[test]
    fn all_spellings_of_an_address_are_one_repository() {
        for url in [
            "https://review.example/a/fleet",
            "https://review.example/a/fleet.git",
            "https://review.example/fleet/",
            "https://bot@Review.example:8443/a/fleet/",
            "http://review.example:8080/fleet.git/",
            "ssh://bot@review.example:29418/fleet",
            "ssh://review.example:29418/a/fleet.git",
            "bot@review.example:fleet.git",
        ] {
            assert_eq!(repository(url), "https://review.example/a/fleet", "{url}");
        }
        assert_eq!(
            repository("https://review.example/x/a/y"),
            "https://review.example/a/x/a/y"
        );
        for url in [
            "file:///srv/a.git",
            "file:///srv/a.git/",
            "file:///srv/./x/../a.git",
            "file:///srv//a.git",
            "file://localhost/srv/a.git",
        ] {
            assert_eq!(repository(url), "file:///srv/a.git", "{url}");
        }
    }

    #[test]
    fn a_change_is_found_at_the_root_of_its_server() {
        for (url, address) in [
            ("https://review.example/a/fleet", Some("https://review.example/q/I01")),
            (
                "https://bot@review.example:8443/a/x/a/y.git",
                Some("https://review.example:8443/q/I01"),
            ),
            (
                "https://review.example/gerrit/a/fleet",
                Some("https://review.example/gerrit/q/I01"),
            ),
            ("http://review.example/fleet", Some("http://review.example/q/I01")),
            ("ssh://bot@review.example:29418/fleet", None),
            ("file:///srv/a.git", None),
        ] {
            assert_eq!(search(url, "I01").as_deref(), address, "{url}");
        }
    }

    #[test]
    fn refusals_are_told_apart() {
        for (reason, answer) in [
            ("no new changes", Answer::NothingNew),
            ("commit(s) already exists (as current patchset)", Answer::Current),
            ("commit c806c216b9 already exists in change 1", Answer::Older),
            ("change http://127.0.0.1:33083/c/fleet/+/1 closed", Answer::Closed),
            ("new commit is same with old commit", Answer::Current),
            ("The new commit is the same as the old commit", Answer::Current),
            ("request `force-push` push option", Answer::AsksForForce),
            (
                "Updates were rejected because the tip of your current branch is behind its remote counterpart. If this is \
                 intentional, set the `force-push` option by adding `-o force-push=true` to your `git push` command.",
                Answer::AsksForForce,
            ),
            ("topic-branch is not set", Answer::Refused),
            ("branch closed not found", Answer::Refused),
            ("commit 51565a6: missing Change-Id in message footer", Answer::Refused),
        ] {
            assert_eq!(Answer::of(reason), answer, "{reason}");
        }
    }

    #[test]
    fn variants_end() {
        let changes = std::iter::successors(Some(Variant::default()), |variant| variant.next_change());
        assert_eq!(changes.count(), 32);
        let second = Variant { change: 2, seconds: 3 };
        assert_eq!(second.next_commit(), Some(Variant { change: 2, seconds: 4 }));
        assert_eq!(second.next_change(), Some(Variant { change: 3, seconds: 0 }));
        assert_eq!(Variant::default().reason(), None);
        let next = Variant::default().next_change().and_then(Variant::reason);
        assert!(
            next.is_some_and(|reason| reason.starts_with("another change")),
            "{next:?}"
        );
        let older = second.reason();
        assert!(
            older.is_some_and(|reason| reason.starts_with("another commit")),
            "{older:?}"
        );
    }
}
