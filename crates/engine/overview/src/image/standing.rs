//! How far images are on their way to what runs.

use std::collections::{BTreeMap, BTreeSet};

use bumpwright_api::ObjectName;
use bumpwright_gostd::Time;
use bumpwright_policy::{Guards, LatestRef};
use bumpwright_rollout::short;
use bumpwright_text::between;

use super::evidence::{Choices, Evidence};
use super::found::Run;
use super::images::{Stage, Users};
use super::version::Version;
use crate::facts::{AutomationFacts, PolicyFacts, SourceFacts};
use crate::kustomizations::first_line;
use crate::readiness::seconds;
use crate::sources;
use crate::world::{Id, KUSTOMIZATION, World};

/// The most Kustomizations that are named for an image.
const NAMED: usize = 20;

/// How far an image is, and why it is not further.
pub(crate) struct Standing {
    pub(crate) stage: Stage,
    pub(crate) why: String,
    pub(crate) since: Option<i64>,
}

impl Standing {
    fn new(stage: Stage, why: impl Into<String>, since: Option<i64>) -> Self {
        Self {
            stage,
            why: why.into(),
            since,
        }
    }
}

/// The Kustomizations of a source.
#[derive(Default)]
struct Fed<'a> {
    names: Vec<Id>,
    /// Those that have not got the source's revision in good health, and why.
    waits: Vec<(&'a ObjectName, String)>,
    /// Whether any of their objects were read.
    is_read: bool,
    /// The objects that have the image of a policy: there may be a hundred thousand pairs of automations and policies,
    /// each of which asks for them.
    runs: BTreeMap<&'a ObjectName, Vec<&'a Run>>,
}

/// A world whose Kustomizations are asked once for each source, not for each image.
pub(crate) struct Standings<'a> {
    world: &'a World,
    fed: BTreeMap<Id, Fed<'a>>,
    choices: BTreeMap<Id, Choices>,
}

impl<'a> Standings<'a> {
    pub(crate) fn new(world: &'a World) -> Self {
        let mut fed = BTreeMap::<Id, Fed<'a>>::new();
        for (name, one) in &world.kustomizations {
            let source = one.source();
            let facts = world.sources.get(&source);
            let of_source = fed.entry(source).or_default();
            of_source.names.push(Id::new(KUSTOMIZATION, name.clone()));
            let why = facts.and_then(|facts| world.waits(name, one, &facts.status.artifact.revision));
            of_source.waits.extend(why.map(|why| (name, why)));
            let Some(uses) = world.uses.get(name) else { continue };
            of_source.is_read = true;
            for (policy, runs) in &uses.images {
                of_source.runs.entry(policy).or_default().extend(runs);
            }
        }
        let choices = Choices::by_source(world);
        Self { world, fed, choices }
    }

    /// How far the choice of a policy is.
    pub(crate) fn of(
        &self,
        name: &ObjectName,
        policy: &PolicyFacts,
        chosen: Option<&Version>,
        users: &Users<'_>,
    ) -> Standing {
        let readiness = policy.readiness();
        let Some(chosen) = chosen else {
            let why = first_line(&readiness.message);
            return Standing::new(Stage::Unknown, why, readiness.since);
        };
        if let Some(why) = self.held(policy, chosen) {
            return Standing::new(Stage::Held, why, readiness.since);
        }
        // Many automations may write into one source.
        let mut evidence = BTreeMap::<Id, Evidence<'_>>::new();
        // The least advanced of its users counts.
        let each = users.iter().map(|(user, automation, observed)| {
            let why = if chosen.is(observed) {
                skipped(name, automation)
            } else {
                Some(not_run(user, automation, "it"))
            };
            match why {
                Some(why) => Standing::new(Stage::Behind, why, readiness.since),
                None => {
                    let (source, _) = self.world.source_of(automation);
                    let found = evidence
                        .entry(source)
                        .or_insert_with_key(|source| self.evidence(source, name, chosen));
                    self.written(name, (user, automation), chosen, found)
                }
            }
        });
        // Where one of them is known to be current, others may have nothing to do with the policy.
        let least = each.min_by_key(|standing| (standing.stage, !standing.why.is_empty()));
        match least {
            Some(least) if least.stage == Stage::Current && readiness.state.is_broken() => {
                let (reason, message) = (&readiness.reason, first_line(&readiness.message));
                Standing::new(
                    Stage::Current,
                    format!("chosen before the policy failed: {reason}: {message}"),
                    least.since,
                )
            }
            Some(least) => least,
            None => Standing::new(Stage::Unused, "no automation has run with this policy", readiness.since),
        }
    }

    /// Why a person or a failure holds the choice back.
    fn held(&self, policy: &PolicyFacts, chosen: &Version) -> Option<String> {
        let annotations = policy.metadata.annotations.0.iter();
        let guards = Guards::read(annotations.map(|(key, value)| (key.as_str(), value.as_str()))).ok()?;
        let image = LatestRef {
            name: chosen.name.clone(),
            tag: chosen.tag.clone(),
            digest: Some(chosen.digest.clone()).filter(|digest| !digest.is_empty()),
        };
        let now = Time::unix(self.world.now, 0);
        let refused = guards.check_hold(&now).and_then(|()| guards.check_failed(&image));
        refused.err().map(|refusal| refusal.to_string())
    }

    /// What the objects of a source's Kustomizations say of a choice.
    fn evidence(&self, source: &Id, policy: &ObjectName, chosen: &Version) -> Evidence<'a> {
        let runs = self.fed.get(source).and_then(|fed| fed.runs.get(policy));
        let none = Choices::default();
        let choices = self.choices.get(source).unwrap_or(&none);
        Evidence::of(runs.into_iter().flatten().copied(), (policy, chosen), choices)
    }

    /// How far the choice is after an automation wrote it.
    fn written(
        &self,
        policy: &ObjectName,
        (user, automation): (&ObjectName, &AutomationFacts),
        chosen: &Version,
        evidence: &Evidence<'_>,
    ) -> Standing {
        let at = seconds(&automation.status.last_push_time);
        let (id, source) = self.world.source_of(automation);
        let waits = followed(policy, automation, chosen).or_else(|| self.reconciled(policy, automation, evidence));
        if let Some(why) = waits {
            return Standing::new(Stage::OnTheWay, why, at);
        }
        let missed = missed(automation, source);
        let outdated = evidence.other.and_then(|run| match &missed {
            Some(commit) => Some(format!("{run}, and {}", not_run(user, automation, commit))),
            None => (!evidence.has_choice).then(|| unexplained(run, user, chosen)),
        });
        match outdated {
            Some(why) => Standing::new(Stage::Behind, why, None),
            None => {
                let fed = self.fed.get(&id);
                let is_missing = fed.is_some_and(|fed| fed.is_read && !fed.runs.contains_key(policy));
                let remark = remark((user, automation), evidence, is_missing, missed.as_deref());
                Standing::new(Stage::Current, remark, at)
            }
        }
    }

    /// The Kustomizations of a source.
    pub(crate) fn names_of(&self, source: &Id) -> &[Id] {
        match self.fed.get(source) {
            Some(fed) => &fed.names,
            None => &[],
        }
    }

    /// The Kustomizations of a source that have not got its revision in good health.
    pub(crate) fn waiting(&self, source: &Id) -> impl Iterator<Item = &'a ObjectName> {
        let waits = self.fed.get(source).into_iter().flat_map(|fed| &fed.waits);
        waits.map(|(name, _)| *name)
    }

    /// Why what an automation pushed is not reconciled everywhere, by those Kustomizations of its source whose
    /// objects have the image.
    fn reconciled(&self, policy: &ObjectName, automation: &AutomationFacts, evidence: &Evidence<'_>) -> Option<String> {
        let (id, source) = self.world.source_of(automation);
        let source = source?;
        let (status, artifact) = (&automation.status, &source.status.artifact);
        let commit = status.last_push_commit.as_str();
        let is_newer = seconds(&status.last_push_time) > seconds(&artifact.last_update_time);
        if !is_newer || sources::commit(&artifact.revision).as_deref() == Some(commit) {
            let mut waits = self.fed.get(&id)?.waits.iter();
            let counts = waits.find(|(name, _)| self.holds_back(name, policy, evidence));
            return counts.map(|(_, why)| why.clone());
        }
        if evidence.is_of_choice_alone() {
            // The commit is for other images.
            return None;
        }
        let short = short(commit);
        let (push, branch) = (&automation.spec.git.push.branch, &source.spec.reference.branch);
        let is_merged = push.is_empty() || push == branch;
        if is_merged && artifact.revision.is_empty() && !self.fed.contains_key(&id) {
            // Nobody fetches it here, and no Kustomization waits: something else applies it, as Argo CD.
            return None;
        }
        Some(if is_merged {
            format!("{id} has not fetched commit '{short}' yet")
        } else {
            let doubt = match evidence.other {
                Some(_) => "",
                None => "; whether it changes this image is not known",
            };
            format!("commit '{short}' is on branch '{push}', which nothing reconciles until it is merged{doubt}")
        })
    }

    /// Whether a Kustomization that waits holds back the image of a policy. One that has never applied anything does
    /// where no other shows the image; one that is suspended does unless its own objects have the choice.
    fn holds_back(&self, kustomization: &ObjectName, policy: &ObjectName, evidence: &Evidence<'_>) -> bool {
        let uses = self.world.uses.get(kustomization);
        if uses.is_some_and(|uses| uses.are_without(policy)) {
            return false;
        }
        let facts = self.world.kustomizations.get(kustomization);
        let is_suspended_alone = facts.is_some_and(|facts| {
            let readiness = facts.readiness();
            readiness.suspended && !readiness.state.is_broken()
        });
        let has_own = uses.is_some_and(|uses| uses.images.get(policy).is_some_and(|runs| !runs.is_empty()));
        if is_suspended_alone && has_own && evidence.is_of_choice_alone() {
            return false;
        }
        let is_empty = facts.is_some_and(|facts| facts.status.inventory.entries.count() == 0);
        !(is_empty && evidence.is_of_choice_alone())
    }

    /// The Kustomizations that get what was written: those that a rollout follows, else those of the source.
    pub(crate) fn reconcilers(&self, users: &Users<'_>) -> Vec<Id> {
        let mut found = BTreeSet::new();
        for (_, automation, _) in users {
            let record = automation.record();
            let named = record.followers.keys().filter_map(|name| name.split_once('/'));
            let named = named.map(|(namespace, name)| Id::new(KUSTOMIZATION, ObjectName::new(namespace, name)));
            let followed: Vec<Id> = named.filter(|id| self.world.readiness(id).is_some()).collect();
            match self.fed.get(&self.world.source_of(automation).0) {
                Some(fed) if followed.is_empty() => found.extend(fed.names.iter().take(NAMED).cloned()),
                _ => found.extend(followed),
            }
        }
        found.into_iter().take(NAMED).collect()
    }
}

/// Why an automation has not run with a choice, or with a commit.
fn not_run(name: &ObjectName, automation: &AutomationFacts, what: &str) -> String {
    let readiness = automation.readiness();
    let automation = format!("ImageUpdateAutomation {name}");
    match () {
        () if readiness.suspended => format!("{automation} is suspended"),
        () if readiness.state.is_broken() => {
            let (reason, message) = (&readiness.reason, first_line(&readiness.message));
            format!("{automation} fails: {reason}: {message}")
        }
        () => format!("{automation} has not run with {what} yet"),
    }
}

/// The commit of its source that an automation has not run with: `commit '5326355'`. None where it has, and where that
/// is not known.
fn missed(automation: &AutomationFacts, source: Option<&SourceFacts>) -> Option<String> {
    let (status, artifact) = (&automation.status, &source?.status.artifact);
    let commit = sources::commit(&artifact.revision)?;
    let has_run = match sources::commit(&status.observed_source_revision) {
        Some(observed) => observed == commit,
        // Controllers before v1beta2 do not write it.
        None => seconds(&status.last_automation_run_time) >= seconds(&artifact.last_update_time),
    };
    let is_own = status.last_push_commit == commit;
    (!has_run && !is_own).then(|| format!("commit '{}'", short(&commit)))
}

/// That an object has another version although the automation has run with all that its source has.
fn unexplained(run: &Run, user: &ObjectName, chosen: &Version) -> String {
    let tag = chosen.spelled();
    format!(
        "{run}, and the last run of ImageUpdateAutomation {user} had {tag}: a marker may be missing, or somebody changed the object"
    )
}

/// What is not known of an image that nothing holds back; empty where objects have it, and none has another version.
/// Statuses have the policies that an automation may follow, whether or not a marker names them. `is_missing` is
/// whether objects were read, and none has the image.
fn remark(
    (user, automation): (&ObjectName, &AutomationFacts),
    evidence: &Evidence<'_>,
    is_missing: bool,
    missed: Option<&str>,
) -> String {
    match evidence.other {
        Some(run) => format!("{run}: no marker of this policy may be there, or somebody changed it"),
        None if evidence.has_choice => String::new(),
        None if automation.status.last_push_commit.is_empty() => format!(
            "ImageUpdateAutomation {user} has pushed nothing yet: the files had it already, or no marker names this policy"
        ),
        None if is_missing => "no workload that was read has this image: a marker may be missing".to_owned(),
        None => format!(
            "in Git at the last run of ImageUpdateAutomation {user}{}; which version runs is not known",
            between(", before ", missed, "")
        ),
    }
}

/// What the Ready message of an automation says of a policy whose fields were left out.
fn skipped(policy: &ObjectName, automation: &AutomationFacts) -> Option<String> {
    let (message, name) = (automation.readiness().message, policy.to_string());
    let is_part = |c: char| c.is_ascii_alphanumeric() || "-./".contains(c);
    let names = |line: &&str| {
        let mut words = line.split(|c| !is_part(c));
        words.any(|word| word.trim_end_matches('.') == name)
    };
    message.lines().skip(1).find(names).map(str::to_owned)
}

/// How far an open rollout of the choice is; none if absent.
fn followed(policy: &ObjectName, automation: &AutomationFacts, chosen: &Version) -> Option<String> {
    let record = automation.rollout().filter(|record| record.is_open())?;
    let key = policy.to_string();
    let is_this = record.images().get(key.as_str()) == Some(&chosen.to_string().as_str());
    let summary = record.summary().filter(|_| is_this)?;
    Some(first_line(&summary.message).to_owned())
}
