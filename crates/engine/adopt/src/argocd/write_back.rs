//! The write-back to Git as what an automation commits, and where.

use std::collections::BTreeMap;

use super::application::{Application, Kind, is_template};
use super::error::NoCommit;
use super::settings::{Forge, WriteBack};
use crate::adopted::{Git, WriteBack as Commit};
use crate::files::Files;
use crate::remarks::{At, Told, Weight};
use bumpwright_nearest::meant;
use bumpwright_policy::ANNOTATION_PREFIX;
use bumpwright_semver::Version;
use bumpwright_text::Cuts;

/// What `write-back-method` may be.
const METHODS: [&str; 2] = ["git", "argocd"];

/// Letters of a commit's id.
const COMMIT_LENGTH: usize = 40;

/// The branch for requests, where argocd-image-updater makes one for each change.
const REQUESTS: &str = "image-updater";

pub(super) const CREDENTIALS: &str = "the credentials of Argo CD are not read: name a Secret for the push in spec.secretRef of the GitRepository \
    (docs/guides/private-git.md)";

/// The author of commits.
pub(super) type Author = (String, String);

/// What is known besides the write-back itself, and what there is to tell.
pub(super) struct Context<'a> {
    /// The Application; none when a rule fits none.
    pub(super) application: Option<&'a Application<'a>>,
    pub(super) files: &'a Files<'a>,
    pub(super) author: &'a Author,
    pub(super) namespace: &'a str,
    pub(super) at: At,
    pub(super) told: Vec<(Weight, At, String)>,
}

impl Context<'_> {
    fn note(&mut self, at: At, text: impl Into<String>) {
        self.told.push((Weight::Note, at, text.into()));
    }

    /// What is committed.
    ///
    /// # Errors
    /// [`NoCommit`], but for its `NoApplication`.
    pub(super) fn commit(&mut self, write_back: &WriteBack) -> Result<Commit, NoCommit> {
        let method = write_back.method.as_ref().map_or("argocd", |told| told.value.as_str());
        let (method, credentials) = method.split_once(':').unwrap_or((method, "repocreds"));
        if !METHODS.contains(&method) {
            return Err(NoCommit::Method {
                method: method.to_owned(),
                meant: meant(method, METHODS),
            });
        }
        if method != "git" {
            let at = write_back.method.as_ref().map_or(self.at, |told| told.at);
            self.note(
                at,
                "argocd-image-updater sets the image in the Application of the cluster, where it takes precedence: remove that \
                 (argocd app unset); from now on it is written to Git",
            );
        }
        let url = self.url(write_back)?;
        let (branch, push) = self.branches(write_back, &url.value)?;
        let mut commit = Commit {
            git: Git {
                url: address(&url.value),
                branch,
                secret: None,
            },
            push,
            options: BTreeMap::new(),
            annotations: BTreeMap::new(),
            author: self.author.clone(),
        };
        commit.git.secret = self.secret(write_back, credentials, &commit.git.url);
        self.request(write_back, &mut commit);
        Ok(commit)
    }

    /// The repository that is written to.
    fn url(&self, write_back: &WriteBack) -> Result<Told<String>, NoCommit> {
        let kind = match write_back.target.as_ref().map(|told| told.value.as_str()) {
            Some(target) if target.starts_with("kustomization") => Kind::Kustomize,
            _ => Kind::Helm,
        };
        let application = self.application;
        let source = application.and_then(|application| application.source(Some(kind), self.files));
        // Beside a chart: the repository that has its values.
        let beside = || {
            let mut sources = application.into_iter().flat_map(Application::sources);
            sources.find(|source| !source.has("chart"))
        };
        let own = source
            .filter(|source| source.path().is_some())
            .or_else(beside)
            .and_then(|source| source.text("repoURL"));
        let found = write_back.repository.clone().or_else(|| {
            Some(Told {
                value: own?.to_owned(),
                at: self.at,
                name: "repoURL".to_owned(),
            })
        });
        let why = match &found {
            Some(told) if is_template(&told.value) => "its repository depends on the generator of the ApplicationSet",
            Some(told) if !is_fetched(&address(&told.value)) => {
                "its repository is at no address of https://, http:// or ssh://"
            }
            Some(told) => return Ok(told.clone()),
            None => "no repository of Git is known",
        };
        Err(NoCommit::Repository(why))
    }

    /// The branch to start from, and the one to push to if it is another one.
    fn branches(&mut self, write_back: &WriteBack, url: &str) -> Result<(String, Option<String>), NoCommit> {
        let told = write_back.branch.as_ref();
        let (base, push) = match told.map(|told| told.value.split_once(':').unwrap_or((&told.value, ""))) {
            Some((base, push)) => (base, push),
            None => ("", ""),
        };
        let base = match base {
            "" => self.revision(url)?,
            base => base.to_owned(),
        };
        let Some(told) = told.filter(|_| !push.is_empty()) else {
            return Ok((base, None));
        };
        if !is_template(push) {
            return Ok((base.clone(), (push != base).then(|| push.to_owned())));
        }
        let fixed = fixed_part(push);
        self.note(
            told.at,
            format!(
                "{}: bumpwright pushes to one branch, not to one for each change: {push:?} became {fixed:?}; choose another name in \
                 spec.git.push.branch if you like",
                told.name
            ),
        );
        Ok((base, Some(fixed)))
    }

    /// The branch that the Application follows.
    fn revision(&mut self, url: &str) -> Result<String, NoCommit> {
        let sources: Vec<_> = self.application.into_iter().flat_map(Application::sources).collect();
        let same = sources.iter().find(|source| source.text("repoURL") == Some(url));
        let source = same.or_else(|| sources.iter().find(|source| source.path().is_some()));
        match source.and_then(|source| source.text("targetRevision")) {
            Some(revision) if revision != "HEAD" && !is_template(revision) => match other_revision(revision) {
                Some(kind) => Err(NoCommit::Branch {
                    revision: revision.to_owned(),
                    kind,
                }),
                None => Ok(revision.to_owned()),
            },
            other => {
                let text = format!(
                    "targetRevision is {}, which names no branch: the automation takes main; write another one there if it is another",
                    other.unwrap_or("not set")
                );
                self.note(self.at, text);
                Ok("main".to_owned())
            }
        }
    }

    fn secret(&mut self, write_back: &WriteBack, credentials: &str, url: &str) -> Option<String> {
        let at = write_back.method.as_ref().map_or(self.at, |told| told.at);
        let Some(reference) = credentials.strip_prefix("secret:") else {
            self.note(at, CREDENTIALS);
            return None;
        };
        let (namespace, name) = reference.split_once('/').unwrap_or((self.namespace, reference));
        if namespace != self.namespace {
            self.note(
                at,
                format!(
                    "the Secret {reference} is in another namespace, and a GitRepository reads those of its own: copy it to {}",
                    self.namespace
                ),
            );
        }
        if url.starts_with("ssh://") {
            self.note(
                at,
                format!(
                    "the Secret {name} has the key as sshPrivateKey, and a GitRepository reads it as identity, with known_hosts beside \
                     it: add them"
                ),
            )
        } else {
            self.note(
                at,
                format!(
                    "the Secret {name} is read for username and password; if it has the key of a GitHub App set spec.provider: github \
                     of the GitRepository"
                ),
            )
        }
        Some(name.to_owned())
    }

    /// Pull requests and merge requests.
    fn request(&mut self, write_back: &WriteBack, commit: &mut Commit) {
        let Some(request) = &write_back.request else { return };
        let push = commit.push.get_or_insert_with(|| REQUESTS.to_owned()).clone();
        self.note(
            request.at,
            format!(
                "{}: one request is kept up to date, from the branch {push}; there is not one for each change",
                request.name
            ),
        );
        match request.value {
            Forge::GitHub => {
                let key = format!("{ANNOTATION_PREFIX}pull-request");
                commit.annotations.insert(key, "github".to_owned());
            }
            Forge::GitLab => {
                let option = |name: &str| format!("merge_request.{name}");
                commit.options.insert(option("create"), String::new());
                commit.options.insert(option("target"), commit.git.branch.clone());
            }
        }
        if let Some(labels) = &write_back.labels {
            let text = format!(
                "{}: requests get no labels here; let a rule of the forge add them",
                labels.name
            );
            self.told.push((Weight::Left, labels.at, text));
        }
    }
}

/// The address as a URL: `git@host:path` is one by ssh.
fn address(url: &str) -> String {
    match url.split_once(':') {
        Some((host, path)) if !url.contains("://") && host.contains('@') => {
            format!("ssh://{host}/{}", path.trim_start_matches('/'))
        }
        _ => url.to_owned(),
    }
}

/// What a revision is if it names no branch, as far as that can be told by its form.
fn other_revision(revision: &str) -> Option<&'static str> {
    let version = revision.strip_prefix('v').unwrap_or(revision);
    let is_commit = revision.len() == COMMIT_LENGTH && revision.bytes().all(|byte| byte.is_ascii_hexdigit());
    match revision {
        _ if is_commit => Some("a commit"),
        _ if revision.contains(['*', '>', '<', '~', '^']) => Some("a range of tags"),
        _ if Version::parse_strict(version).is_ok() => Some("a tag"),
        _ => None,
    }
}

/// Whether a GitRepository may have this address.
fn is_fetched(url: &str) -> bool {
    let scheme = url.split_once("://").map(|(scheme, _)| scheme);
    matches!(scheme, Some("https" | "http" | "ssh"))
}

/// The text of a template before its first action, as a name of a branch.
fn fixed_part(template: &str) -> String {
    let before = template.before("{{");
    match before.trim_end_matches(['-', '/', '.', '_', ':']) {
        "" => REQUESTS.to_owned(),
        fixed => fixed.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_scp_become_urls() {
        for (told, url) in [
            ("git@github.com:acme/fleet.git", "ssh://git@github.com/acme/fleet.git"),
            ("https://github.com/acme/fleet", "https://github.com/acme/fleet"),
            ("ssh://git@host:2222/fleet", "ssh://git@host:2222/fleet"),
        ] {
            assert_eq!(address(told), url);
            assert!(is_fetched(url));
        }
        for url in [
            "a'https://github.com/acme/fleet",
            "git://host/fleet",
            "file:///srv/fleet",
            "/srv/fleet",
            "",
        ] {
            assert!(!is_fetched(&address(url)), "{url}");
        }
    }

    #[test]
    fn revisions_that_name_no_branch_are_known_by_their_form() {
        for (revision, kind) in [
            ("main", None),
            ("release-1.2", None),
            ("1.2.x", None),
            ("v1", None),
            ("v1.2.3", Some("a tag")),
            ("1.2.3-rc.1", Some("a tag")),
            ("0123456789abcdef0123456789abcdef01234567", Some("a commit")),
            ("~1.2", Some("a range of tags")),
            ("1.*", Some("a range of tags")),
        ] {
            assert_eq!(other_revision(revision), kind, "{revision}");
        }
    }

    #[test]
    fn a_branch_is_what_a_template_always_says() {
        for (template, branch) in [
            ("image-updater-{{.SHA256}}", "image-updater"),
            ("bump/{{range .Images}}{{.Name}}{{end}}", "bump"),
            ("{{.SHA256}}", "image-updater"),
        ] {
            assert_eq!(fixed_part(template), branch);
        }
    }
}
