//! Changes by image: fields with the same policy and the same old and new value are one bump.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use crate::policy::policies::Policies;
use bumpwright_edit::{Change, Part};
use bumpwright_forge::markdown::code;
use bumpwright_policy::PolicyName;

/// The most bumps that a message lists; the rest is counted.
const LISTED: usize = 50;

/// The longest version in a title, in characters.
const LONGEST: usize = 60;

/// Some fields that changed in the same way.
#[derive(Debug)]
pub struct Bump<'r> {
    /// The policy that chose the new value.
    pub policy: &'r PolicyName,
    /// The name of the image, as the fields have it, or else as the policy does; empty where neither is known.
    pub name: &'r str,
    /// The old value, without the name if it has that.
    pub old: &'r str,
    /// The new value, without the name if it has that.
    pub new: &'r str,
    /// The fields, in their order.
    pub fields: Vec<&'r Change>,
}

/// The bumps of these changes, in the order of their first fields; `images` has the names of the images of policies.
#[must_use]
pub fn bumps<'r>(changes: &'r [Change], images: &'r BTreeMap<PolicyName, String>) -> Vec<Bump<'r>> {
    let mut bumps: Vec<Bump<'r>> = Vec::new();
    let mut known: BTreeMap<(&PolicyName, &str, &str), usize> = BTreeMap::new();
    for change in changes {
        let key = (&change.policy, change.old.as_str(), change.new.as_str());
        let at = *known.entry(key).or_insert(bumps.len());
        if let Some(bump) = bumps.get_mut(at) {
            bump.fields.push(change);
            continue;
        }
        let (name, old, new) = match change.setter.part {
            Part::Reference | Part::Name => parts(&change.old, &change.new),
            // The field has a version alone.
            Part::Tag | Part::Digest | Part::TagDigest => {
                let name = images.get(&change.policy).map(String::as_str);
                (name.unwrap_or_default(), change.old.as_str(), change.new.as_str())
            }
        };
        bumps.push(Bump {
            policy: &change.policy,
            name,
            old,
            new,
            fields: vec![change],
        });
    }
    bumps
}

/// The names of the images of the policies that chose these changes.
pub(crate) fn images(changes: &[Change], policies: &Policies) -> BTreeMap<PolicyName, String> {
    let name = |change: &Change| Some((change.policy.clone(), policies.image(&change.policy)?.name.clone()));
    changes.iter().filter_map(name).collect()
}

/// The name that two images share, and the rest of each, which is a tag or a digest.
fn parts<'r>(old: &'r str, new: &'r str) -> (&'r str, &'r str, &'r str) {
    let name = |image: &'r str| {
        let end = image.rfind('/').map_or(0, |at| at + 1);
        let tail = image.get(end..)?;
        let at = end + tail.find([':', '@'])?;
        Some((image.get(..at)?, image.get(at + 1..)?))
    };
    match (name(old), name(new)) {
        (Some((one, old)), Some((other, new))) if one == other => (one, old, new),
        _ => ("", old, new),
    }
}

/// A title for people: `Bump web to 1.4.3`, `Bump web and api`, `Bump 7 images`.
pub(crate) fn title(bumps: &[Bump<'_>]) -> String {
    let mut names: Vec<&str> = Vec::new();
    for bump in bumps {
        let name = short(bump);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let versions = bumps.iter().map(|bump| version(bump.new));
    match (names.as_slice(), one(versions)) {
        ([], _) => "Bump images".to_owned(),
        ([name], Some(version)) if version.chars().count() <= LONGEST => format!("Bump {name} to {version}"),
        ([name], _) => format!("Bump {name}"),
        ([one, other], _) => format!("Bump {one} and {other}"),
        (more, _) => format!("Bump {} images", more.len()),
    }
}

/// The message of a commit that nobody has given one for: the title, and the bumps as lines.
pub(crate) fn message(bumps: &[Bump<'_>]) -> String {
    format!("{}\n\n{}", title(bumps), lines(bumps))
}

/// The bumps as a list in Markdown.
pub(crate) fn markdown(bumps: &[Bump<'_>]) -> String {
    let mut out = String::new();
    for bump in bumps.iter().take(LISTED) {
        let [name, old, new] = [&named(bump), bump.old, bump.new].map(code);
        let fields = match bump.fields.len() {
            1 => String::new(),
            many => format!(" ({many} fields)"),
        };
        let _ = writeln!(out, "- `{name}`: `{old}` → `{new}`{fields}");
    }
    more(&mut out, bumps.len());
    out
}

/// The bumps as lines of text: `- registry.example.com/web: 1.4.2 → 1.4.3`.
pub(crate) fn lines(bumps: &[Bump<'_>]) -> String {
    let mut out = String::new();
    let all = bumps
        .iter()
        .map(|bump| format!("- {}: {} → {}\n", named(bump), bump.old, bump.new));
    // A field for the tag and one for the whole image say the same.
    let mut seen = BTreeSet::new();
    let all: Vec<String> = all.filter(|line| seen.insert(line.clone())).collect();
    all.iter().take(LISTED).for_each(|line| out.push_str(line));
    more(&mut out, all.len());
    out
}

/// The name of the image; else of the policy.
fn named(bump: &Bump<'_>) -> String {
    match bump.name {
        "" => bump.policy.to_string(),
        name => name.to_owned(),
    }
}

fn more(out: &mut String, count: usize) {
    if count > LISTED {
        let _ = writeln!(out, "\nand {} more", count - LISTED);
    }
}

/// The last part of the image's name; else the policy's.
fn short<'r>(bump: &Bump<'r>) -> &'r str {
    let name = bump.name.rsplit('/').next().unwrap_or(bump.name);
    if name.is_empty() { &bump.policy.name } else { name }
}

/// What stands for a version in a title: the tag where there is one.
fn version(value: &str) -> &str {
    match value.split_once('@') {
        Some((tag, _)) if !tag.is_empty() => tag,
        _ => value,
    }
}

/// The one value that all are, but for digests beside it.
fn one<'v>(values: impl Iterator<Item = &'v str>) -> Option<&'v str> {
    let mut tags = values.filter(|value| !value.starts_with("sha256:"));
    let first = tags.next()?;
    tags.all(|value| value == first).then_some(first)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use bumpwright_edit::{DocumentId, Setter};

    fn change(policy: &str, old: &str, new: &str) -> Change {
        let part = if new.contains('/') { Part::Reference } else { Part::Tag };
        let policy = PolicyName::new("fs", policy);
        Change {
            path: "apps/web.yaml".to_owned(),
            line: 1,
            column: 1,
            old: old.to_owned(),
            new: new.to_owned(),
            setter: Setter {
                policy: policy.clone(),
                part,
            },
            policy,
            object: DocumentId::default(),
        }
    }

    fn told(changes: &[(&str, &str, &str)], images: &[(&str, &str)]) -> (String, String) {
        let changes: Vec<Change> = changes
            .iter()
            .map(|(policy, old, new)| change(policy, old, new))
            .collect();
        let images = images
            .iter()
            .map(|(policy, name)| (PolicyName::new("fs", *policy), (*name).to_owned()));
        let images = images.collect();
        let bumps = bumps(&changes, &images);
        (title(&bumps), lines(&bumps))
    }

    #[test]
    fn images_are_cut_at_their_name() {
        for (old, new, expected) in [
            ("r:5000/a/b:1", "r:5000/a/b:2", ("r:5000/a/b", "1", "2")),
            ("b:1", "b:2@sha256:0", ("b", "1", "2@sha256:0")),
            ("b@sha256:0", "b@sha256:1", ("b", "sha256:0", "sha256:1")),
            ("a:1", "b:1", ("", "a:1", "b:1")),
            ("1.0", "1.1", ("", "1.0", "1.1")),
            ("r:5000/a", "r:5000/a:2", ("", "r:5000/a", "r:5000/a:2")),
        ] {
            assert_eq!(parts(old, new), expected, "{old}");
        }
    }

    #[test]
    fn titles_name_what_is_bumped() {
        let web = ("web", "r.io/o/web:1.4.2", "r.io/o/web:1.4.3");
        let api = ("api", "r.io/o/api:2", "r.io/o/api:3");
        let title = |changes: &[_]| told(changes, &[]).0;
        assert_eq!(title(&[web]), "Bump web to 1.4.3");
        assert_eq!(
            title(&[web, ("web", "r.io/o/web:1.4.1", "r.io/o/web:1.4.3")]),
            "Bump web to 1.4.3"
        );
        assert_eq!(title(&[web, api]), "Bump web and api");
        assert_eq!(
            title(&[web, api, ("db", "r.io/o/db:1", "r.io/o/db:2")]),
            "Bump 3 images"
        );
        assert_eq!(
            title(&[("web", "r.io/web:1@sha256:0", "r.io/web:2@sha256:1")]),
            "Bump web to 2"
        );
        assert_eq!(title(&[("web", "r.io/web@sha256:0", "r.io/web@sha256:1")]), "Bump web");
        let two = [
            ("web", "r.io/web:1", "r.io/web:2"),
            ("web-old", "r.io/web:1", "r.io/web:1.1"),
        ];
        assert_eq!(title(&two), "Bump web");
    }

    #[test]
    fn fields_with_a_version_alone_have_the_name_of_the_policys_image() {
        let fields = [
            ("web", "1.4.2", "1.4.3"),
            ("web", "sha256:0", "sha256:1"),
            ("web", "r.io/old", "r.io/o/web"),
        ];
        let (title, lines) = told(&fields, &[("web", "r.io/o/web")]);
        assert_eq!(title, "Bump web");
        assert_eq!(
            lines,
            "- r.io/o/web: 1.4.2 → 1.4.3\n- r.io/o/web: sha256:0 → sha256:1\n- fs/web: r.io/old → r.io/o/web\n"
        );
        assert_eq!(told(&fields[..2], &[("web", "r.io/o/web")]).0, "Bump web to 1.4.3");
        assert_eq!(told(&fields[..1], &[]).0, "Bump web to 1.4.3");
    }
}
