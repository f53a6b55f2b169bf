//! Tag and digest of one image, in fields beside each other: they change together or not at all, since a digest decides
//! which image runs, whatever its tag says.

use std::collections::BTreeMap;

use super::planned::Outcome;
use crate::model::{DocumentId, Images, Part, Reason, Verdict, is_digest, is_hash};
use crate::scanned::Scan;
use crate::site::{Neighbour, Site};
use bumpwright_policy::{LatestRef, PolicyName};

/// The length of a SHA-256 in hexadecimal digits.
const HASH: usize = 64;

/// Whether a value that nothing sets may be the tag or the digest beside a field that is set.
pub(crate) fn is_version(key: &str, value: &str) -> bool {
    !value.is_empty() && (is_tag_key(key) || is_pin(key, value))
}

/// Whether it is a digest, by its key and its looks.
fn is_pin(key: &str, value: &str) -> bool {
    let is_one = is_digest(value) || (value.len() == HASH && is_hash(value));
    is_one && split_key(key, &DIGESTS).is_some()
}

fn is_tag_key(key: &str) -> bool {
    split_key(key, &["tag"]).is_some()
}

/// How the keys of digests end.
const DIGESTS: [&str; 4] = ["digest", "sha256", "sha512", "sha"];

/// How the keys of other parts end.
const OTHERS: [&str; 6] = ["tag", "version", "image", "repository", "name", "ref"];

/// What is before such an end of a key, which says of which image it is: `web` of `webTag`, nothing
/// of `imageTag` and `newTag`.
fn split_key(key: &str, ends: &[&str]) -> Option<String> {
    let key = key.to_ascii_lowercase();
    let stem = ends.iter().find_map(|end| key.strip_suffix(end))?;
    let stem = stem.trim_matches(['-', '_', '.']);
    Some(match stem {
        "image" | "new" => String::new(),
        stem => stem.to_owned(),
    })
}

/// Whether a digest is of the same image as the field of another part, by their keys.
fn are_of_one(digest: &str, other: &str) -> bool {
    let Some(digest) = split_key(digest, &DIGESTS) else {
        return false;
    };
    split_key(other, &OTHERS).is_some_and(|stem| stem == digest) || other.to_ascii_lowercase() == digest
}

/// Holds fields whose image would get apart.
pub(crate) fn keep(scan: &Scan, images: &dyn Images, outcomes: &mut [Outcome]) {
    if scan.sites.len() < 2 && scan.neighbours.is_empty() {
        return;
    }
    beside_others(scan, images, outcomes);
    let mut groups: BTreeMap<Option<usize>, Vec<usize>> = BTreeMap::new();
    for (n, site) in scan.sites.iter().enumerate() {
        groups.entry(site.collection).or_default().push(n);
    }
    let mut pairs = Pairs {
        sites: &scan.sites,
        images,
        outcomes,
        lone: Lone::new(),
    };
    groups.values().for_each(|group| pairs.of_group(group));
    pairs.apart();
}

/// Holds tags beside a digest that stays, and digests beside a tag that stays, since nothing sets those.
fn beside_others(scan: &Scan, images: &dyn Images, outcomes: &mut [Outcome]) {
    let mut beside: BTreeMap<usize, Vec<&Neighbour>> = BTreeMap::new();
    for neighbour in &scan.neighbours {
        beside.entry(neighbour.collection).or_default().push(neighbour);
    }
    for (site, outcome) in scan.sites.iter().zip(outcomes) {
        let others = site.collection.and_then(|collection| beside.get(&collection));
        let (Ok(Some(_)), Some(others)) = (&*outcome, others) else {
            continue;
        };
        if let Verdict::Image(image) = images.verdict(&site.setter.policy)
            && let Some(message) = others.iter().find_map(|other| apart_from(site, other, image))
        {
            *outcome = Err((Reason::Pinned, message));
        }
    }
}

/// Why a field cannot change while what is beside it stays.
fn apart_from(site: &Site, other: &Neighbour, image: &LatestRef) -> Option<String> {
    let setter = |part: &str| format!("{}:{part}", site.setter.policy.marker());
    let (key, line, column) = (&other.key, other.line, other.column);
    let part = site.setter.part;
    if part.has_tag() && is_pin(&other.key, &other.value) && are_of_one(&other.key, &site.key) {
        let digest = image.digest.as_deref().unwrap_or_default();
        let is_it = other.value == digest || digest.split_once(':').is_some_and(|(_, hash)| hash == other.value);
        return (!is_it).then(|| {
            format!(
                "{key} beside it (line {line}, column {column}) has no marker, and would keep the old image under the new tag; mark it \
                 with {}, with a digest in the policy (spec.digestReflectionPolicy), or remove it",
                setter("digest")
            )
        });
    }
    let is_tag = part == Part::Digest && is_tag_key(&other.key) && are_of_one(&site.key, &other.key);
    (is_tag && !image.tag.is_empty() && other.value != image.tag).then(|| {
        format!(
            "{key} beside it (line {line}, column {column}) has no marker, and would name another version than the new digest, which is of \
             {}; mark it with {}, or remove it",
            image.tag,
            setter("tag")
        )
    })
}

/// Of each policy and object: fields for tags without a digest beside them, and digests without a tag.
type Lone<'a> = BTreeMap<(&'a PolicyName, &'a DocumentId), (Vec<usize>, Vec<usize>)>;

struct Pairs<'a, 'o> {
    sites: &'a [Site],
    images: &'a dyn Images,
    outcomes: &'o mut [Outcome],
    lone: Lone<'a>,
}

impl<'a> Pairs<'a, '_> {
    fn site(&self, n: usize) -> Option<&'a Site> {
        self.sites.get(n)
    }

    fn lone_of(&mut self, site: &'a Site) -> &mut (Vec<usize>, Vec<usize>) {
        self.lone.entry((&site.setter.policy, &site.object)).or_default()
    }

    fn of_part(&self, group: &[usize], is_it: fn(Part) -> bool) -> Vec<usize> {
        let members = group.iter().copied();
        let members = members.filter(|n| self.site(*n).is_some_and(|site| is_it(site.setter.part)));
        members.collect()
    }

    /// Looks at the fields of one collection.
    fn of_group(&mut self, group: &[usize]) {
        let digests = self.of_part(group, |part| part == Part::Digest);
        let names = self.of_part(group, |part| part == Part::Name);
        let tags = self.of_part(group, Part::has_tag);
        let mut paired = vec![false; digests.len()];
        for tag in tags {
            let Some(site) = self.site(tag) else { continue };
            let mut beside = Vec::new();
            for (digest, paired) in digests.iter().zip(&mut paired) {
                if self.site(*digest).is_some_and(|digest| are_pair(site, digest)) {
                    *paired = true;
                    beside.push(*digest);
                }
            }
            if beside.is_empty() && site.setter.part != Part::Reference {
                self.lone_of(site).0.push(tag);
            }
            self.other_version(tag, &beside);
            let named = names.iter().copied();
            beside.extend(named.filter(|n| {
                self.site(*n)
                    .is_some_and(|name| name.setter.policy == site.setter.policy)
            }));
            self.together(tag, &beside);
        }
        for (digest, _) in digests.iter().zip(paired).filter(|(_, paired)| !paired) {
            if let Some(site) = self.site(*digest) {
                self.lone_of(site).1.push(*digest);
            }
        }
    }

    /// Holds a tag and the digest of another policy that has chosen another version.
    fn other_version(&mut self, tag: usize, digests: &[usize]) {
        for digest in digests {
            let (Some(one), Some(other)) = (self.site(tag), self.site(*digest)) else {
                continue;
            };
            let (own, others) = (&one.setter.policy, &other.setter.policy);
            if let (Verdict::Image(image), Verdict::Image(second)) =
                (self.images.verdict(own), self.images.verdict(others))
                && own != others
                && image.tag != second.tag
            {
                let message = format!(
                    "its tag and its digest are of two policies, {own} with {} and {others} with {}; mark both with one",
                    image.tag, second.tag
                );
                self.hold(tag, (Reason::Pinned, message.clone()));
                self.hold(*digest, (Reason::Pinned, message));
            }
        }
    }

    /// When one of them stays, all do.
    fn together(&mut self, tag: usize, others: &[usize]) {
        let members = std::iter::once(tag).chain(others.iter().copied());
        let stays = |n: &usize| {
            // The name alone never decides: it says nothing about the version.
            self.site(*n).is_some_and(|site| site.setter.part != Part::Name)
                && self.outcomes.get(*n).is_some_and(Result::is_err)
        };
        let Some(held) = members.clone().find(stays) else {
            return;
        };
        members.for_each(|n| self.stay_with(n, held));
    }

    /// Fields of one policy in different collections: a list of parameters has tag and digest so.
    fn apart(&mut self) {
        for (tags, digests) in std::mem::take(&mut self.lone).into_values() {
            if tags.is_empty() || digests.is_empty() {
                continue;
            }
            let first = |fields: &[usize]| {
                let mut fields = fields.iter().copied();
                fields.find(|n| self.outcomes.get(*n).is_some_and(Result::is_err))
            };
            let (tag, digest) = (first(&tags), first(&digests));
            if let Some(digest) = digest {
                tags.iter().for_each(|n| self.stay_with(*n, digest));
            }
            if let Some(tag) = tag {
                digests.iter().for_each(|n| self.stay_with(*n, tag));
            }
        }
    }

    fn stay_with(&mut self, n: usize, held: usize) {
        let (Some(site), Some(Err((reason, why)))) = (self.site(held), self.outcomes.get(held)) else {
            return;
        };
        let (word, line) = (site.setter.part.word(), site.line);
        let refusal = (*reason, format!("it stays with the {word} on line {line}: {why}"));
        self.hold(n, refusal);
    }

    /// Holds a field that would change.
    fn hold(&mut self, n: usize, refusal: (Reason, String)) {
        if let Some(outcome) = self
            .outcomes
            .get_mut(n)
            .filter(|outcome| matches!(outcome, Ok(Some(_))))
        {
            *outcome = Err(refusal);
        }
    }
}

/// Whether a tag and a digest of one collection are of one image.
fn are_pair(tag: &Site, digest: &Site) -> bool {
    let has_keys = !tag.key.is_empty() && !digest.key.is_empty();
    tag.setter.policy == digest.setter.policy || (has_keys && are_of_one(&digest.key, &tag.key))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_say_what_belongs_together() {
        for (digest, other) in [
            ("digest", "tag"),
            ("digest", "newTag"),
            ("sha", "tag"),
            ("sha256", "imageTag"),
            ("imageDigest", "tag"),
            ("imageDigest", "image"),
            ("webDigest", "webTag"),
            ("webDigest", "web"),
            ("web-sha256", "web-version"),
            ("image.digest", "image.tag"),
            ("WEB_DIGEST", "WEB_TAG"),
        ] {
            assert!(are_of_one(digest, other), "{digest} {other}");
        }
        for (digest, other) in [
            ("webDigest", "apiTag"),
            ("digest", "apiTag"),
            ("checksum", "tag"),
            ("tag", "digest"),
        ] {
            assert!(!are_of_one(digest, other), "{digest} {other}");
        }
    }

    #[test]
    fn digests_are_known_by_key_and_value() {
        let hash = "0a".repeat(32);
        for (key, value) in [
            ("digest", "sha256:00"),
            ("sha", hash.as_str()),
            ("imageDigest", "sha256:0a"),
        ] {
            assert!(is_pin(key, value), "{key}: {value}");
        }
        for (key, value) in [
            ("checksum", "sha256:00"),
            ("digest", ""),
            ("digest", "true"),
            ("sha", "0a1b2c3"),
        ] {
            assert!(!is_pin(key, value), "{key}: {value}");
        }
    }
}
