//! What can be found out about policies: the registries' tags, the choice, what came near, what holds it back.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::images::Images;
use super::policy_explain::{Explained, explain};
use super::policy_status::{Shown, of_status};
use crate::api::{ImagePolicy, ImageRepository, ObjectName};
use crate::edit::Reason;
use crate::gostd::Time;
use crate::policy::{self, LatestRef, PolicyName, Refusal, Survey};
use crate::scan::{Chosen, NoImage, ScanError, Tags, repository_reference};

/// How many tags are named after the choice.
const RUNNERS_UP: usize = 3;

/// A policy to look at.
#[derive(Debug)]
pub struct Subject {
    pub(super) policy: ImagePolicy,
    /// None when it is not among the manifests.
    pub(super) repository: Option<Arc<ImageRepository>>,
    is_named: bool,
}

/// What is asked about all policies.
#[derive(Debug)]
pub struct Question<'a> {
    /// None: no registry is asked, the status counts.
    pub images: Option<&'a Images>,
    /// The tag to explain.
    pub explain: Option<&'a str>,
    /// When holds and ages are looked at.
    pub now: Time,
}

/// What was found out about a policy.
#[derive(Clone, Debug, Default)]
pub struct Finding {
    /// None for the policy that flags made.
    pub policy: Option<PolicyName>,
    /// The repository that it names.
    pub repository: Option<ObjectName>,
    /// `spec.image` of the repository, else the name in the status.
    pub image: Option<String>,
    /// Registry and repository in full.
    pub canonical: Option<String>,
    /// What the policy chooses, whether a guard holds it back or not.
    pub choice: Option<LatestRef>,
    /// What the status says that it chose last.
    pub previous: Option<LatestRef>,
    /// The tags that come next.
    pub runners_up: Vec<String>,
    /// None when no registry was asked or none answered, and when the policy cannot be used.
    pub tags: Option<Counts>,
    /// What keeps the choice from being written.
    pub guards: Vec<Refusal>,
    /// What the user may not expect.
    pub notes: Vec<String>,
    /// What becomes of the tag that was asked for.
    pub explanation: Option<Explained>,
    /// Why there is no choice.
    pub problem: Option<Problem>,
}

/// What became of a repository's tags.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// All tags of the repository.
    pub total: usize,
    /// Those that its exclusion list leaves out.
    pub excluded: usize,
    /// Those that take part in the choice.
    pub counted: usize,
    /// All others, by the name of their [`policy::Verdict`].
    pub dropped: BTreeMap<&'static str, usize>,
}

/// Why a policy has no choice, as `update` would say in a skip.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The word for programs.
    pub reason: Reason,
    /// In words; they may hold what a server said.
    pub message: String,
}

impl Subject {
    /// A policy of manifests.
    #[must_use]
    pub fn named(policy: ImagePolicy, repository: Option<Arc<ImageRepository>>) -> Self {
        Self {
            policy,
            repository,
            is_named: true,
        }
    }

    /// A policy without a name on a repository without one.
    #[must_use]
    pub fn unnamed(policy: ImagePolicy, repository: ImageRepository) -> Self {
        Self {
            policy,
            repository: Some(Arc::new(repository)),
            is_named: false,
        }
    }

    /// What is known before anything is asked.
    fn finding(&self) -> Finding {
        let image = self.repository.as_ref().map(|repository| &repository.spec.image);
        let reference = image.and_then(|image| repository_reference(image).ok());
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

/// Asks the registries, several at a time, and looks at what each policy makes of their answers.
#[must_use]
pub fn find(subjects: &[Subject], question: &Question<'_>) -> Vec<Finding> {
    let mut findings: Vec<Finding> = subjects.iter().map(Subject::finding).collect();
    let mut asked: Vec<(&mut Finding, &ImagePolicy, Arc<ImageRepository>)> = Vec::new();
    for (finding, subject) in findings.iter_mut().zip(subjects) {
        match Shown::of(subject, question.images.is_some()) {
            Shown::Registry(repository) => asked.push((finding, &subject.policy, repository)),
            Shown::Status(why) => of_status(finding, &subject.policy, &why, &question.now),
        }
    }
    if let Some(images) = question.images {
        ask(images, asked, question);
    }
    findings
}

fn ask(images: &Images, asked: Vec<(&mut Finding, &ImagePolicy, Arc<ImageRepository>)>, question: &Question<'_>) {
    let repositories: Vec<Arc<ImageRepository>> = asked.iter().map(|(.., repository)| Arc::clone(repository)).collect();
    images.scan(&repositories);
    let mut scanned = Vec::new();
    for (finding, policy, repository) in asked {
        match images.batch().tags(&repository) {
            Some(Ok(tags)) => scanned.push((finding, policy, repository, tags)),
            Some(Err(error)) => finding.problem = Some(not_scanned(&error)),
            None => finding.problem = Some(Problem::new(Reason::ScanFailed, "it was not scanned")),
        }
    }
    let choices: Vec<_> = scanned
        .iter()
        .map(|(_, policy, repository, tags)| (*policy, &**repository, &**tags))
        .collect();
    let chosen = images.batch().choose(&choices);
    for ((finding, policy, repository, tags), chosen) in scanned.into_iter().zip(chosen) {
        let scan = Scan {
            policy,
            repository: &repository,
            tags: &tags,
        };
        scan.tell(finding, chosen, question);
    }
}

/// A policy and the tags that it chooses from.
pub(super) struct Scan<'a> {
    pub(super) policy: &'a ImagePolicy,
    pub(super) repository: &'a ImageRepository,
    pub(super) tags: &'a Tags,
}

impl Scan<'_> {
    fn tell(&self, finding: &mut Finding, chosen: Result<Chosen, NoImage>, question: &Question<'_>) {
        finding.notes.extend(self.tags.notes.iter().cloned());
        let chooser = self.policy.chooser().ok();
        let survey = chooser
            .as_ref()
            .and_then(|chooser| chooser.survey(&self.tags.tags).ok());
        if let Some(survey) = &survey {
            self.count(finding, survey);
        }
        match chosen {
            Ok(chosen) => match chosen.image.check() {
                Ok(()) => finding.choice = Some(chosen.image),
                Err(error) => finding.problem = Some(Problem::new(Reason::PolicyNotReady, error)),
            },
            Err(NoImage::Refused { refusal, .. }) => {
                let tag = survey.as_ref().and_then(|survey| survey.latest.clone().ok());
                finding.choice = tag.map(|tag| LatestRef {
                    name: self.tags.image.clone(),
                    tag,
                    digest: None,
                });
                finding.guards.push(*refusal);
            }
            Err(error) => finding.problem = Some(no_image(&error)),
        }
        if let (Some(_), Some(survey)) = (&finding.choice, &survey) {
            finding.runners_up = survey.ranked().skip(1).take(RUNNERS_UP).map(str::to_owned).collect();
        }
        self.guard(finding, chooser.as_ref(), &question.now);
        finding.explanation = question
            .explain
            .zip(chooser.as_ref())
            .and_then(|(tag, chooser)| explain(self, chooser, tag).ok());
    }

    fn count(&self, finding: &mut Finding, survey: &Survey) {
        finding.tags = Some(Counts {
            total: self.tags.tags.len() + self.tags.excluded,
            excluded: self.tags.excluded,
            counted: survey.ranking.len(),
            dropped: survey.dropped(),
        });
    }

    /// The guards that need no registry. One that does not parse was told as a problem.
    fn guard(&self, finding: &mut Finding, chooser: Option<&policy::ImagePolicy>, now: &Time) {
        let Ok(guards) = self.policy.guards() else { return };
        if let Err(refusal) = guards.check_hold(now) {
            finding.guards.insert(0, refusal);
        }
        if let (Some(chooser), Some(before), Some(choice)) = (chooser, &finding.previous, &finding.choice)
            && let Err(refusal) = guards.check_downgrade(chooser, &before.tag, &choice.tag)
        {
            finding.guards.push(refusal);
        }
    }
}

fn not_scanned(error: &ScanError) -> Problem {
    Problem::new(Reason::ScanFailed, error)
}

fn no_image(error: &NoImage) -> Problem {
    let reason = match error {
        NoImage::Digest { .. } | NoImage::Age { .. } => Reason::ScanFailed,
        _ => Reason::PolicyNotReady,
    };
    Problem::new(reason, error)
}
