//! The tags of a repository as a policy sees them: each with its place, or why it is left out, and its age and
//! signature as far as a choice has asked for them. No registry is asked.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bumpwright_api::{ImagePolicy, ImageRepository, ObjectName};
use bumpwright_kube::{IMAGE_POLICY, IMAGE_REPOSITORY, Object};
use bumpwright_overview::Image;
use bumpwright_pages::TagRow;
use bumpwright_policy::{Judgement, Signers, Survey, Verdict};
use bumpwright_scan::{Known, Scanned, Scanner, SignatureVerdict, TagStore, reference_of};

use crate::watches::Watches;

/// Reads tags: all that this process has scanned, or else those that the status of a repository has.
pub struct TagReader {
    scans: Option<(Arc<TagStore>, Arc<Scanner>)>,
}

impl TagReader {
    /// `scans` is what this process has scanned, and come to know in choices.
    pub fn new(scans: Option<(Arc<TagStore>, Arc<Scanner>)>) -> Self {
        Self { scans }
    }

    /// The tags of an image, the best first. The caller may see its policy and its repository. Blocks.
    pub(crate) fn rows(&self, watches: &Watches, image: &Image) -> Vec<TagRow> {
        let policy = watches.get(&IMAGE_POLICY, &image.policy.name);
        let repository = watches.get(&IMAGE_REPOSITORY, &image.repository.name);
        let tags = repository.and_then(|(_, repository)| self.scanned(&repository));
        let tags = tags.unwrap_or_else(|| image.tags.clone());
        let policy = policy.and_then(|(kind, policy)| policy.read::<ImagePolicy>(kind).ok());
        let facts = policy.iter().flat_map(|policy| self.facts(policy, image));
        let facts: BTreeMap<String, Facts> = facts.collect();
        let unknown = Facts::default();
        let survey = policy.and_then(|policy| policy.chooser().ok()?.survey(&tags).ok());
        let chosen = image.chosen.as_ref().map(|chosen| chosen.tag.as_str());
        let row = |tag: &str, why: String| {
            let facts = facts.get(tag).unwrap_or(&unknown);
            TagRow {
                made: facts.made,
                signature: facts.signature.clone(),
                ..row(tag, chosen, why, &image.failed)
            }
        };
        match survey {
            Some(survey) => ranked(&survey).map(|one| row(&one.tag, why(one))).collect(),
            None => tags.iter().map(|tag| row(tag, String::new())).collect(),
        }
    }

    fn scanned(&self, repository: &Object) -> Option<Vec<String>> {
        let spec: ImageRepository = repository.read(&IMAGE_REPOSITORY).ok()?;
        let canonical = reference_of(&spec).ok()?.context();
        let ObjectName { namespace, name } = &repository.name;
        let scanned = Scanned::new(namespace, name, &repository.uid, &canonical);
        let tags = self.scans.as_ref()?.0.tags(&scanned).ok()?;
        (!tags.is_empty()).then(|| tags.into_parts().0)
    }

    /// What choices of the policy have come to know of tags; without them what its status says.
    fn facts(&self, policy: &ImagePolicy, image: &Image) -> BTreeMap<String, Facts> {
        let guards = policy.guards().ok();
        let verification = guards.and_then(|guards| guards.verification);
        let verified = verification.map(|verification| match verification.signers {
            Signers::Keys(_) | Signers::Identities(..) => "verified by cosign",
            Signers::Notation(_) => "verified by notation",
        });
        let known = self
            .scans
            .as_ref()
            .map(|(_, scanner)| scanner.known(&image.policy.name, &image.image));
        let known = known.into_iter().flatten();
        let mut facts: BTreeMap<String, Facts> = known.map(|(tag, known)| (tag, Facts::of(known, verified))).collect();
        if verified.is_some() {
            for (tag, why) in refused(&image.readiness.message, &image.image) {
                let one = facts.entry(tag.to_owned()).or_default();
                if one.signature.is_empty() {
                    one.signature = format!("not accepted: {why}");
                }
            }
        }
        facts
    }
}

/// The age and signature of a tag.
#[derive(Default)]
struct Facts {
    made: Option<i64>,
    signature: String,
}

impl Facts {
    /// `verified` are the words for a signature that counts, if the policy wants any.
    fn of(known: Known, verified: Option<&str>) -> Self {
        let signature = match (known.signed, verified) {
            (Some(SignatureVerdict::Accepted), Some(verified)) => verified.to_owned(),
            (Some(SignatureVerdict::Refused(why)), Some(_)) => format!("not accepted: {why}"),
            _ => String::new(),
        };
        Self {
            made: known.made,
            signature,
        }
    }
}

/// The tags whose signatures were refused, as a Ready message tells: `image:tag: unsigned: why`.
fn refused<'a>(message: &'a str, image: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
    message.lines().filter_map(move |line| {
        let rest = line.strip_prefix(image)?.strip_prefix(':')?;
        rest.split_once(": unsigned: ")
    })
}

/// Those that take part by rank, then the others.
fn ranked(survey: &Survey) -> impl Iterator<Item = &Judgement> {
    let taking_part: BTreeSet<usize> = survey.ranking.iter().copied().collect();
    let others = survey
        .tags
        .iter()
        .enumerate()
        .filter(move |(place, _)| !taking_part.contains(place));
    survey
        .ranking
        .iter()
        .filter_map(|place| survey.tags.get(*place))
        .chain(others.map(|(_, judgement)| judgement))
}

fn why(judgement: &Judgement) -> String {
    match &judgement.verdict {
        Verdict::Newest => String::new(),
        verdict => verdict.to_string(),
    }
}

fn row(tag: &str, chosen: Option<&str>, why: String, failed: &BTreeMap<String, String>) -> TagRow {
    let is_of = |version: &str| version.split('@').next() == Some(tag);
    let failed = failed.iter().find(|(version, _)| is_of(version));
    TagRow {
        tag: tag.to_owned(),
        is_chosen: chosen == Some(tag),
        why,
        failed: failed.map(|(_, why)| why.clone()),
        ..TagRow::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_tells_which_signatures_were_refused() {
        let message = "Latest image tag for ghcr.io/a/web resolved to 1.0.0\n\
                       ghcr.io/a/web:1.1.0: unsigned: no signature: x\n\
                       ghcr.io/a/web:1.2.0: is younger than 1h\nghcr.io/a/web2:1.3.0: unsigned: no";
        let told: Vec<_> = refused(message, "ghcr.io/a/web").collect();
        assert_eq!(told, [("1.1.0", "no signature: x")]);
    }

    #[test]
    fn signatures_are_told_of_policies_that_want_them() {
        let known = |signed| Known {
            made: Some(7),
            signed: Some(signed),
        };
        let told = |signed, verified| {
            let facts = Facts::of(known(signed), verified);
            (facts.made, facts.signature)
        };
        assert_eq!(
            told(SignatureVerdict::Accepted, Some("verified")),
            (Some(7), "verified".to_owned())
        );
        assert_eq!(told(SignatureVerdict::Accepted, None), (Some(7), String::new()));
        assert_eq!(
            told(SignatureVerdict::Refused("no key".to_owned()), Some("verified")).1,
            "not accepted: no key"
        );
    }
}
