//! The second half of a verification: the objects that a commit changes are sent to their API servers as dry runs, by
//! the account that applies them.

use std::slice;
use std::time::Instant;

use futures::{StreamExt as _, stream};
use serde_json::Value;

use super::attempt::{Attempt, refused};
use super::impact::{Difference, Pair, is_renamed, pairs};
use crate::build::memo::Memo;
use crate::build::one::is_masked;
use crate::build::view::{Fleet, FleetObject, Node, ReleaseSummary};
use bumpwright_api::{Kustomization, ObjectId, ObjectName};
use bumpwright_apply::{Cause, Desired, Refusal, Settings};
use bumpwright_diff::SecretMask;
use bumpwright_sops::MASK;
use bumpwright_update::VerifyError;

/// Refused objects that a message shows.
const SHOWN: usize = 3;

/// Kustomizations that are asked about at the same time.
const CONCURRENT: usize = 4;

/// Dry runs at the API servers that Kustomizations are applied to.
pub trait DryRuns: Send + Sync {
    /// Sends the objects as an apply would, and changes nothing. There is an answer for each of `runs`, in
    /// their order, by `end`.
    fn dry_runs(&self, runs: Vec<DryRun<'_>>, end: Instant) -> Vec<Result<Vec<Refusal>, NotAsked>>;
}

/// Objects of a Kustomization to ask an API server about.
pub struct DryRun<'a> {
    /// The Kustomization, as the files have it.
    pub kustomization: &'a Kustomization,
    /// The HelmRelease of it that has the objects, as the files have it; none for the Kustomization's own.
    pub release: Option<&'a ReleaseSummary>,
    pub objects: Vec<Desired>,
    /// All objects of the same build.
    pub build: Vec<&'a Value>,
    /// Values that are never printed.
    pub mask: SecretMask,
}

impl DryRun<'_> {
    /// These settings with what a release has of its own: Helm's field manager, and no labels of a Kustomization.
    #[must_use]
    pub fn settings(&self, of_kustomization: Settings) -> Settings {
        let mask = self.mask.clone();
        match self.release {
            None => Settings {
                mask,
                ..of_kustomization
            },
            Some(_) => Settings {
                mask,
                manager: "helm-controller".to_owned(),
                strict_fields: of_kustomization.strict_fields,
                concurrency: of_kustomization.concurrency,
                ..Settings::new(ObjectName::new("", ""))
            },
        }
    }
}

/// Why no API server was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotAsked {
    /// It is not to be asked about this Kustomization, which stops nothing.
    Left(String),
    /// It should have been, and that failed.
    Failed(String),
}

/// Asks about Kustomizations side by side, each until `end`. `more` says what gives more time.
pub async fn asked<'a, F>(
    runs: Vec<DryRun<'a>>,
    end: Instant,
    more: &str,
    ask: impl Fn(DryRun<'a>) -> F,
) -> Vec<Result<Vec<Refusal>, NotAsked>>
where
    F: Future<Output = Result<Vec<Refusal>, NotAsked>>,
{
    let in_time = |run| {
        let answer = tokio::time::timeout_at(end.into(), ask(run));
        async move {
            let late = || NotAsked::Failed(format!("there was no answer in time; {more} gives it more"));
            answer.await.unwrap_or_else(|_| Err(late()))
        }
    };
    let requests: Vec<_> = runs.into_iter().map(in_time).collect();
    stream::iter(requests).buffered(CONCURRENT).collect().await
}

/// The identity that asks for a dry run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asker<'a> {
    /// A ServiceAccount that is impersonated.
    Account(&'a ObjectName),
    /// The identity that applies the Kustomization.
    Applier,
    /// Another identity than the one that applies it.
    Other,
}

/// What the refusals of a dry run say about the objects themselves.
///
/// # Errors
/// They say something about the server, or about the rights of the one that asks.
pub fn judged(refusals: Vec<Refusal>, asker: Asker<'_>) -> Result<Vec<Refusal>, NotAsked> {
    let of = |cause| refusals.iter().find(|refusal| refusal.cause == cause);
    let failed = |refusal: &Refusal, rest: String| Err(NotAsked::Failed(format!("{}{rest}", refusal.message)));
    if let Some(refusal) = of(Cause::NotImpersonated) {
        let Asker::Account(ObjectName { namespace, name }) = asker else {
            return failed(refusal, String::new());
        };
        let rest = format!(
            "; the dry run is made as ServiceAccount {namespace}/{name}, which takes the verb impersonate on serviceaccounts {name} in \
             namespace {namespace}"
        );
        return failed(refusal, rest);
    }
    if let (Some(refusal), Asker::Other) = (of(Cause::NoRight), asker) {
        let rest = "; it names no ServiceAccount (spec.serviceAccountName), and the identity that applies it may have this right";
        return failed(refusal, rest.to_owned());
    }
    match of(Cause::Server) {
        Some(refusal) => failed(refusal, String::new()),
        None => Ok(refusals),
    }
}

/// The changed objects of a Kustomization.
struct Changes<'p> {
    pair: &'p Pair<'p>,
    after: &'p Node,
    objects: Vec<Difference<'p>>,
}

/// A Kustomization with objects that the server refuses with the commit only.
struct Refused<'p> {
    pair: &'p Pair<'p>,
    refusals: Vec<Refusal>,
}

impl Attempt<'_> {
    /// Asks the API servers about the objects that the commit changes. Returns reports that stop nothing.
    ///
    /// # Errors
    /// They refuse some that they took before, or cannot be asked.
    pub(crate) fn ask(
        &self,
        server: &dyn DryRuns,
        pairs: &[Pair<'_>],
        memo: &Memo,
    ) -> Result<Vec<String>, VerifyError> {
        let mut notes = Vec::new();
        let changes: Vec<Changes<'_>> = pairs.iter().filter_map(|pair| changes(pair, &mut notes)).collect();
        let runs = changes.iter().filter_map(|changes| Some((changes, changes.run()?)));
        let (changes, runs): (Vec<_>, Vec<_>) = runs.unzip();
        let answers = server.dry_runs(runs, self.end);
        let (mut found, mut failed) = (Vec::new(), Vec::new());
        for (changes, answer) in changes.into_iter().zip(answers) {
            match answer {
                Ok(refusals) if refusals.is_empty() => {}
                Ok(refusals) => found.push((changes, refusals)),
                Err(NotAsked::Left(why)) => notes.push(format!("{}: {why}", changes.pair.title())),
                Err(NotAsked::Failed(why)) => failed.push((changes.pair, why)),
            }
        }
        let broken = self.newly(server, found, &mut notes, &mut failed);
        if !broken.is_empty() {
            return Err(self.refused_by_server(server, &broken, memo));
        }
        let failed = failed.iter().map(|(pair, why)| {
            format!(
                "the API server could not be asked about the changes of {}: {why}",
                pair.title()
            )
        });
        let failed: Vec<String> = failed.collect();
        if failed.is_empty() || self.pushes_unverified() {
            notes.extend(failed)
        } else {
            return Err(refused(failed.join("; ")));
        }
        Ok(notes)
    }

    /// Those of the refused that the server takes without the commit. A Kustomization whose objects of before are
    /// refused, too, was broken already.
    fn newly<'p>(
        &self,
        server: &dyn DryRuns,
        found: Vec<(&Changes<'p>, Vec<Refusal>)>,
        notes: &mut Vec<String>,
        failed: &mut Vec<(&'p Pair<'p>, String)>,
    ) -> Vec<Refused<'p>> {
        let runs: Vec<Option<DryRun<'_>>> = found
            .iter()
            .map(|(changes, refusals)| changes.run_before(refusals))
            .collect();
        let has_before: Vec<bool> = runs.iter().map(Option::is_some).collect();
        let mut answers = server
            .dry_runs(runs.into_iter().flatten().collect(), self.end)
            .into_iter();
        let mut broken = Vec::new();
        for ((changes, refusals), has_before) in found.into_iter().zip(has_before) {
            let pair = changes.pair;
            let before = if has_before { answers.next() } else { None };
            match before.unwrap_or_else(|| Ok(Vec::new())) {
                Ok(before) if before.is_empty() => broken.push(Refused { pair, refusals }),
                Ok(before) => notes.push(format!(
                    "{} is refused by the API server without the change as well: {}",
                    pair.title(),
                    shown(&before)
                )),
                Err(NotAsked::Left(why) | NotAsked::Failed(why)) => failed.push((pair, why)),
            }
        }
        broken
    }

    /// The error for objects that are refused with the commit only, and the fields that cause it.
    fn refused_by_server(&self, server: &dyn DryRuns, broken: &[Refused<'_>], memo: &Memo) -> VerifyError {
        let texts = broken.iter().map(|one| {
            format!(
                "{} would be refused by the API server: {}",
                one.pair.title(),
                shown(&one.refusals)
            )
        });
        let message = texts.collect::<Vec<_>>().join("; ");
        let broken: Vec<(&Pair<'_>, &Vec<Refusal>)> = broken.iter().map(|one| (one.pair, &one.refusals)).collect();
        let fields = self.causes(&broken, memo, |pair, refusals, fleet| {
            let trial = pairs(slice::from_ref(pair.fleets.0), slice::from_ref(fleet));
            let same = trial.iter().find(|one| one.after.is_some_and(|node| pair.is_of(node)));
            let Some(mut changes) = same.and_then(|pair| changes(pair, &mut Vec::new())) else {
                return false;
            };
            changes
                .objects
                .retain(|one| one.after.is_some_and(|after| is_of(&after.id(), refusals)));
            let Some(run) = changes.run() else { return false };
            let answer = server.dry_runs(vec![run], self.end).pop();
            matches!(answer, Some(Ok(refusals)) if !refusals.is_empty())
        });
        VerifyError { message, fields }
    }
}

/// The changed objects of a Kustomization that can be sent; notes on the others.
fn changes<'p>(pair: &'p Pair<'p>, notes: &mut Vec<String>) -> Option<Changes<'p>> {
    let after = pair.after?;
    let mut objects = pair.differences();
    // The impact of the commit has the notes.
    pair.take_kept(&mut objects);
    objects.retain(|one| one.after.is_some());
    let all = objects.len();
    objects.retain(|one| !is_hook_made_again(after, one));
    match all - objects.len() {
        0 => {}
        hooks => notes.push(format!(
            "{}: the API server is not asked about {hooks} of its changed objects: Helm deletes hooks and recreates them, and \
             a dry run would be an update",
            pair.title()
        )),
    }
    if objects.is_empty() {
        return None;
    }
    let Some(kustomization) = pair.kustomization() else {
        notes.push(format!(
            "{}: no Kustomization is known that applies its objects, so the API server is not asked about them",
            pair.name
        ));
        return None;
    };
    let (all, lacks_variables) = (objects.len(), lacks_variables(pair.fleets.1, kustomization));
    objects.retain(|one| {
        one.after
            .is_some_and(|object| !is_unknown(&object.value, lacks_variables))
    });
    match all - objects.len() {
        0 => {}
        left => notes.push(format!(
            "{}: the API server is not asked about {left} of its changed objects, which have values that are not known here",
            pair.title()
        )),
    }
    (!objects.is_empty()).then_some(Changes { pair, after, objects })
}

/// Whether it is a hook of Helm that is there already, perhaps with other content.
fn is_hook_made_again(after: &Node, difference: &Difference<'_>) -> bool {
    difference.before.is_some() && difference.after.is_some_and(|object| after.is_hook(object))
}

impl<'p> Changes<'p> {
    /// The dry run of the objects as the commit has them.
    fn run(&self) -> Option<DryRun<'p>> {
        self.run_of(self.after, self.objects.iter().filter_map(|one| one.after))
    }

    /// The dry run of the refused objects as they were; none if none of them was there.
    fn run_before(&self, refusals: &[Refusal]) -> Option<DryRun<'p>> {
        let refused = self.objects.iter().filter(|one| {
            let id = one.after.map(FleetObject::id);
            id.is_some_and(|id| refusals.iter().any(|refusal| refusal.id == id))
        });
        self.run_of(self.pair.before?, refused.filter_map(|one| one.before))
    }

    fn run_of(&self, node: &'p Node, objects: impl Iterator<Item = &'p FleetObject>) -> Option<DryRun<'p>> {
        let objects: Vec<Desired> = objects
            .map(|object| Desired {
                object: object.value.clone(),
                origin: object.origin.as_deref().map(str::to_owned),
            })
            .collect();
        if objects.is_empty() {
            return None;
        }
        // The server may tell values of before.
        let products = [self.pair.before, self.pair.after].into_iter().flatten();
        let hidden = products.filter_map(|node| Some(&node.product.as_ref().ok()?.hidden));
        let (names, texts): (Vec<_>, Vec<_>) = hidden.map(|hidden| (&hidden.objects, &hidden.texts)).unzip();
        Some(DryRun {
            kustomization: self.pair.kustomization()?,
            release: node.release.as_ref(),
            objects,
            build: node.objects().iter().map(|object| &object.value).collect(),
            mask: SecretMask::new(
                names.into_iter().flatten().cloned().collect(),
                texts.into_iter().flatten().cloned(),
            ),
        })
    }
}

/// Whether an object is one of the refused, or a generated one with another hash.
fn is_of(id: &ObjectId, refusals: &[Refusal]) -> bool {
    refusals
        .iter()
        .any(|refusal| refusal.id == *id || is_renamed(&refusal.id, id))
}

/// The first refusals, in the server's words, with the places of the objects.
fn shown(refusals: &[Refusal]) -> String {
    let mut texts: Vec<String> = refusals
        .iter()
        .take(SHOWN)
        .map(|refusal| match &refusal.origin {
            Some(origin) => format!("{} (in {origin})", refusal.message),
            None => refusal.message.clone(),
        })
        .collect();
    match refusals.len().saturating_sub(SHOWN) {
        0 => {}
        more => texts.push(format!("{more} more objects")),
    }
    texts.join("; ")
}

/// Whether variables of a Kustomization have values that only the cluster knows: their expressions stay
/// as they are written.
fn lacks_variables(fleet: &Fleet, kustomization: &Kustomization) -> bool {
    let (references, missing) = fleet.references(kustomization);
    !missing.is_empty() || references.iter().flatten().any(|object| is_masked(object))
}

/// Whether an object has encrypted values, or expressions in place of variables.
fn is_unknown(object: &Value, lacks_variables: bool) -> bool {
    let is_text = |text: &String| text.contains(MASK) || (lacks_variables && text.contains("${"));
    let mut waiting = vec![object];
    while let Some(value) = waiting.pop() {
        match value {
            Value::String(text) if is_text(text) => return true,
            Value::Array(items) => waiting.extend(items),
            Value::Object(fields) => waiting.extend(fields.values()),
            _ => {}
        }
    }
    is_masked(object)
}
