//! A run in a folder: files are edited in place, as by a formatter, and committed if requested.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::ahead::Ahead;
use super::rewrite::{FileChange, put_back, replace_all};
use super::worktree::{self, WorktreeCommit};
use crate::commit::message::Changed;
use crate::error::RunError;
use crate::find::facts::{Marked, kept};
use crate::find::path::{Node, join, shown};
use crate::find::ruled::{self, Named, RuleSet};
use crate::find::survey::{facts, unreadable};
use crate::history::past;
use crate::interrupt;
use crate::job::edits::Edits;
use crate::job::verify;
use crate::plan::planned::{self, Plan};
use crate::plan::{splice, verification};
use crate::policy::policies::Policies;
use crate::policy::repository_policies;
use crate::report::edited::Edited;
use crate::report::run::{CommitReport, Run};
use bumpwright_edit::{self as edit, Formats, LocalSkip, OWN_FOLDER, Plan as FilePlan, Reason, Skip};
use bumpwright_nearest::nearest_path;
use bumpwright_rules::Rules;

/// One run in a folder.
#[derive(Clone, Debug)]
pub struct FolderJob {
    pub edits: Edits,
    /// The folder that paths are relative to.
    pub root: PathBuf,
    /// Only this file of it, when TARGET is a file.
    pub only: Option<String>,
    /// The folder or file as the user wrote it.
    pub shown: String,
    /// How to commit, if at all.
    pub commit: Option<WorktreeCommit>,
}

/// Runs `job`. A failure is in the report's `error`; no file was changed then.
#[must_use]
pub fn run(job: &FolderJob, ahead: &mut Ahead) -> Run {
    let report = Run::begin(&job.edits, &job.shown);
    if !job.edits.dry_run {
        // What is written is what is in the folder; previews after it start from there.
        ahead.files.clear();
    }
    let mut attempt = Attempt { job, report };
    let outcome = attempt.run(ahead);
    let mut report = attempt.report;
    if let Err(error) = outcome {
        report.fail(&error);
        report.commit = None;
    }
    report
}

/// A run and its report. Each step's result is put into the report at once, so that a failure is reported together with
/// the steps before it.
struct Attempt<'a> {
    job: &'a FolderJob,
    report: Run,
}

/// The files of a run, and their edits.
struct Planned {
    /// The job's path, joined.
    below: String,
    marked: Vec<Marked<PathBuf>>,
    /// With the images of all policies named by markers.
    policies: Arc<Policies>,
    plan: Plan,
}

impl Attempt<'_> {
    fn run(&mut self, ahead: &mut Ahead) -> Result<(), RunError> {
        if interrupt::wanted() {
            return Err(RunError::Interrupted);
        }
        let job = self.job;
        let dry_run = job.edits.dry_run;
        if let Err(closed) = job.edits.check_window(job.edits.policies.now()) {
            self.report.close(closed);
            if !dry_run {
                return Ok(());
            }
        }
        let root = fs::canonicalize(&job.root).map_err(failed("open", &job.root))?;
        let planned = self.plan(&root, ahead)?;
        let (report, policies) = (&mut self.report, &planned.policies);
        let plans = report.set_plan(planned.plan, &planned.marked, policies);
        job.edits.check_asked(&report.named, &report.skips)?;
        report.files = spliced(&planned.marked, &plans, ahead)?;
        if report.files.is_empty() {
            let checked = job.commit.as_ref().map_or(Ok(()), |commit| commit.message.check());
            return checked.map_err(RunError::Message);
        }
        let base = verify::Base::Folder { root: &root, ahead };
        report.impact = verification::verify(&job.edits, base, (&report.changes, &report.files), &plans)?;
        report.ask_for_releases(&job.edits);
        let message = message(job, &planned.below, policies, report.edited())?;
        if let Some(commit) = &job.commit {
            report.commit = Some(worktree::prepare(commit, &message, &root, &report.files, &job.edits)?);
        }
        if dry_run {
            ahead.remember(&root, &report.files);
            return Ok(());
        }
        report.commit = interrupt::held(|| write(job, &message, &root, &report.files))?;
        Ok(())
    }

    /// Find → resolve → plan: nothing is written.
    fn plan(&mut self, root: &Path, ahead: &mut Ahead) -> Result<Planned, RunError> {
        let (job, notes) = (self.job, &mut self.report.notes);
        let work = ahead.work.entry(root.to_owned()).or_default().clone();
        let set = rules_of(job, root, ahead).on_account_of(work);
        let (below, mut marked) = find_marked(job, root, Reading::of(job, &set, ahead))?;
        set.check()?;
        let (policies, unread) = all_policies(job, root, &marked, ahead)?;
        notes.extend(unread);
        let policies = planned::resolved(policies, &marked, &job.edits);
        let mut plan = planned::plan(&marked, &job.edits, &policies, policies.now())?;
        let ignored = match job.commit {
            Some(_) => leave_ignored(root, &mut marked, &plan, &job.edits)?,
            None => Vec::new(),
        };
        if !ignored.is_empty() {
            notes.extend(ignored);
            plan = planned::plan(&marked, &job.edits, &policies, policies.now())?;
        }
        let (policies, note) = past::of_folder((&job.edits, &job.shown), root, (&marked, policies), &mut plan)?;
        notes.extend(note);
        let is_all = job.edits.path.is_none() && job.only.is_none();
        plan.add_skips_of_rules(&set, &named(&marked), is_all);
        set.check()?;
        Ok(Planned {
            below,
            marked,
            policies,
            plan,
        })
    }
}

/// Leaves out the files with edits that no commit can hold, since git ignores them. Returns a note on each.
fn leave_ignored(
    root: &Path,
    marked: &mut Vec<Marked<PathBuf>>,
    plan: &Plan,
    edits: &Edits,
) -> Result<Vec<String>, RunError> {
    let edited = plan.files.iter().filter_map(|(n, _)| marked.get(*n));
    let paths: Vec<&[u8]> = edited.map(|file| file.path.as_slice()).collect();
    let ignored = worktree::ignored(root, &paths, edits.dry_run)?;
    marked.retain(|file| !ignored.contains(&file.path));
    let notes = ignored.iter().map(|path| {
        format!(
            "{} is left as it is: git ignores it, so no commit can hold it; it is edited without --commit",
            shown(&edits.folder, &String::from_utf8_lossy(path))
        )
    });
    Ok(notes.collect())
}

/// Reads and splices the files that change.
fn spliced(
    marked: &[Marked<PathBuf>],
    plans: &[(usize, FilePlan)],
    ahead: &Ahead,
) -> Result<Vec<FileChange>, RunError> {
    let mut files = Vec::with_capacity(plans.len());
    for (n, plan) in plans {
        let Some(file) = marked.get(*n) else { continue };
        let old = ahead.read(&file.place, u64::MAX).map_err(failed("read", &file.place))?;
        files.push(splice::spliced(&file.path, &old, plan)?);
    }
    Ok(files)
}

/// The message of the commit, if one is requested.
fn message(job: &FolderJob, below: &str, policies: &Policies, edited: Edited<'_>) -> Result<Vec<u8>, RunError> {
    let Some(commit) = &job.commit else {
        return Ok(Vec::new());
    };
    commit.message.render(&Changed {
        automation: job.edits.automation.as_deref(),
        below,
        policies,
        edited,
    })
}

/// Writes the files, and commits them if requested.
fn write(job: &FolderJob, message: &[u8], root: &Path, files: &[FileChange]) -> Result<Option<CommitReport>, RunError> {
    let Some(commit) = &job.commit else {
        return replace_all(root, files).map(|()| None);
    };
    let head = worktree::head(root)?;
    replace_all(root, files)?;
    match worktree::commit(commit, message, root, files) {
        Ok(made) => Ok(Some(made)),
        // Git ended after it had committed, or somebody else committed: restoring the old contents would undo that.
        Err(error) if worktree::head(root)? != head => Err(RunError::HeadMoved(Box::new(error))),
        Err(error) => {
            // All or nothing: the files are restored.
            put_back(root, files)?;
            Err(error)
        }
    }
}

fn failed<'a>(action: &'static str, path: &'a Path) -> impl FnOnce(std::io::Error) -> RunError + 'a {
    move |source| RunError::File {
        action,
        path: path.display().to_string(),
        source,
    }
}

/// The job's path, joined, and the marked files below it.
fn find_marked(job: &FolderJob, root: &Path, reading: Reading<'_>) -> Result<(String, Vec<Marked<PathBuf>>), RunError> {
    let given = job.edits.path.as_deref().or(job.only.as_deref()).unwrap_or_default();
    let path = join(given, |at| node(&root.join(at)))?;
    let start = root.join(&path);
    if fs::symlink_metadata(&start).is_err() {
        return Err(RunError::NoSuchPath {
            path: given.to_owned(),
            target: job.shown.clone(),
            near: nearest_path(given, |folder| names(&root.join(folder))),
        });
    }
    let mut found = Vec::new();
    open(&start).map_err(failed("read", &start))?;
    visit(&start, path.clone().into_bytes(), reading, &mut found);
    Ok((path, found))
}

/// The names in a folder; none if it cannot be read.
fn names(folder: &Path) -> Option<Vec<String>> {
    let entries = fs::read_dir(folder).ok()?.flatten();
    Some(
        entries
            .filter_map(|entry| entry.file_name().into_string().ok())
            .collect(),
    )
}

/// Looks up a path of the folder.
fn node(path: &Path) -> Result<Node, RunError> {
    match fs::symlink_metadata(path) {
        Ok(meta) if meta.is_symlink() => {
            let target = fs::read_link(path).map_err(failed("read", path))?;
            Ok(Node::Link(target.to_string_lossy().into_owned()))
        }
        Ok(_) => Ok(Node::Present),
        Err(_) => Ok(Node::Missing),
    }
}

/// The path that the job itself names has to be readable; below it, an unreadable file is a skip.
fn open(start: &Path) -> std::io::Result<()> {
    let meta = fs::symlink_metadata(start)?;
    if meta.is_dir() {
        fs::read_dir(start).map(drop)
    } else if meta.is_file() {
        fs::File::open(start).map(drop)
    } else {
        Ok(())
    }
}

/// How files are read.
#[derive(Clone, Copy)]
struct Reading<'a> {
    ahead: &'a Ahead,
    formats: Formats,
    rules: Option<&'a Rules>,
}

impl<'a> Reading<'a> {
    fn of(job: &FolderJob, set: &'a RuleSet, ahead: &'a Ahead) -> Self {
        Self {
            ahead,
            formats: job.edits.formats,
            rules: set.rules.as_ref(),
        }
    }

    /// The rules, if one of them is for this file.
    fn rules_for(self, path: &str) -> Option<&'a Rules> {
        self.rules.filter(|rules| rules.are_for(path))
    }
}

/// The rules of the repository that a folder is in, for paths in the folder; none without a rule file.
///
/// # Errors
/// The rule file cannot be followed: its place, and why.
pub fn rules_above(folder: &Path) -> Result<Option<Rules>, Skip> {
    let root = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
    rules_in(&root, &Ahead::default(), None).into_rules()
}

/// The rules of the repository that the folder is in, from its root or the folder itself, and those of the job.
fn rules_of(job: &FolderJob, root: &Path, ahead: &Ahead) -> RuleSet {
    rules_in(root, ahead, job.edits.rules.as_ref())
}

fn rules_in(root: &Path, ahead: &Ahead, given: Option<&Rules>) -> RuleSet {
    let mut below = String::new();
    let mut above = String::new();
    // Above a folder that is in no repository are folders of others.
    let is_top = |folder: &&Path| folder.join(".git").exists();
    let top = root.ancestors().find(is_top).unwrap_or(root);
    for folder in root.ancestors().take_while(|folder| folder.starts_with(top)) {
        let file = folder.join(bumpwright_rules::FILE);
        if fs::symlink_metadata(&file).is_ok_and(|meta| meta.is_file()) {
            let read = read_rules(&file, ahead);
            return RuleSet::of_folder(read, (&above, &below), given);
        }
        let other = folder.join(edit::OTHER_RULE_FILE);
        // In the folder itself it is reported like all files.
        if folder == top && folder != root && other.is_file() {
            return RuleSet::of_misnamed(&format!("{above}{}", edit::OTHER_RULE_FILE), given);
        }
        // The root of the file system has none, and nothing above it.
        let Some(name) = folder.file_name() else { break };
        let name = name.to_string_lossy();
        below = match below.as_str() {
            "" => name.into_owned(),
            below => format!("{name}/{below}"),
        };
        above.push_str("../");
    }
    RuleSet::of(None, given)
}

fn read_rules(file: &Path, ahead: &Ahead) -> Result<Vec<u8>, LocalSkip> {
    let limit = u64::try_from(bumpwright_rules::LONGEST).unwrap_or(u64::MAX);
    ahead.read(file, limit + 1).map_err(|error| LocalSkip {
        line: 1,
        column: 1,
        reason: Reason::Unparsable,
        message: format!("it cannot be read: {error}"),
    })
}

/// The rules that are for one of the files.
fn named(marked: &[Marked<PathBuf>]) -> Named {
    let ruled = marked
        .iter()
        .filter_map(|file| Some((&file.path, file.rules.as_ref()?)));
    ruled
        .flat_map(|(path, rules)| rules.numbers(&String::from_utf8_lossy(path)).collect::<Vec<_>>())
        .collect()
}

/// Visits a file, or all files below a folder in the order of their names. Links, Git's own folders and the roots of
/// other repositories (submodules) are left out. Unreadable files become skips and stop nothing else.
fn visit(at: &Path, path: Vec<u8>, reading: Reading<'_>, found: &mut Vec<Marked<PathBuf>>) {
    if let Err(error) = try_visit(at, &path, reading, found)
        // Files removed during the walk need no edits.
        && error.kind() != ErrorKind::NotFound
    {
        found.push(Marked {
            kind: edit::kind_of(&String::from_utf8_lossy(&path), reading.formats),
            path,
            place: at.to_owned(),
            facts: unreadable(&error),
            rules: None,
        });
    }
}

fn try_visit(at: &Path, path: &[u8], reading: Reading<'_>, found: &mut Vec<Marked<PathBuf>>) -> std::io::Result<()> {
    let meta = fs::symlink_metadata(at)?;
    if meta.is_file() {
        found.extend(look_at(at, path, meta.len(), reading)?);
        return Ok(());
    }
    let foreign = !path.is_empty() && at.join(".git").exists();
    if !meta.is_dir() || foreign {
        return Ok(());
    }
    let mut names = fs::read_dir(at)?
        .map(|entry| entry.map(|entry| entry.file_name()))
        .collect::<Result<Vec<_>, _>>()?;
    names.sort();
    for name in names.into_iter().filter(|name| name != ".git") {
        let mut below = path.to_vec();
        if !below.is_empty() {
            below.push(b'/');
        }
        below.extend_from_slice(name.as_encoded_bytes());
        visit(&at.join(&name), below, reading, found);
    }
    Ok(())
}

/// Reads one file, unless it is too large.
fn look_at(at: &Path, path: &[u8], size: u64, reading: Reading<'_>) -> std::io::Result<Option<Marked<PathBuf>>> {
    let name = String::from_utf8_lossy(path);
    let kind = edit::kind_of(&name, reading.formats);
    let limit = crate::find::facts::size_limit(kind);
    let rules = reading.rules_for(&name);
    let mut facts = if size > limit {
        crate::find::survey::too_large(kind, size)
    } else {
        let bytes = reading.ahead.read(at, limit)?;
        let facts = facts(kind, &bytes);
        match rules {
            Some(rules) => ruled::with_rules(facts, &name, rules, &bytes),
            None => facts,
        }
    };
    if rules.is_some() && size > limit && facts.scan.is_none() {
        facts.scan = kept(ruled::too_large(size).into());
    }
    Ok((facts.matters() || rules.is_some()).then(|| Marked {
        path: path.to_vec(),
        place: at.to_owned(),
        kind,
        facts,
        rules: rules.cloned(),
    }))
}

/// The folder at the top of the repository where `init` puts policies, unless it is visited anyway: where it is, and
/// how it is named from the folder of the run.
fn own_folder_above(job: &FolderJob, root: &Path) -> Option<(PathBuf, String)> {
    let is_top = |folder: &&Path| folder.join(".git").exists();
    let top = root.ancestors().find(is_top).unwrap_or(root);
    if top == root && job.only.is_none() {
        return None;
    }
    let up = root.ancestors().take_while(|folder| *folder != top).count();
    let folder = top.join(OWN_FOLDER);
    (fs::symlink_metadata(&folder).ok()?.is_dir() && !root.starts_with(&folder))
        .then(|| (folder, format!("{}{OWN_FOLDER}", "../".repeat(up))))
}

/// The given policies and, when markers name others, those that the folder (or the file, and the folder for policies at
/// the top of the repository) holds, with notes on manifests that could not be read.
fn all_policies(
    job: &FolderJob,
    root: &Path,
    marked: &[Marked<PathBuf>],
    ahead: &Ahead,
) -> Result<(Arc<Policies>, Vec<String>), RunError> {
    if !planned::lacks_manifests(marked, &job.edits) {
        return Ok((job.edits.policies.clone(), Vec::new()));
    }
    let mut whole = Vec::new();
    // Without a path the whole folder (or the file) has been visited already.
    let set = RuleSet::default();
    let reading = Reading::of(job, &set, ahead);
    let all = if job.edits.path.is_some() {
        visit(root, Vec::new(), reading, &mut whole);
        whole.as_slice()
    } else {
        marked
    };
    let mut above = Vec::new();
    if let Some((folder, path)) = own_folder_above(job, root) {
        visit(&folder, path.into_bytes(), reading, &mut above);
    }
    let mut found = repository_policies::FoundPolicies::default();
    for file in all.iter().chain(&above).filter(|file| file.facts.manifests) {
        let bytes = ahead.read(&file.place, u64::MAX).map_err(failed("read", &file.place))?;
        let path = shown(&job.edits.folder, &String::from_utf8_lossy(&file.path));
        found.read(path.as_bytes(), &bytes);
    }
    let (policies, notes) = found.below(&job.edits.policies);
    Ok((Arc::new(policies), notes))
}
