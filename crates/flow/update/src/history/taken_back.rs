//! Whether the past of a field says that a new value must not be written: where somebody has replaced a value that the
//! automation wrote, neither that value nor an older one is written again (docs/guides/reverts.md).

use std::cmp::Ordering;
use std::collections::HashMap;

use super::story::{Left, Story};
use crate::plan::planned::Plan;
use crate::policy::policies::Policies;
use bumpwright_edit::{Change, Part, Reason, tag_and_digest};
use bumpwright_policy::{ImagePolicy, LatestRef, PolicyName};

/// Makes skips of the edits that were reverted. `stories` are those of the fields that change, by file.
pub(crate) fn take_out(plan: &mut Plan, stories: &[Vec<Story>], policies: &Policies) {
    let mut orders: HashMap<PolicyName, Option<ImagePolicy>> = HashMap::new();
    plan.take_out(Reason::Reverted, |file, changes| {
        let stories = stories.get(file).map_or(&[][..], Vec::as_slice);
        let judged = changes.iter().zip(stories).map(|(change, story)| {
            let order = orders.entry(change.policy.clone());
            let order = order.or_insert_with(|| policies.order(&change.policy));
            refusal(change, story, order.as_ref())
        });
        together(changes, judged.collect())
    });
}

/// Name and digest belong to the tag beside them: they change with it, or not at all.
pub(crate) fn together(changes: &[Change], judged: Vec<Option<String>>) -> Vec<Option<String>> {
    let is_tag = |change: &Change| change.setter.part.has_tag();
    let one = |(n, change): (usize, &Change)| {
        let own = judged.get(n).cloned().flatten();
        if is_tag(change) {
            return own;
        }
        let is_beside = |tag: &Change| is_tag(tag) && tag.policy == change.policy && tag.object == change.object;
        let tags = changes.iter().zip(&judged).filter(|(tag, _)| is_beside(tag));
        let of_tags: Vec<&Option<String>> = tags.map(|(_, judged)| judged).collect();
        if of_tags.is_empty() {
            own
        } else {
            of_tags.into_iter().flatten().next().cloned()
        }
    };
    changes.iter().enumerate().map(one).collect()
}

/// Why a change must not be written, if its past says so.
fn refusal(change: &Change, story: &Story, order: Option<&ImagePolicy>) -> Option<String> {
    let part = change.setter.part;
    let is_again = |old: &str| old != change.old && !is_newer(&change.new, old, part, order);
    let (old, next, by) = match &story.ours {
        Some(ours) => {
            is_again(&ours.value).then_some(())?;
            let left = story.left.iter().find(|left| left.value == ours.value);
            match left {
                Some(left) => (&ours.value, &left.next, &left.by),
                None => return Some(gone(change, &ours.value, &ours.by)),
            }
        }
        // Whose commits those were is not known.
        None => {
            let mut left = (0..story.left.len()).filter_map(|n| story.left.get(n..)?.split_first());
            let (left, _) = left.find(|(left, older)| is_again(&left.value) && is_back(left, older, part, order))?;
            (&left.value, &left.next, &left.by)
        }
    };
    Some(format!("{by}, replaced {old} by {next}{}", until(change, old)))
}

/// For a value of ours that is not there any more, though no commit has replaced it: a merge did, or it
/// is not committed yet.
fn gone(change: &Change, value: &str, by: &str) -> String {
    format!(
        "{by}, wrote {value}, which was replaced by {}{}",
        change.old,
        until(change, value)
    )
}

fn until(change: &Change, old: &str) -> String {
    let Change { new, policy, .. } = change;
    let older = if new == old {
        String::new()
    } else {
        format!(", and {new} is not newer")
    };
    format!("{older}; nothing is written here until ImagePolicy {policy} chooses something newer")
}

/// Whether a value is newer than one that was taken away. Digests have no order: another one is a newer one.
fn is_newer(new: &str, old: &str, part: Part, order: Option<&ImagePolicy>) -> bool {
    if new == old {
        return false;
    }
    if part.has_tag()
        && let (
            Parts {
                tag: Some(tag),
                digest,
                name,
            },
            older,
        ) = (parts(new, part), parts(old, part))
        && (older.name, older.tag) == (name, Some(tag))
    {
        return digest.is_some() && older.digest.is_some() && digest != older.digest;
    }
    compare(new, old, part, order) != Some(Ordering::Less)
}

/// Whether others have replaced a value by an older one, or by one that was there before.
fn is_back(left: &Left, older: &[Left], part: Part, order: Option<&ImagePolicy>) -> bool {
    match compare(&left.next, &left.value, part, order) {
        Some(Ordering::Less) => true,
        Some(Ordering::Greater) => false,
        _ => older.iter().any(|older| older.value == left.next),
    }
}

/// The order of two values by the policy, if it has one for them.
pub(crate) fn compare(this: &str, other: &str, part: Part, order: Option<&ImagePolicy>) -> Option<Ordering> {
    match part {
        Part::Reference | Part::Tag | Part::TagDigest => {
            let (this, other) = (parts(this, part), parts(other, part));
            let is_same_image = this.name == other.name;
            let compared = order?.compare(this.tag?, other.tag?)?;
            is_same_image.then_some(compared)
        }
        Part::Name | Part::Digest => None,
    }
}

struct Parts<'a> {
    name: &'a str,
    tag: Option<&'a str>,
    digest: Option<&'a str>,
}

fn parts(value: &str, part: Part) -> Parts<'_> {
    if part == Part::Reference {
        let (name, tag, digest) = LatestRef::split(value);
        return Parts { name, tag, digest };
    }
    let (tag, digest) = tag_and_digest(value);
    Parts {
        name: "",
        tag: Some(tag),
        digest,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use bumpwright_edit::{DocumentId, Setter};
    use bumpwright_policy::RuleSpec;

    fn rule(spec: &RuleSpec) -> ImagePolicy {
        ImagePolicy::new(spec, None).unwrap()
    }

    fn semver() -> ImagePolicy {
        rule(&RuleSpec {
            semver: Some("<2".to_owned()),
            ..RuleSpec::default()
        })
    }

    #[test]
    fn newer_is_what_the_policy_puts_after_it() {
        let descending = rule(&RuleSpec {
            numerical: Some("desc".to_owned()),
            ..RuleSpec::default()
        });
        for (new, old, part, expected) in [
            ("1.1.0", "1.0.0", Part::Tag, true),
            ("1.0.0", "1.0.0", Part::Tag, false),
            ("0.9.0", "1.0.0", Part::Tag, false),
            // The range does not matter, nor what has no order.
            ("1.5.0", "3.0.0", Part::Tag, false),
            ("latest", "3.0.0", Part::Tag, true),
            ("o/app:1.1.0", "o/app:1.0.0", Part::Reference, true),
            ("o/app:0.9.0", "o/app:1.0.0", Part::Reference, false),
            ("p/app:0.9.0", "o/app:1.0.0", Part::Reference, true),
            ("o/app:1.0.0@sha256:b", "o/app:1.0.0@sha256:a", Part::Reference, true),
            ("o/app:1.0.0@sha256:b", "o/app:1.0.0", Part::Reference, false),
            ("o/app:1.0.0", "o/app:1.0.0@sha256:b", Part::Reference, false),
            ("o/app@sha256:b", "o/app@sha256:a", Part::Reference, true),
            ("1.1.0@sha256:a", "1.0.0@sha256:b", Part::Tag, true),
            ("1.0.0@sha256:b", "1.0.0@sha256:a", Part::TagDigest, true),
            ("0.9.0@sha256:b", "1.0.0@sha256:a", Part::TagDigest, false),
            ("1.0.0", "1.0.0@sha256:a", Part::TagDigest, false),
            ("sha256:a", "sha256:b", Part::Digest, true),
            ("sha256:a", "sha256:a", Part::Digest, false),
            ("o/app", "o/app", Part::Name, false),
        ] {
            assert_eq!(is_newer(new, old, part, Some(&semver())), expected, "{new} after {old}");
        }
        assert!(is_newer("1", "2", Part::Tag, Some(&descending)));
        assert!(!is_newer("2", "1", Part::Tag, Some(&descending)));
        assert!(is_newer("1.0.0", "2.0.0", Part::Tag, None));
    }

    fn left(pairs: &[(&str, &str)]) -> Vec<Left> {
        let left = pairs.iter().map(|pair| Left::new(*pair, "somebody".into(), 0));
        left.collect()
    }

    fn change(old: &str, new: &str, part: Part) -> Change {
        let policy = PolicyName::new("fs", "app");
        Change {
            path: "a.yaml".to_owned(),
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

    /// Newest first: what others replaced, and by what.
    #[test]
    fn where_nobody_is_known_a_value_has_to_be_set_back() {
        let refused = |new: &str, pairs: &[(&str, &str)], part: Part| {
            let mut story = Story::default();
            story.left_before(left(pairs));
            let now = pairs.first().map_or("", |(_, now)| *now);
            refusal(&change(now, new, part), &story, Some(&semver())).is_some()
        };
        assert!(refused("1.2.0", &[("1.2.0", "1.1.0"), ("1.1.0", "1.2.0")], Part::Tag));
        assert!(refused("1.1.5", &[("1.2.0", "1.1.0")], Part::Tag));
        assert!(!refused("1.3.0", &[("1.2.0", "1.1.0")], Part::Tag));
        // Two steps back.
        assert!(refused("1.3.0", &[("1.2.0", "1.1.0"), ("1.3.0", "1.2.0")], Part::Tag));
        // An update is not a step back, though the policy may go back itself.
        assert!(!refused("1.1.0", &[("1.1.0", "1.2.0")], Part::Tag));
        // Without an order, what was there before it is back.
        assert!(refused(
            "sha256:b",
            &[("sha256:b", "sha256:a"), ("sha256:a", "sha256:b")],
            Part::Digest
        ));
        assert!(!refused(
            "sha256:b",
            &[("sha256:b", "sha256:c"), ("sha256:a", "sha256:b")],
            Part::Digest
        ));
        assert!(!refused(
            "sha256:d",
            &[("sha256:b", "sha256:a"), ("sha256:a", "sha256:b")],
            Part::Digest
        ));
        assert!(!refused("1.1.0", &[], Part::Tag));
    }

    #[test]
    fn name_and_digest_go_with_the_tag_beside_them() {
        let no = || Some("no".to_owned());
        let all = |parts: &[Part], judged: Vec<Option<String>>| {
            let changes: Vec<Change> = parts.iter().map(|part| change("a", "b", *part)).collect();
            let refused = together(&changes, judged);
            refused.iter().map(Option::is_some).collect::<Vec<bool>>()
        };
        use Part::{Digest, Name, Reference, Tag};
        assert_eq!(all(&[Name, Tag, Digest], vec![None, no(), None]), [true, true, true]);
        assert_eq!(all(&[Name, Tag, Digest], vec![no(), None, no()]), [false, false, false]);
        assert_eq!(all(&[Digest], vec![no()]), [true]);
        // Each tag has its own past.
        assert_eq!(all(&[Tag, Reference], vec![None, no()]), [false, true]);
    }
}
