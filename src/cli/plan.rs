//! From what was typed to what is done (CLI.md, *`update`: what TARGET means*).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::args::Update;
use super::target::{Target, classify};
use super::{access, author, load, places::Places};
use crate::api::{GitRef, GitRepository, ImageUpdateAutomation, Objects, parse_latest_image};
use crate::automation::{
    Author, DEFAULT_MESSAGE, DestinationError, Edits, FolderJob, Place, Policies, PushSettings, Refspec, RemoteJob,
    Run, Start, WorktreeCommit,
};
use crate::git::Remote;
use crate::policy::{Constraint, PolicyName};

/// What is done for one automation, or for the whole of a plain run.
pub enum Step {
    /// Edit a folder.
    Folder(FolderJob, Vec<String>),
    /// Fetch, commit and push.
    Remote(Box<RemoteJob>, Place, Vec<String>),
    /// There is nothing to run; the report says why.
    Done(Run),
}

/// What was typed, with everything read that it names.
struct Typed<'a> {
    args: &'a Update,
    objects: Objects,
    policies: Arc<Policies>,
    refspecs: Vec<Refspec>,
    options: Vec<(String, String)>,
    message: Option<String>,
    author: Option<Author>,
}

/// Plans a run.
///
/// # Errors
///
/// Usage errors and manifests that cannot be read, in words for the user: nothing was done.
pub fn plan(args: &Update, places: &mut Places) -> Result<Vec<Step>, String> {
    let typed = Typed::read(args)?;
    let automations: Vec<&ImageUpdateAutomation> = typed.objects.automations().collect();
    let target = match (&args.target, automations.is_empty()) {
        (Some(text), _) => Some(classify(text)?),
        (None, true) => Some(classify(".")?),
        (None, false) => None,
    };
    match target {
        Some(Target::Folder(root)) => typed.in_folder(&automations, &root, None),
        Some(Target::File(file)) => typed.in_file(&automations, &file),
        Some(Target::Remote(url)) if automations.is_empty() => Ok(vec![typed.plain_remote(&url, places)?]),
        Some(Target::Remote(url)) => {
            one_source(&automations)?;
            typed.refuse_many(&automations)?;
            Ok(automations
                .iter()
                .map(|a| typed.automation(a, Some(&url), places))
                .collect())
        }
        None => {
            typed.refuse_many(&automations)?;
            typed.refuse_spread(&automations)?;
            Ok(automations.iter().map(|a| typed.automation(a, None, places)).collect())
        }
    }
}

/// Rule 4: TARGET stands for one GitRepository.
fn one_source(automations: &[&ImageUpdateAutomation]) -> Result<(), String> {
    let mut sources: Vec<String> = automations.iter().map(|a| a.source_name().to_string()).collect();
    sources.sort();
    sources.dedup();
    match sources.as_slice() {
        [] | [_] => Ok(()),
        several => Err(format!(
            "TARGET would replace several GitRepositories ({}): leave TARGET out, or give automations of one source",
            several.join(", ")
        )),
    }
}

impl<'a> Typed<'a> {
    fn read(args: &'a Update) -> Result<Self, String> {
        let objects = load::load(&args.filenames)?;
        let mut policies = Policies::default();
        for policy in objects.image_policies() {
            policies.add(policy);
        }
        for text in &args.set {
            let (name, image) = set(text)?;
            policies.set(name, image);
        }
        let refspecs = args
            .refspecs
            .iter()
            .map(|text| Refspec::parse(text))
            .collect::<Result<_, _>>();
        let message = args.message.as_deref().map(message).transpose()?;
        if let Some(text) = message.as_deref().filter(|text| text.contains("{{")) {
            return Err(format!(
                "--message {text:?}: templates are not supported yet; give literal text"
            ));
        }
        Ok(Self {
            args,
            objects,
            policies: Arc::new(policies),
            refspecs: refspecs.map_err(|e| e.to_string())?,
            options: args
                .push_options
                .iter()
                .map(|text| option(text))
                .collect::<Result<_, _>>()?,
            message,
            author: args.author.as_deref().map(author::parse).transpose()?,
        })
    }

    /// A flag about what is fetched or pushed, if one was given.
    fn push_flag(&self) -> Option<&'static str> {
        let args = self.args;
        let given = [
            ("--branch", args.branch.is_some()),
            ("--push-branch", args.push_branch.is_some()),
            ("--refspec", !args.refspecs.is_empty()),
            ("--push-option", !args.push_options.is_empty()),
        ];
        given.into_iter().find_map(|(flag, given)| given.then_some(flag))
    }

    /// Flags that only a remote can follow.
    fn refuse_in_folder(&self) -> Result<(), String> {
        let args = self.args;
        if let Some(flag) = self.push_flag() {
            return Err(format!(
                "{flag} needs a remote: a folder is edited in place and never pushed"
            ));
        }
        let given = [
            ("--author", args.author.is_some()),
            ("--message", args.message.is_some()),
        ];
        match given.iter().find(|(_, given)| *given && !args.commit) {
            Some((flag, _)) => Err(format!("{flag} needs --commit when a folder is edited in place")),
            None => Ok(()),
        }
    }

    /// Rule 6: flags about one push cannot serve several automations.
    fn refuse_many(&self, automations: &[&ImageUpdateAutomation]) -> Result<(), String> {
        match self.push_flag() {
            Some(flag) if automations.len() > 1 => Err(format!(
                "{flag} cannot be used with {} automations: give one, or set it in their manifests",
                automations.len()
            )),
            _ => Ok(()),
        }
    }

    /// Credentials from flags or the environment are for one host: they are never sent to another.
    fn refuse_spread(&self, automations: &[&ImageUpdateAutomation]) -> Result<(), String> {
        let urls = automations
            .iter()
            .filter_map(|a| self.objects.git_repository(&a.source_name()));
        let mut hosts: Vec<String> = urls.filter_map(|r| access::host(&r.spec.url)).collect();
        hosts.sort();
        hosts.dedup();
        if hosts.len() > 1 && access::holds_secret(&self.args.access) {
            return Err(format!(
                "credentials from flags or the environment would go to several hosts ({}): run them one by one, or give Secrets",
                hosts.join(", ")
            ));
        }
        Ok(())
    }

    fn edits(&self, automation: Option<&ImageUpdateAutomation>) -> Result<Edits, String> {
        let spec = automation.map(|a| &a.spec);
        let selector = spec.and_then(|spec| spec.policy_selector.clone());
        if let Some(selector) = &selector {
            selector
                .validate()
                .map_err(|e| format!("failed to parse policy selector: {e}"))?;
        }
        Ok(Edits {
            automation: automation.map(|a| a.metadata.object_name().to_string()),
            namespace: automation.map(|a| a.metadata.namespace_or_default().to_owned()),
            selector,
            path: self
                .args
                .path
                .clone()
                .or_else(|| spec.and_then(|spec| spec.update.path.clone())),
            policies: self.policies.clone(),
            dry_run: self.args.dry_run,
        })
    }

    fn in_file(&self, automations: &[&ImageUpdateAutomation], file: &Path) -> Result<Vec<Step>, String> {
        if self.args.path.is_some() {
            return Err("--path cannot be used when TARGET is a file".to_owned());
        }
        let name = file
            .file_name()
            .and_then(|name| name.to_str())
            .ok_or("TARGET's name is not UTF-8")?;
        let parent = match file.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        self.in_folder(automations, parent, Some(name))
    }

    fn in_folder(
        &self,
        automations: &[&ImageUpdateAutomation],
        root: &Path,
        only: Option<&str>,
    ) -> Result<Vec<Step>, String> {
        self.refuse_in_folder()?;
        if automations.is_empty() {
            return Ok(vec![self.folder(None, root, only)?]);
        }
        let step = |automation: &&ImageUpdateAutomation| {
            let step = self.folder(Some(automation), root, only);
            step.unwrap_or_else(|error| failed(Some(automation), &root.display().to_string(), error))
        };
        Ok(automations.iter().map(step).collect())
    }

    fn folder(
        &self,
        automation: Option<&ImageUpdateAutomation>,
        root: &Path,
        only: Option<&str>,
    ) -> Result<Step, String> {
        let mut edits = self.edits(automation)?;
        let mut notes = Vec::new();
        if only.is_some() {
            edits.path = None;
        }
        let commit = self
            .args
            .commit
            .then(|| {
                Ok::<_, String>(WorktreeCommit {
                    author: self.author(automation, Some(root))?,
                    message: self.message_of(automation, &mut notes)?,
                })
            })
            .transpose()?;
        let job = FolderJob {
            edits,
            root: root.to_owned(),
            only: only.map(str::to_owned),
            shown: self.args.target.clone().unwrap_or_else(|| ".".to_owned()),
            commit,
        };
        Ok(Step::Folder(job, notes))
    }

    fn plain_remote(&self, url: &str, places: &mut Places) -> Result<Step, String> {
        let remote = access::plain(url, &self.args.access)?;
        let start = self.args.branch.clone().map_or(Start::Default, Start::Branch);
        let mut notes = Vec::new();
        let job = RemoteJob {
            edits: self.edits(None)?,
            url: remote.url.to_string(),
            start,
            branch: None,
            push: PushSettings {
                branch: self.args.push_branch.clone(),
                refspecs: self.refspecs.clone(),
                options: self.options.clone(),
            },
            author: self.author(None, None)?,
            message: self.message_of(None, &mut notes)?,
        };
        Ok(Step::Remote(Box::new(job), places.place(&remote)?, notes))
    }

    /// One automation against its GitRepository, or against `url` instead.
    fn automation(&self, automation: &ImageUpdateAutomation, url: Option<&str>, places: &mut Places) -> Step {
        let mut notes = Vec::new();
        let step = self.try_automation(automation, url, places, &mut notes);
        step.unwrap_or_else(|error| {
            let source = automation.source_name().to_string();
            failed(Some(automation), url.unwrap_or(&source), error)
        })
    }

    fn try_automation(
        &self,
        automation: &ImageUpdateAutomation,
        url: Option<&str>,
        places: &mut Places,
        notes: &mut Vec<String>,
    ) -> Result<Step, String> {
        if automation.spec.suspend {
            notes.push("suspended: spec.suspend is true, so nothing was done".to_owned());
            let run = Run {
                notes: std::mem::take(notes),
                ..empty(Some(automation), url.unwrap_or_default())
            };
            return Ok(Step::Done(run));
        }
        if automation.spec.git.is_none() {
            return Err(
                "source kind 'GitRepository' necessitates field .spec.git: invalid source configuration".to_owned(),
            );
        }
        let source = automation.source_name();
        let repository = self.objects.git_repository(&source);
        let remote = self.remote(repository, url, notes).map_err(|e| match repository {
            None => format!("{e}: GitRepository {source} is not among the manifests in -f"),
            Some(_) => e,
        })?;
        let reference = automation.checkout_ref(repository.and_then(|r| r.spec.reference.as_ref()));
        let (start, branch) = self.start(reference, repository.is_some())?;
        let push = self.push_of(automation)?;
        let says_nothing = reference.is_none_or(|reference| *reference == GitRef::default());
        if says_nothing && repository.is_some() && self.args.branch.is_none() && push.branch.is_none() {
            // `master` is read when nothing is said, but it is not written to (IUA-074).
            return Err(DestinationError::NoBranch.to_string());
        }
        let job = RemoteJob {
            edits: self.edits(Some(automation))?,
            url: remote.url.to_string(),
            start,
            branch,
            push,
            author: self.author(Some(automation), None)?,
            message: self.message_of(Some(automation), notes)?,
        };
        Ok(Step::Remote(
            Box::new(job),
            places.place(&remote)?,
            std::mem::take(notes),
        ))
    }

    fn remote(
        &self,
        repository: Option<&GitRepository>,
        url: Option<&str>,
        notes: &mut Vec<String>,
    ) -> Result<Remote, String> {
        match (repository, url) {
            (Some(repository), url) => {
                let url = url.unwrap_or(&repository.spec.url);
                access::of_repository(url, repository, &self.objects, &self.args.access, notes)
            }
            (None, Some(url)) => access::plain(url, &self.args.access),
            (None, None) => Err("referenced git repository does not exist".to_owned()),
        }
    }

    /// Commit before name before range before tag before branch (GitRepository v1, *Reference*); `--branch` before all.
    fn start(&self, reference: Option<&GitRef>, has_repository: bool) -> Result<(Start, Option<String>), String> {
        if let Some(branch) = &self.args.branch {
            return Ok((Start::Branch(branch.clone()), None));
        }
        let Some(reference) = reference else {
            // Flux's default for a GitRepository without a reference; without one there is nobody to default for.
            let start = if has_repository {
                Start::Branch("master".to_owned())
            } else {
                Start::Default
            };
            return Ok((start, None));
        };
        let set = |field: &Option<String>| field.clone().filter(|text| !text.is_empty());
        let branch = set(&reference.branch);
        let start = if let Some(commit) = set(&reference.commit) {
            Start::Commit(commit)
        } else if let Some(name) = set(&reference.name) {
            Start::Name(name)
        } else if let Some(range) = set(&reference.semver) {
            Constraint::parse(&range).map_err(|e| format!("semver {range:?}: {e}"))?;
            Start::Semver(range)
        } else if let Some(tag) = set(&reference.tag) {
            Start::Tag(tag)
        } else {
            Start::Branch(branch.clone().unwrap_or_else(|| "master".to_owned()))
        };
        Ok((start, branch))
    }

    /// The automation's push section, with flags over it.
    fn push_of(&self, automation: &ImageUpdateAutomation) -> Result<PushSettings, String> {
        let push = automation.spec.git.as_ref().and_then(|git| git.push.as_ref());
        let set = |field: Option<&String>| field.cloned().filter(|text| !text.is_empty());
        let mut refspecs = self.refspecs.clone();
        if refspecs.is_empty()
            && let Some(text) = set(push.and_then(|push| push.refspec.as_ref()))
        {
            refspecs.push(Refspec::parse(&text).map_err(|e| e.to_string())?);
        }
        let mut options: BTreeMap<String, String> = push.map(|push| push.options.clone()).unwrap_or_default();
        options.extend(self.options.iter().cloned());
        Ok(PushSettings {
            branch: self
                .args
                .push_branch
                .clone()
                .or_else(|| set(push.and_then(|push| push.branch.as_ref()))),
            refspecs,
            options: options.into_iter().collect(),
        })
    }

    /// Rule 8: the flag, the automation's author, git's own settings.
    fn author(&self, automation: Option<&ImageUpdateAutomation>, folder: Option<&Path>) -> Result<Author, String> {
        if let Some(author) = &self.author {
            return Ok(author.clone());
        }
        let commit = automation.and_then(|a| a.spec.git.as_ref()).map(|git| &git.commit);
        if let Some(commit) = commit {
            let author = &commit.author;
            return Ok(Author {
                name: author.name.clone(),
                email: author.email.clone(),
            });
        }
        let found = author::from_git(folder);
        match found {
            // A preview makes no commit: it need not fail for want of a name.
            None if self.args.dry_run => Ok(Author {
                name: String::new(),
                email: "nobody@localhost".to_owned(),
            }),
            found => found.ok_or_else(|| {
                "no author for the commit: give --author 'Name <mail>', or set git's user.name and user.email"
                    .to_owned()
            }),
        }
    }

    /// The message, and why the commit cannot be made as the automation wants it: said in a preview, else an error.
    fn message_of(
        &self,
        automation: Option<&ImageUpdateAutomation>,
        notes: &mut Vec<String>,
    ) -> Result<String, String> {
        let commit = automation.and_then(|a| a.spec.git.as_ref()).map(|git| &git.commit);
        if commit.is_some_and(|commit| commit.signing_key.is_some()) {
            self.unsupported(
                "spec.git.commit.signingKey: signing is not supported yet, and unsigned commits are not pushed instead",
                notes,
            )?;
        }
        if let Some(message) = &self.message {
            return Ok(message.clone());
        }
        let template = commit
            .and_then(|commit| commit.message_template.as_deref())
            .filter(|text| !text.is_empty());
        let template = template.unwrap_or(DEFAULT_MESSAGE);
        if template.contains("{{") {
            self.unsupported(
                "spec.git.commit.messageTemplate: templates are not supported yet; give --message",
                notes,
            )?;
        }
        Ok(template.to_owned())
    }

    fn unsupported(&self, what: &str, notes: &mut Vec<String>) -> Result<(), String> {
        if !self.args.dry_run {
            return Err(what.to_owned());
        }
        notes.push(what.to_owned());
        Ok(())
    }
}

/// A report that holds nothing yet.
fn empty(automation: Option<&ImageUpdateAutomation>, target: &str) -> Run {
    Run {
        automation: automation.map(|a| a.metadata.object_name().to_string()),
        target: target.to_owned(),
        ..Run::default()
    }
}

fn failed(automation: Option<&ImageUpdateAutomation>, target: &str, error: String) -> Step {
    Step::Done(Run {
        error: Some(error),
        ..empty(automation, target)
    })
}

/// `NS:POLICY=IMAGE[:TAG][@DIGEST]`.
fn set(text: &str) -> Result<(PolicyName, crate::policy::LatestRef), String> {
    let usage = || format!("--set {text:?}: expected NS:POLICY=IMAGE[:TAG][@DIGEST]");
    let (policy, image) = text.split_once('=').ok_or_else(usage)?;
    let (namespace, name) = policy
        .split_once(':')
        .filter(|(ns, name)| !ns.is_empty() && !name.is_empty())
        .ok_or_else(usage)?;
    if name.contains(':') {
        return Err(usage());
    }
    let image = parse_latest_image(image).map_err(|e| format!("--set {text:?}: {e}"))?;
    image.check().map_err(|e| format!("--set {text:?}: {e}"))?;
    Ok((PolicyName::new(namespace, name), image))
}

/// `K=V`; the value may be empty, and so may be the `=` (IUA-085).
fn option(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').unwrap_or((text, ""));
    if key.is_empty() || text.contains(['\n', '\0']) {
        return Err(format!("--push-option {text:?}: expected KEY=VALUE on one line"));
    }
    Ok((key.to_owned(), value.to_owned()))
}

/// The text, or the content of `@FILE`.
fn message(text: &str) -> Result<String, String> {
    match text.strip_prefix('@') {
        None => Ok(text.to_owned()),
        Some(file) => std::fs::read_to_string(PathBuf::from(file)).map_err(|e| format!("--message {text}: {e}")),
    }
}
