//! Changes at Gerrit: what they hold before a push would amend them, and which others there are (REST API, *Query
//! Changes*; over SSH `ssh`; Gerrit 3.10).

mod change;
mod ssh;

use url::Url;

use super::calls::Calls;
use super::dialect::GERRIT;
use super::login::Login;
use super::{ForgeError, Repository};
use bumpwright_http::{Peer, Request};
use change::{ANSWER, Change, MOST, change_at};
use ssh::{FILES, PATCH_SETS, over_ssh};

pub use change::{ChangeStatus, GerritChange};
pub use ssh::{GerritShell, NoOutput};

/// The start of each answer, which keeps browsers from running it.
const GUARD: &[u8] = b")]}'";

/// A project at Gerrit, with a client of its API. Its calls block.
#[derive(Debug)]
pub struct Gerrit {
    project: String,
    door: Door,
}

/// How Gerrit is asked.
#[derive(Debug)]
enum Door {
    /// Over HTTP, below this address.
    Rest(Url, Box<Calls>),
    /// By the server's command `gerrit query`, over SSH.
    Shell(Box<dyn GerritShell>),
}

impl Gerrit {
    /// Creates the client of the REST API with the connection settings `peer`. Nothing is connected yet.
    #[must_use]
    pub fn new(project: Repository, login: Login, peer: Peer) -> Self {
        Self {
            project: project.name,
            door: Door::Rest(project.api, Box::new(Calls::new(&GERRIT, login, peer))),
        }
    }

    /// A client that asks over SSH, for a repository at this path; none for a path that queries cannot name.
    #[must_use]
    pub fn over_ssh(path: &str, shell: Box<dyn GerritShell>) -> Option<Self> {
        let path = path.trim_matches('/');
        let project = path.strip_suffix(".git").unwrap_or(path);
        if project.is_empty() || project.contains(['"', '\\']) {
            return None;
        }
        Some(Self {
            project: project.to_owned(),
            door: Door::Shell(shell),
        })
    }

    /// The change with this Change-Id for a branch, open or closed.
    ///
    /// # Errors
    /// [`ForgeError`] when Gerrit does not answer or refuses.
    pub fn change(&self, branch: &str, change_id: &str) -> Result<Option<GerritChange>, ForgeError> {
        let attempt = format!("look at the change {change_id}");
        let query = format!("{} change:{change_id}", self.for_branch(branch));
        let found = match &self.door {
            Door::Rest(api, calls) => self.rest((api, calls), &attempt, &query, &["ALL_REVISIONS"])?,
            Door::Shell(shell) => over_ssh(&**shell, &attempt, &query, PATCH_SETS)?,
        };
        Ok(found.into_iter().find(|change| change.change_id == change_id))
    }

    /// The open changes of this account for a branch, with their paths: the 50 that changed last.
    ///
    /// # Errors
    /// [`ForgeError`] when Gerrit does not answer or refuses.
    pub fn own_changes(&self, branch: &str) -> Result<Vec<GerritChange>, ForgeError> {
        let attempt = "list the open changes";
        let query = format!("status:open {} owner:self", self.for_branch(branch));
        match &self.door {
            Door::Rest(api, calls) => self.rest((api, calls), attempt, &query, &["CURRENT_REVISION", "CURRENT_FILES"]),
            Door::Shell(shell) => over_ssh(&**shell, attempt, &query, FILES),
        }
    }

    fn for_branch(&self, branch: &str) -> String {
        format!("project:\"{}\" branch:\"{branch}\"", self.project)
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "open changes of a project with their files; bound: 2 MiB; account: memory of fetches"
    )]
    fn rest(
        &self,
        (api, calls): (&Url, &Calls),
        attempt: &str,
        query: &str,
        options: &[&str],
    ) -> Result<Vec<GerritChange>, ForgeError> {
        let mut url = below(api, ["a", "changes", ""]);
        let mut pairs = url.query_pairs_mut();
        pairs.append_pair("q", query).append_pair("n", &MOST.to_string());
        for option in options {
            pairs.append_pair("o", option);
        }
        drop(pairs);
        let mut answer = calls.send(attempt, Request::get(url).limit(ANSWER))?;
        if !answer.status.is_success() {
            return Err(calls.refused(attempt, &answer));
        }
        answer.body = unguarded(&answer.body).to_vec();
        let changes: Vec<Change> = calls.read(attempt, &answer)?;
        let changes = changes.into_iter();
        Ok(changes
            .filter_map(|change| {
                let url = self.page(api, change.number);
                change_at(change, url)
            })
            .collect())
    }

    /// The address of a change's page.
    fn page(&self, api: &Url, number: u64) -> String {
        let number = number.to_string();
        let project = self.project.split('/');
        below(api, std::iter::once("c").chain(project).chain(["+", number.as_str()])).to_string()
    }
}

/// An address at the server.
fn below<'a>(api: &Url, path: impl IntoIterator<Item = &'a str>) -> Url {
    let mut url = api.clone();
    if let Ok(mut segments) = url.path_segments_mut() {
        segments.pop_if_empty().extend(path);
    }
    url
}

fn unguarded(body: &[u8]) -> &[u8] {
    body.strip_prefix(GUARD).unwrap_or(body)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn gerrit(url: &str) -> Gerrit {
        let project = Repository::at_gerrit(&Url::parse(url).unwrap()).unwrap();
        Gerrit::new(project, Login::Nobody, Peer::default())
    }

    #[test]
    fn a_change_has_a_page_below_the_folder_of_its_server() {
        let gerrit = gerrit("https://review.example/gerrit/a/x/fleet.git");
        let api = Url::parse("https://review.example/gerrit").unwrap();
        assert_eq!(gerrit.page(&api, 7), "https://review.example/gerrit/c/x/fleet/+/7");
    }

    #[test]
    fn answers_have_a_guard() {
        assert_eq!(unguarded(b")]}'\n[]"), b"\n[]");
        assert_eq!(unguarded(b"[]"), b"[]");
    }

    /// Fails with the argument of the command.
    #[derive(Debug)]
    struct Silent;

    impl GerritShell for Silent {
        fn output(&self, _: &str, argument: &str, _: usize) -> Result<Option<Vec<u8>>, NoOutput> {
            Err(NoOutput {
                why: argument.to_owned(),
            })
        }
    }

    #[test]
    fn a_project_over_ssh_is_named_by_its_path() {
        let gerrit = Gerrit::over_ssh("/x/fleet.git", Box::new(Silent)).unwrap();
        let error = gerrit.change("main", "I01").unwrap_err().to_string();
        assert!(
            error.contains("project:\"x/fleet\" branch:\"main\" change:I01"),
            "{error}"
        );
        for path in ["", "/", "x\"y", "x\\y"] {
            assert!(Gerrit::over_ssh(path, Box::new(Silent)).is_none(), "{path}");
        }
    }

    #[test]
    fn changes_are_asked_for_below_a_login() {
        let project = Repository::at_gerrit(&Url::parse("https://review.example/a/fleet").unwrap()).unwrap();
        assert_eq!(
            below(&project.api, ["a", "changes", ""]).as_str(),
            "https://review.example/a/changes/"
        );
    }
}
