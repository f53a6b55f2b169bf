//! From arguments to jobs (docs/cli.md, *`update`: what TARGET means*).

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use super::args::Update;
use super::target::{Target, classify};
use super::typed::Typed;
use crate::cli::error::{Attempt as _, CliError};
use crate::cli::images::Images;
use crate::cli::places::Places;
use crate::cli::words;
use bumpwright_api::{ANNOTATION_PREFIX, AutomationAnnotations, ImageUpdateAutomation, ObjectName, Objects};
use bumpwright_policy::PolicyName;
use bumpwright_rules::Rules;
use bumpwright_update::{Edits, FolderJob, Hooks, Place, RemoteJob, Resolve, RespectReverts, Run, WorktreeCommit};

/// The job of one automation, or of a plain run.
pub enum Step {
    Folder(Box<FolderJob>, Vec<String>),
    /// Fetch, commit and push.
    Remote(Box<RemoteJob>, Place, Vec<String>),
    /// Nothing to run; the report has the reason.
    Done(Box<Run>),
}

/// The jobs of a command.
pub struct Planned {
    pub steps: Vec<Step>,
    /// The policies that have to have a marker.
    pub set: BTreeSet<PolicyName>,
    /// The registries that they use.
    pub images: Option<Arc<Images>>,
    /// Notes on the clusters of `--fleet`.
    pub notes: Vec<String>,
    pub objects: Objects,
}

/// Plans a run.
///
/// # Errors
///
/// Usage errors and unreadable manifests, in words for the user; nothing has been done then.
pub fn plan(args: &Update, places: &mut Places) -> Result<Planned, CliError> {
    let typed = Typed::read(args, places)?;
    Ok(Planned {
        steps: steps(&typed, places)?,
        set: typed.set,
        images: typed.images,
        notes: typed.notes,
        objects: typed.objects,
    })
}

fn steps(typed: &Typed<'_>, places: &mut Places) -> Result<Vec<Step>, CliError> {
    typed.refuse_both()?;
    let automations: Vec<&ImageUpdateAutomation> = typed.objects.automations().collect();
    let target = match (&typed.args.target, automations.is_empty()) {
        // `--gerrit release-1.4`, without the URL.
        (Some(text), _) if typed.args.gerrit == Some(None) => Some(classify(text).hint(format!(
            "a branch is joined to its flag, and the URL of the repository follows: --gerrit={text} URL"
        ))?),
        (Some(text), _) => Some(classify(text)?),
        (None, true) => Some(classify(".")?),
        // The clusters are read from TARGET.
        (None, false) if !typed.args.fleet.is_empty() => Some(classify(".")?),
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

/// Rule 4: TARGET replaces the address of one GitRepository.
fn one_source(automations: &[&ImageUpdateAutomation]) -> Result<(), CliError> {
    let mut sources: Vec<String> = automations.iter().map(|a| a.source_name().to_string()).collect();
    sources.sort();
    sources.dedup();
    match sources.as_slice() {
        [] | [_] => Ok(()),
        several => Err(CliError::new(format!(
            "TARGET would replace several GitRepositories ({}): leave TARGET out, or give automations of one source",
            words::some(several)
        ))),
    }
}

impl Typed<'_> {
    /// Returns whether nothing is written, by the flag or by the automation's annotation.
    pub(super) fn is_dry(&self, automation: Option<&ImageUpdateAutomation>) -> bool {
        let said = automation.map(|automation| AutomationAnnotations::read(&automation.metadata.annotations));
        self.args.dry_run || matches!(said, Some(Ok(said)) if said.dry_run)
    }

    /// Adds a note when only the annotation asks for it.
    pub(super) fn dry_run_note(&self, automation: Option<&ImageUpdateAutomation>) -> Vec<String> {
        let note = || format!("nothing is written: the annotation {ANNOTATION_PREFIX}dry-run is \"true\"");
        Vec::from_iter((self.is_dry(automation) && !self.args.dry_run).then(note))
    }

    pub(super) fn edits(&self, automation: Option<&ImageUpdateAutomation>) -> Result<Edits, CliError> {
        let spec = automation.map(|a| &a.spec);
        let selector = spec.and_then(|spec| spec.policy_selector.clone());
        if let Some(selector) = &selector {
            let place = automation.and_then(|automation| automation.places.of(ImageUpdateAutomation::SELECTOR));
            let valid = selector.validate().at("failed to parse policy selector");
            valid.map_err(|error| error.at_known(place))?;
        }
        let mut said = AutomationAnnotations::default();
        if let Some(automation) = automation {
            // An annotation that does not parse closes the automation, in previews too.
            said = AutomationAnnotations::read(&automation.metadata.annotations)?;
            automation.pull_request()?;
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
            asked: self.asked(),
            hooks: Hooks {
                resolver: self.images.clone().map(|images| images as Arc<dyn Resolve>),
                releases: self
                    .releases
                    .clone()
                    .filter(|_| self.args.release_notes || said.release_notes),
                verify: self.verify.clone(),
                announce: None,
            },
            respect_reverts: self.respect_reverts(automation),
            dry_run: self.is_dry(automation),
            rules: automation.map(|it| self.rules(it, &said)).transpose()?.flatten(),
            windows: said.windows,
            formats: self.args.formats.unwrap_or(said.formats),
            overwrite: self.args.overwrite_mismatches,
            ..Edits::default()
        })
    }

    /// The rules of the ConfigMap that an annotation names.
    fn rules(
        &self,
        automation: &ImageUpdateAutomation,
        said: &AutomationAnnotations,
    ) -> Result<Option<Rules>, CliError> {
        let Some(name) = &said.rules else { return Ok(None) };
        let name = ObjectName::new(automation.metadata.namespace_or_default(), name.as_str());
        let config_map = self.objects.config_map(&name);
        let entry = config_map.and_then(|config_map| config_map.data.get(bumpwright_rules::FILE));
        let rules = bumpwright_rules::of_config_map(&name.to_string(), entry);
        rules.map(Some).map_err(CliError::from)
    }

    /// `--respect-reverts`, or the automation's annotation. Commits are known by the author that is given, not by the
    /// one that git has: that may be the person who reverts.
    fn respect_reverts(&self, automation: Option<&ImageUpdateAutomation>) -> Option<RespectReverts> {
        let said = automation.and_then(|it| AutomationAnnotations::read(&it.metadata.annotations).ok());
        let commits = self
            .args
            .respect_reverts
            .or(said.and_then(|said| said.respect_reverts))?;
        let of_automation = || automation?.spec.git.as_ref().map(|git| git.commit.author.email.clone());
        let given = self.author.as_ref().map(|author| author.email.clone());
        Some(RespectReverts {
            commits,
            author: given.or_else(of_automation),
        })
    }

    fn in_file(&self, automations: &[&ImageUpdateAutomation], file: &Path) -> Result<Vec<Step>, CliError> {
        if self.args.path.is_some() {
            return Err(CliError::new("--path cannot be used when TARGET is a file"));
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
    ) -> Result<Vec<Step>, CliError> {
        self.refuse_in_folder()?;
        if automations.is_empty() {
            return Ok(vec![self.folder(None, root, only)?]);
        }
        let step = |automation: &&ImageUpdateAutomation| {
            let step = self.folder(Some(automation), root, only);
            step.unwrap_or_else(|error| failed(Some(automation), &root.display().to_string(), &error))
        };
        Ok(automations.iter().map(step).collect())
    }

    fn folder(
        &self,
        automation: Option<&ImageUpdateAutomation>,
        root: &Path,
        only: Option<&str>,
    ) -> Result<Step, CliError> {
        if let Some(step) = suspended(automation, &root.display().to_string()) {
            return Ok(step);
        }
        let mut edits = self.edits(automation)?;
        let mut notes = self.dry_run_note(automation);
        edits.folder = as_typed(root);
        if only.is_some() {
            edits.path = None;
        }
        let commit = self
            .args
            .commit
            .then(|| {
                Ok::<_, CliError>(WorktreeCommit {
                    author: self.author(automation, Some(root))?,
                    message: self.message_of(automation),
                    signing: self.signing_in_folder(automation, &mut notes)?,
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
        Ok(Step::Folder(Box::new(job), notes))
    }
}

/// A folder before the paths in it; empty for the current one.
fn as_typed(root: &Path) -> String {
    let folder = root.strip_prefix(".").unwrap_or(root).display().to_string();
    if folder.is_empty() || folder.ends_with('/') {
        folder
    } else {
        format!("{folder}/")
    }
}

pub(super) fn empty(automation: Option<&ImageUpdateAutomation>, target: &str) -> Run {
    Run {
        automation: automation.map(|a| a.metadata.object_name().to_string()),
        target: target.to_owned(),
        ..Run::default()
    }
}

/// The report of an automation that may not act.
pub(super) fn suspended(automation: Option<&ImageUpdateAutomation>, target: &str) -> Option<Step> {
    automation.filter(|a| a.spec.suspend).map(|_| {
        Step::Done(Box::new(Run {
            suspended: true,
            notes: vec!["suspended: spec.suspend is true, so nothing was done".to_owned()],
            ..empty(automation, target)
        }))
    })
}

pub(super) fn failed(automation: Option<&ImageUpdateAutomation>, target: &str, error: &CliError) -> Step {
    Step::Done(Box::new(Run {
        error: Some(error.to_string()),
        ..empty(automation, target)
    }))
}
