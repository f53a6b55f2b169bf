//! The pure middle of every run: markers and policies in, changed fields, skips and spliced files out.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::windows::Timed;
use crate::error::RunError;
use crate::find::facts::Marked;
use crate::find::ruled::{Named, RuleSet, as_followed, is_followed};
use crate::job::edits::Edits;
use crate::policy::held::Held;
use crate::policy::policies::Policies;
use crate::policy::view::View;
use bumpwright_edit::{self as edit, Change, Images as _, Plan as FilePlan, Reason, Scan, Site, Skip, Verdict};
use bumpwright_gostd::Time;
use bumpwright_policy::{LatestRef, PolicyName};

/// The most fields of a policy whose places are kept.
const FIELDS: usize = 20;

/// A marked field, as it was before the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MarkedField {
    /// Path from the repository's root.
    pub path: String,
    /// The line, from 1.
    pub line: usize,
    pub value: String,
}

/// The planned changes of a run, file by file.
#[derive(Debug, Default)]
pub struct Plan {
    /// Files with edits, by their place in what was surveyed.
    pub files: Vec<(usize, FilePlan)>,
    /// All fields that change.
    pub changes: Vec<Change>,
    pub skips: Vec<Skip>,
    /// The policies that markers name, whatever their result.
    pub named: BTreeSet<PolicyName>,
    /// Some of the fields that they mark.
    pub fields: BTreeMap<PolicyName, Vec<MarkedField>>,
    /// Those of them that are not known.
    pub unknown: BTreeSet<PolicyName>,
    /// The images of those of them that are of other namespaces and allow the automation.
    pub others: BTreeMap<PolicyName, LatestRef>,
    /// The rules that name a field which may be set, by their numbers.
    pub(crate) followed: BTreeSet<usize>,
    /// Rules that depend on the image of a policy, and why it has none.
    pub(crate) refused: BTreeMap<usize, (Reason, String)>,
    /// When fields that wait may be written first: a window opens, or a tag has been somewhere for long enough.
    pub due: Option<Time>,
}

impl Plan {
    /// The files with edits, by their place in what was surveyed, each with its changes.
    pub(crate) fn by_file(&self) -> impl Iterator<Item = (usize, &[Change])> {
        let mut rest = self.changes.as_slice();
        self.files.iter().map(move |(n, file)| {
            let (own, others) = rest.split_at_checked(file.ends.len()).unwrap_or((rest, &[]));
            rest = others;
            (*n, own)
        })
    }

    /// The fields without those that rules name for other images than that of their policy; of several rules for one
    /// field the first one counts.
    fn applicable<'s>(&mut self, path: &[u8], scan: &'s Scan, view: &View<'_>) -> Cow<'s, Scan> {
        let is_followed = std::str::from_utf8(path).is_ok_and(is_followed);
        if scan.sites.iter().all(|site| site.rule.is_none()) && !is_followed {
            return Cow::Borrowed(scan);
        }
        let mut scan = scan.clone();
        if is_followed {
            as_followed(&mut scan);
        }
        scan.sites.retain(|site| self.follows(site, view));
        scan.sites.dedup_by(|later, first| later.span == first.span);
        Cow::Owned(scan)
    }

    fn follows(&mut self, site: &Site, view: &View<'_>) -> bool {
        let Some(rule) = &site.rule else { return true };
        if let Some(wanted) = &rule.image {
            match view.verdict(&site.setter.policy) {
                Verdict::Image(image) if edit::is_same_image(wanted, &image.name) => {}
                Verdict::Image(_) => return false,
                Verdict::Skip(reason, message) => {
                    self.refused.entry(rule.number).or_insert((reason, message));
                    return false;
                }
            }
        }
        self.followed.insert(rule.number);
        true
    }

    /// Keeps the place of a field, unless there are many of its policy.
    fn keep(&mut self, path: &[u8], site: &Site) {
        let policy = &site.setter.policy;
        if !self.fields.contains_key(policy) {
            self.fields.insert(policy.clone(), Vec::new());
        }
        if let Some(fields) = self.fields.get_mut(policy).filter(|fields| fields.len() < FIELDS) {
            fields.push(MarkedField {
                path: String::from_utf8_lossy(path).into_owned(),
                line: site.line,
                value: site.value.clone(),
            });
        }
    }

    /// Makes skips of those changes for which `judge` has a message. It is asked about each file, by its place
    /// among those with edits.
    pub(crate) fn take_out(&mut self, reason: Reason, mut judge: impl FnMut(usize, &[Change]) -> Vec<Option<String>>) {
        let mut changes = std::mem::take(&mut self.changes).into_iter();
        for (place, (n, file)) in std::mem::take(&mut self.files).into_iter().enumerate() {
            let own: Vec<Change> = changes.by_ref().take(file.ends.len()).collect();
            let refused = judge(place, &own);
            let kept = file.only(|change| refused.get(change).is_some_and(Option::is_none));
            if !kept.edits.is_empty() {
                self.files.push((n, kept));
            }
            for (change, refusal) in own.into_iter().zip(refused) {
                match refusal {
                    None => self.changes.push(change),
                    Some(message) => self.skips.push(skip(change, reason, message)),
                }
            }
        }
        self.skips.sort();
    }

    /// Adds what is to be told of the rules themselves. `is_all` where all files of the repository were looked at.
    pub(crate) fn add_skips_of_rules(&mut self, set: &RuleSet, files: &Named, is_all: bool) {
        self.skips.extend(set.fault().cloned());
        let rules = set.rules.as_ref().map_or(&[][..], |rules| rules.rules());
        for (number, rule) in rules.iter().enumerate() {
            let found = match self.refused.remove(&number) {
                Some(refusal) => Some(refusal),
                None if self.followed.contains(&number) => None,
                None if !files.contains(&number) && !is_all => None,
                None => {
                    let what = if files.contains(&number) { "no field" } else { "no file" };
                    Some((
                        Reason::UnmatchedRule,
                        format!("the rule for {} finds {what}; correct or remove it", rule.policy),
                    ))
                }
            };
            self.skips.extend(found.map(|(reason, message)| Skip {
                path: rule.source.to_string(),
                line: rule.line,
                column: rule.column,
                reason,
                message,
            }));
        }
        self.skips.sort();
        self.skips.dedup();
    }
}

/// A change that is not made.
pub(crate) fn skip(change: Change, reason: Reason, message: String) -> Skip {
    Skip {
        path: change.path,
        line: change.line,
        column: change.column,
        reason,
        message,
    }
}

/// Plans the edits of every file with the policies of this run, at a time.
///
/// # Errors
///
/// An automation has a policy with an invalid image.
pub fn plan<Place>(marked: &[Marked<Place>], edits: &Edits, policies: &Policies, now: &Time) -> Result<Plan, RunError> {
    let view = View {
        policies,
        namespace: edits.namespace.as_deref(),
        selector: edits.selector.as_ref(),
    };
    if let Some((policy, invalid)) = view.invalid() {
        return Err(RunError::Image {
            policy: policy.clone(),
            source: invalid.clone(),
        });
    }
    let timed = Timed::new(view, now, edits.overwrite);
    let mut plan = Plan::default();
    for (n, file) in marked.iter().enumerate() {
        let Some(scan) = &file.facts.scan else { continue };
        let scan = &*plan.applicable(&file.path, scan, &view);
        for site in &scan.sites {
            plan.keep(&file.path, site);
            if !plan.named.contains(&site.setter.policy) {
                plan.named.insert(site.setter.policy.clone());
                if !policies.knows(&site.setter.policy) {
                    plan.unknown.insert(site.setter.policy.clone());
                }
                plan.others.extend(other(&view, &site.setter.policy));
            }
        }
        let mut edited = edit::plan(&String::from_utf8_lossy(&file.path), scan, &timed);
        plan.changes.append(&mut edited.changes);
        plan.skips.append(&mut edited.skips);
        if !edited.edits.is_empty() {
            plan.files.push((n, edited));
        }
    }
    plan.due = timed.opens();
    Ok(plan)
}

/// The image of a policy of another namespace that an automation may use.
fn other(view: &View<'_>, policy: &PolicyName) -> Option<(PolicyName, LatestRef)> {
    view.namespace.filter(|own| *own != policy.namespace)?;
    match view.verdict(policy) {
        Verdict::Image(image) => Some((policy.clone(), image.clone())),
        Verdict::Skip(..) => None,
    }
}

/// Returns whether markers name incompletely known policies: a reason to look for manifests in the repository. One of
/// another namespace may be there, and allow the automation.
#[must_use]
pub(crate) fn lacks_manifests<Place>(marked: &[Marked<Place>], edits: &Edits) -> bool {
    let policies = &edits.policies;
    let may_use = |name: &PolicyName| policies.is_open_to(edits.namespace.as_deref(), name) || !policies.knows(name);
    let mut names = sites(marked).map(|site| &site.setter.policy);
    names.any(|name| !policies.is_complete(name) && may_use(name))
}

/// The same policies with the images that registries have for those named by markers.
#[must_use]
pub fn resolved<Place>(policies: Arc<Policies>, marked: &[Marked<Place>], edits: &Edits) -> Arc<Policies> {
    // When all images are known, as with `--set` and in a cluster, the fields add nothing.
    if !policies.any_open() {
        return policies;
    }
    let selector = edits.selector.as_ref();
    let wants = |labels: &BTreeMap<String, String>| selector.is_none_or(|s| s.matches(labels).unwrap_or(false));
    let mut held = Held::default();
    for site in sites(marked).filter(|site| site.rule.as_ref().is_none_or(|rule| rule.image.is_none())) {
        held.add(&site.setter, &site.value);
    }
    let named = sites(marked).map(|site| &site.setter.policy);
    let named: BTreeSet<&PolicyName> = named
        .filter(|name| policies.is_open_to(edits.namespace.as_deref(), name))
        .collect();
    policies.resolved(&named, wants, &held, edits.hooks.resolver.as_deref())
}

/// All marked fields.
fn sites<Place>(marked: &[Marked<Place>]) -> impl Iterator<Item = &Site> {
    let scans = marked.iter().filter_map(|file| file.facts.scan.as_ref());
    scans.flat_map(|scan| scan.sites.iter())
}
