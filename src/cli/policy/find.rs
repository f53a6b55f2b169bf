//! Findings about policies: the registries' tags, the choice, the runners-up, the guards.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::explain::{Explained, explain};
use super::status::{Shown, of_status};
use crate::cli::images::{Images, placed, reason, said};
use bumpwright_api::{ImagePolicy, ImageRepository, ObjectName};
use bumpwright_edit::Reason;
use bumpwright_gostd::Time;
use bumpwright_policy::{self as policy, GuardRefusal, LatestRef, PolicyName, Survey};
use bumpwright_scan::{Asked, Chosen, NoImage, Tags, chooser, reference_of};
use bumpwright_text::between;

/// Number of runners-up to name.
const RUNNERS_UP: usize = 3;

/// A policy to examine.
#[derive(Debug)]
pub struct Subject {
    pub(super) policy: ImagePolicy,
    /// None when it is not among the manifests.
    pub(super) repository: Option<Arc<ImageRepository>>,
    /// The repository among the manifests that was probably meant by one that is not there.
    pub(super) near: Option<String>,
    is_named: bool,
}

/// What is asked about all policies.
#[derive(Debug)]
pub struct Question<'a> {
    /// None: registries are not asked, the status counts.
    pub images: Option<&'a Images>,
    /// The tag to explain.
    pub explain: Option<&'a str>,
    /// The current time, for holds and ages.
    pub now: Time,
}

/// The findings about a policy.
#[derive(Clone, Debug, Default)]
pub struct Finding {
    /// None for a policy from flags.
    pub policy: Option<PolicyName>,
    /// The repository that it refers to.
    pub repository: Option<ObjectName>,
    /// `spec.image` of the repository, else the name in the status.
    pub image: Option<String>,
    /// Registry and repository in full.
    pub canonical: Option<String>,
    /// The policy's choice, whether a guard holds it back or not.
    pub choice: Option<LatestRef>,
    /// The previous choice in the status.
    pub previous: Option<LatestRef>,
    pub runners_up: Vec<String>,
    /// None when no registry was asked or none answered, and when the policy is not valid.
    pub tags: Option<Counts>,
    /// Guards that keep the choice from being written.
    pub guards: Vec<GuardRefusal>,
    pub notes: Vec<String>,
    /// The judgement of the requested tag.
    pub explanation: Option<Explained>,
    /// Why nothing was chosen.
    pub problem: Option<Problem>,
}

impl Finding {
    /// The name of the policy; empty for one from flags.
    pub(super) fn name(&self) -> String {
        between("", self.policy.as_ref(), "").to_string()
    }

    /// The image; empty if it is not known.
    pub(super) fn image(&self) -> &str {
        self.image.as_deref().unwrap_or("")
    }
}

/// Counts of a repository's tags.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// All tags of the repository.
    pub total: usize,
    /// Tags dropped by the exclusion list.
    pub excluded: usize,
    /// Tags that take part in the choice.
    pub counted: usize,
    /// All others, by the name of their [`policy::Verdict`].
    pub dropped: BTreeMap<&'static str, usize>,
}

/// Why a policy has no choice, with the reasons of `update`'s skips.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    pub reason: Reason,
    /// The message; it may quote a server.
    pub message: String,
}

impl Subject {
    /// A policy of manifests.
    #[must_use]
    pub fn named(policy: ImagePolicy, repository: Option<Arc<ImageRepository>>) -> Self {
        Self {
            policy,
            repository,
            near: None,
            is_named: true,
        }
    }

    /// The same, where `near` was probably meant by a repository that is not there.
    #[must_use]
    pub fn near(self, near: Option<String>) -> Self {
        Self { near, ..self }
    }

    /// A policy without a name on a repository without one.
    #[must_use]
    pub fn unnamed(policy: ImagePolicy, repository: ImageRepository) -> Self {
        Self {
            policy,
            repository: Some(Arc::new(repository)),
            near: None,
            is_named: false,
        }
    }

    /// The findings before any request.
    fn finding(&self) -> Finding {
        let image = self.repository.as_ref().map(|repository| &repository.spec.image);
        let reference = self
            .repository
            .as_ref()
            .and_then(|repository| reference_of(repository).ok());
        let previous = self.policy.latest_ref();
        let note = |error| format!("ImagePolicy {}: {error}", self.policy.policy_name());
        Finding {
            policy: self.is_named.then(|| self.policy.policy_name()),
            repository: self.policy.repository(),
            image: image.cloned(),
            canonical: reference.map(|reference| reference.context()),
            notes: previous.as_ref().err().map(note).into_iter().collect(),
            previous: previous.ok().flatten(),
            ..Finding::default()
        }
    }
}

impl Problem {
    pub(super) fn new(reason: Reason, message: impl ToString) -> Self {
        Self {
            reason,
            message: message.to_string(),
        }
    }
}

/// Scans the registries, several at a time, and evaluates the policies.
#[must_use]
pub fn find(subjects: &[Subject], question: &Question<'_>) -> Vec<Finding> {
    let mut findings: Vec<Finding> = subjects.iter().map(Subject::finding).collect();
    let mut to_ask: Vec<(&mut Finding, &ImagePolicy, Arc<ImageRepository>)> = Vec::new();
    for (finding, subject) in findings.iter_mut().zip(subjects) {
        match Shown::of(subject, question.images.is_some()) {
            Shown::Registry(repository) => to_ask.push((finding, &subject.policy, repository)),
            Shown::Status(why) => of_status(finding, &subject.policy, &why, &question.now),
        }
    }
    if let Some(images) = question.images {
        ask(images, to_ask, question);
    }
    findings
}

/// A policy whose repository was scanned.
struct Scanned<'a> {
    policy: &'a ImagePolicy,
    repository: Arc<ImageRepository>,
    tags: Arc<Tags>,
    before: Option<LatestRef>,
}

impl Scanned<'_> {
    fn asked(&self) -> Asked<'_> {
        Asked {
            policy: self.policy,
            repository: &self.repository,
            tags: &self.tags,
            before: self.before.as_ref(),
            is_proven: false,
            digest: None,
        }
    }
}

fn ask(images: &Images, asked: Vec<(&mut Finding, &ImagePolicy, Arc<ImageRepository>)>, question: &Question<'_>) {
    let repositories: Vec<Arc<ImageRepository>> = asked.iter().map(|(.., repository)| Arc::clone(repository)).collect();
    images.scan(&repositories);
    let (mut findings, mut scanned) = (Vec::new(), Vec::new());
    for (finding, policy, repository) in asked {
        match images.batch().tags(&repository) {
            Some(Ok(tags)) => {
                scanned.push(Scanned {
                    policy,
                    repository,
                    tags,
                    before: finding.previous.clone(),
                });
                findings.push(finding);
            }
            Some(Err(error)) => finding.problem = Some(Problem::new(Reason::ScanFailed, said(&error, &repository))),
            None => finding.problem = Some(Problem::new(Reason::ScanFailed, "it was not scanned")),
        }
    }
    let subjects: Vec<Asked<'_>> = scanned.iter().map(Scanned::asked).collect();
    let chosen = images.batch().choose(&subjects);
    for ((finding, subjects), chosen) in findings.into_iter().zip(&subjects).zip(chosen) {
        finding.of_registry(subjects, chosen, question);
    }
}

impl Finding {
    fn of_registry(&mut self, asked: &Asked<'_>, chosen: Result<Chosen, NoImage>, question: &Question<'_>) {
        let tags = asked.tags;
        self.notes.extend(tags.notes.iter().cloned());
        let chooser = chooser(asked.policy, asked.repository).ok();
        let survey = chooser.as_ref().and_then(|chooser| chooser.survey(&tags.tags).ok());
        let newest = survey.as_ref().and_then(|survey| survey.latest.as_ref().ok());
        match chosen {
            Ok(chosen) => match asked.repository.check(&chosen.image) {
                Ok(()) => {
                    self.choice = Some(chosen.image);
                    self.notes.extend(chosen.passed_over);
                }
                Err(error) => self.problem = Some(Problem::new(Reason::PolicyNotReady, error)),
            },
            Err(NoImage::Refused { refusal, .. }) => {
                self.choice = newest.map(|tag| LatestRef {
                    name: tags.image.clone(),
                    tag: tag.clone(),
                    digest: None,
                });
                self.guards.push(*refusal);
            }
            Err(error) => self.problem = Some(Problem::new(reason(&error), placed(&error, asked.policy))),
        }
        if let Some(survey) = &survey {
            self.count(tags, survey);
        }
        self.guard(asked.policy, chooser.as_ref(), &question.now);
        let explained = question.explain.zip(chooser.as_ref());
        self.explanation = explained.and_then(|(tag, chooser)| explain(asked, chooser, tag).ok());
    }

    fn count(&mut self, tags: &Tags, survey: &Survey) {
        self.tags = Some(Counts {
            total: tags.tags.len() + tags.excluded,
            excluded: tags.excluded,
            counted: survey.ranking.len(),
            dropped: survey.dropped(),
        });
        if let Some(choice) = &self.choice {
            // Newer ones may have been passed over.
            let below = survey.ranked().skip_while(|tag| *tag != choice.tag).skip(1);
            self.runners_up = below.take(RUNNERS_UP).map(str::to_owned).collect();
        }
    }

    /// The guards that need no registry. One that does not parse has been reported as a problem.
    fn guard(&mut self, policy: &ImagePolicy, chooser: Option<&policy::ImagePolicy>, now: &Time) {
        let Ok(guards) = policy.guards() else { return };
        if let Err(refusal) = guards.check_hold(now) {
            self.guards.insert(0, refusal);
        }
        if let Some(Err(refusal)) = self.choice.as_ref().map(|choice| guards.check_failed(choice)) {
            self.guards.push(refusal);
        }
        self.guards.extend(guards.check_window(now).err());
        if let (Some(chooser), Some(before), Some(choice)) = (chooser, &self.previous, &self.choice)
            && let Err(refusal) = guards.check_downgrade(chooser, &before.tag, &choice.tag)
        {
            self.guards.push(refusal);
        }
    }
}
