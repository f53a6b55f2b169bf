//! Digests: behind a tag in one field, or in a field beside it. And fields that hold something else
//! than their marker writes.

use bumpwright_edit::{self as edit, FileKind, Images, Plan, Reason, Verdict};
use bumpwright_policy::{LatestRef, PolicyName};

const OLD: &str = "sha256:0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a";
const NEW: &str = "sha256:1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b1b";

/// The policy fs:web has this image, and fs:other one of another version.
struct Policies {
    web: LatestRef,
    other: LatestRef,
    overwrites: bool,
}

fn policies(digest: Option<&str>) -> Policies {
    let image = |tag: &str| LatestRef {
        name: "ghcr.io/acme/web".to_owned(),
        tag: tag.to_owned(),
        digest: digest.map(str::to_owned),
    };
    Policies {
        web: image("2.0.0"),
        other: image("3.0.0"),
        overwrites: false,
    }
}

impl Images for Policies {
    fn verdict(&self, policy: &PolicyName) -> Verdict<'_> {
        match policy.name.as_str() {
            "web" => Verdict::Image(&self.web),
            "other" => Verdict::Image(&self.other),
            _ => Verdict::Skip(Reason::UnknownPolicy, format!("there is no policy {policy}")),
        }
    }

    /// Nothing goes back from 3.0.0.
    fn refusal(&self, _: &PolicyName, from: &str, to: &str) -> Option<(Reason, String)> {
        (from == "3.0.0" && to == "2.0.0").then(|| (Reason::WouldDowngrade, format!("{from} > {to}")))
    }

    fn overwrites(&self) -> bool {
        self.overwrites
    }
}

/// `@web…` stands for a marker, `OLD` and `NEW` for the digests.
fn written(text: &str) -> String {
    let mut out = String::new();
    for line in text.lines() {
        match line.rsplit_once(" @") {
            Some((field, setter)) => out.push_str(&format!("{field} # {{\"$imagepolicy\": \"fs:{setter}\"}}\n")),
            None => out.push_str(&format!("{line}\n")),
        }
    }
    out.replace("OLD", OLD).replace("NEW", NEW)
}

fn plan(text: &str, policies: &Policies) -> (String, Plan) {
    let scan = edit::scan(FileKind::Yaml, text.as_bytes());
    let plan = edit::plan("a.yaml", &scan, policies);
    let new = edit::splice(text.as_bytes(), &plan).unwrap();
    (String::from_utf8(new).unwrap(), plan)
}

fn skips(plan: &Plan) -> Vec<(Reason, usize)> {
    plan.skips.iter().map(|skip| (skip.reason, skip.line)).collect()
}

#[test]
fn tag_and_digest_of_one_field_change_together() {
    for (field, with, without) in [
        (
            "tag: 1.0.0@OLD @web:tag",
            "tag: 2.0.0@NEW @web:tag",
            Some(Reason::NoDigest),
        ),
        (
            "tag: 1.0.0@OLD @web:tag@digest",
            "tag: 2.0.0@NEW @web:tag@digest",
            Some(Reason::NoDigest),
        ),
        (
            "tag: \"1.0.0\" @web:tag@digest",
            "tag: \"2.0.0@NEW\" @web:tag@digest",
            Some(Reason::NoDigest),
        ),
        (
            "tag: '' @web:tag@digest",
            "tag: '2.0.0@NEW' @web:tag@digest",
            Some(Reason::NoDigest),
        ),
        // Only the digest is another one.
        (
            "tag: 2.0.0@OLD @web:tag",
            "tag: 2.0.0@NEW @web:tag",
            Some(Reason::NoDigest),
        ),
        (
            "tag: 2.0.0@NEW @web:tag",
            "tag: 2.0.0@NEW @web:tag",
            Some(Reason::NoDigest),
        ),
        (
            "tag: 3.0.0@OLD @web:tag",
            "tag: 3.0.0@OLD @web:tag",
            Some(Reason::WouldDowngrade),
        ),
    ] {
        let text = written(field);
        assert_eq!(plan(&text, &policies(Some(NEW))).0, written(with), "{field}");
        let (new, plan) = plan(&text, &policies(None));
        assert_eq!(
            (new, plan.skips.first().map(|skip| skip.reason)),
            (text, without),
            "{field}"
        );
    }
}

/// As in Flux: the whole image is what the policy has.
#[test]
fn a_whole_image_loses_its_digest_where_the_policy_has_none() {
    let text = written("image: ghcr.io/acme/web:1.0.0@OLD @web");
    assert_eq!(
        plan(&text, &policies(None)).0,
        written("image: ghcr.io/acme/web:2.0.0 @web")
    );
    assert_eq!(
        plan(&text, &policies(Some(NEW))).0,
        written("image: ghcr.io/acme/web:2.0.0@NEW @web")
    );
}

#[test]
fn tag_and_digest_beside_each_other_change_together() {
    for (given, with, without) in [
        (
            "image:\n  repository: ghcr.io/acme/web @web:name\n  tag: 1.0.0 @web:tag\n  digest: OLD @web:digest",
            "image:\n  repository: ghcr.io/acme/web @web:name\n  tag: 2.0.0 @web:tag\n  digest: NEW @web:digest",
            &[(Reason::NoDigest, 3), (Reason::NoDigest, 4)][..],
        ),
        // Another tag of the same policy has no digest.
        (
            "a:\n  tag: 1.0.0 @web:tag\n  digest: OLD @web:digest\nb:\n  tag: 2.0.0 @web:tag",
            "a:\n  tag: 2.0.0 @web:tag\n  digest: NEW @web:digest\nb:\n  tag: 2.0.0 @web:tag",
            &[(Reason::NoDigest, 2), (Reason::NoDigest, 3)],
        ),
        // Parameters in a list.
        (
            "- name: tag\n  value: 1.0.0 @web:tag\n- name: digest\n  value: OLD @web:digest",
            "- name: tag\n  value: 2.0.0 @web:tag\n- name: digest\n  value: NEW @web:digest",
            &[(Reason::NoDigest, 2), (Reason::NoDigest, 4)],
        ),
    ] {
        let text = written(given);
        let (new, all) = plan(&text, &policies(Some(NEW)));
        assert_eq!((new, all.skips), (written(with), vec![]), "{given}");
        let (new, held) = plan(&text, &policies(None));
        assert_eq!(
            (new.as_str(), skips(&held)),
            (text.as_str(), without.to_vec()),
            "{given}"
        );
    }
}

#[test]
fn what_nothing_sets_is_not_left_behind() {
    for (text, line) in [
        (
            "image:\n  repository: ghcr.io/acme/web @web:name\n  tag: 1.0.0 @web:tag\n  digest: OLD",
            3,
        ),
        ("images:\n- name: web\n  digest: OLD\n  newTag: 1.0.0 @web:tag", 4),
        ("ref: {digest: OLD,\n  tag: 1.0.0 @web:tag\n  }", 2),
        ("imageTag: 1.0.0 @web:tag\nimageDigest: OLD", 1),
        ("web: ghcr.io/acme/web:1.0.0 @web\nwebDigest: OLD", 1),
        (
            "tag: 1.0.0 @web:tag\nsha: 0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a",
            1,
        ),
        ("tag: 1.0.0\ndigest: OLD @web:digest", 2),
    ] {
        let text = written(text);
        for digest in [None, Some(NEW)] {
            let (new, plan) = plan(&text, &policies(digest));
            let is_digest = text.contains("web:digest") && digest.is_none();
            let reason = if is_digest { Reason::NoDigest } else { Reason::Pinned };
            assert_eq!(
                (new.as_str(), skips(&plan)[0]),
                (text.as_str(), (reason, line)),
                "{digest:?}"
            );
        }
    }
    for text in [
        // Of another image, or empty, or what the policy has.
        "webTag: 1.0.0 @web:tag\napiDigest: OLD",
        "tag: 1.0.0 @web:tag\ndigest: ''",
        "tag: 1.0.0 @web:tag\ndigest: NEW",
        "tag: 1.0.0 @web:tag\nother:\n  digest: OLD",
        "tag: 1.0.0 @web:tag\nchecksum: OLD",
        "tag: 2.0.0\ndigest: OLD @web:digest",
    ] {
        let (new, plan) = plan(&written(text), &policies(Some(NEW)));
        assert_eq!((plan.changes.len(), plan.skips), (1, vec![]), "{text}: {new}");
    }
}

/// A tag that stays keeps its digest, and the other way round.
#[test]
fn what_stays_keeps_what_is_beside_it() {
    for (text, reasons) in [
        (
            "tag: 3.0.0 @web:tag\ndigest: OLD @web:digest",
            &[Reason::WouldDowngrade, Reason::WouldDowngrade][..],
        ),
        (
            "tag: A=1 @web:tag\ndigest: OLD @web:digest",
            &[Reason::Mismatch, Reason::Mismatch],
        ),
        (
            "tag: 1.0.0 @web:tag\ndigest: OLD @gone:digest",
            &[Reason::UnknownPolicy, Reason::UnknownPolicy],
        ),
        (
            "tag: 1.0.0 @web:tag\ndigest: OLD @other:digest",
            &[Reason::Pinned, Reason::Pinned],
        ),
        (
            "name: old @web:name\ntag: A=1 @web:tag",
            &[Reason::Mismatch, Reason::Mismatch],
        ),
    ] {
        let text = written(text);
        let (new, plan) = plan(&text, &policies(Some(NEW)));
        let found: Vec<Reason> = plan.skips.iter().map(|skip| skip.reason).collect();
        assert_eq!((new.as_str(), found.as_slice()), (text.as_str(), reasons));
    }
}

#[test]
fn a_field_that_holds_more_is_left() {
    let text = written(
        "- --image=ghcr.io/acme/web:1.0.0 @web\n- APP_VERSION=1.9.0 @web:tag\n- ${TAG:=1.0.0} @web:tag\n- oci://ghcr.io/acme/web @web:name\n\
         - https://example.com/base?ref=v1.0.0 @web:tag\n- 1.0.0 @web\n- ghcr.io/acme/web:1.0.0 @web:tag\n- 1.0.0 @web:digest",
    );
    let (new, held) = plan(&text, &policies(Some(NEW)));
    let lines = (1..=8).map(|line| (Reason::Mismatch, line));
    assert_eq!((new, skips(&held)), (text, lines.collect::<Vec<_>>()));
    assert!(
        held.skips[5].message.contains("mark it with fs:web:tag"),
        "{:?}",
        held.skips[5]
    );
}

/// Empty fields are filled, whatever their part is.
#[test]
fn empty_fields_are_filled() {
    let text = "a: \"\" @web\nb: \"\" @web:name\nc: \"\" @web:tag\nd: \"\" @web:digest\ne: ~ @web:tag\n";
    let (new, plan) = plan(&written(text), &policies(Some(NEW)));
    assert_eq!((plan.changes.len(), plan.skips), (5, vec![]), "{new}");
}

#[test]
fn all_of_it_is_overwritten_where_that_is_wanted() {
    let mut policies = policies(None);
    policies.overwrites = true;
    let text = "a: 1.0.0@OLD @web:tag\nb: A=1 @web:tag\nc:\n  tag: 1.0.0 @web:tag\n  digest: OLD @web:digest\nd:\n  tag: 1.0.0 @web:tag\n  digest: OLD";
    let (new, plan) = plan(&written(text), &policies);
    assert_eq!(
        new,
        written(
            "a: 2.0.0 @web:tag\nb: 2.0.0 @web:tag\nc:\n  tag: 2.0.0 @web:tag\n  digest: OLD @web:digest\nd:\n  tag: 2.0.0 @web:tag\n  digest: OLD"
        )
    );
    assert_eq!(skips(&plan), [(Reason::NoDigest, 5)]);
}
