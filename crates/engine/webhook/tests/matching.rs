//! Selection of objects by events: addresses, references, images.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod sender;

use bumpwright_webhook::{
    Address, Event, GitReference, Id, ImageName, Object, OciReference, Target, TargetKind, answer, matches_git,
    matches_image, matches_oci, select,
};
use proptest::prelude::*;
use sender::{Sent, fixture};

fn push(repository: &str, reference: Option<&str>) -> Event {
    let reference = reference
        .map(|name| format!(r#", "ref": "{name}""#))
        .unwrap_or_default();
    one(&format!(r#"{{"repository": "{repository}"{reference}}}"#))
}

fn image(name: &str) -> Event {
    one(&format!(r#"{{"image": "{name}"}}"#))
}

fn one(document: &str) -> Event {
    let mut events = Sent::to("/hook/generic-hmac", document).proved().received().unwrap();
    assert_eq!(events.len(), 1);
    events.remove(0)
}

#[test]
fn spellings_of_one_repository_match() {
    let groups: &[&[&str]] = &[
        &[
            "https://github.com/fleet-org/cluster",
            "https://github.com/fleet-org/cluster.git",
            "https://github.com/fleet-org/cluster/",
            "https://github.com/fleet-org/cluster.git/",
            "HTTPS://GitHub.com/Fleet-Org/Cluster.git",
            "https://github.com./fleet-org/cluster",
            "https://user:pass@github.com:443/fleet-org/cluster",
            "http://github.com/fleet-org/cluster",
            "https://github.com//fleet-org//cluster?x=1#y",
            "https://github.com/fleet%2Dorg/cluster",
            "git://github.com/fleet-org/cluster.git",
            "ssh://git@github.com/fleet-org/cluster",
            "ssh://github.com:22/fleet-org/cluster",
            "ssh://git@ssh.github.com:443/fleet-org/cluster.git",
            "git@github.com:fleet-org/cluster.git",
            "github.com:/fleet-org/cluster",
            "[git@github.com]:fleet-org/cluster",
        ],
        &["https://gitlab.com/a/b/c", "ssh://git@altssh.gitlab.com:443/a/b/c.git"],
        &[
            "https://bitbucket.org/a/b",
            "ssh://git@altssh.bitbucket.org:443/a/b.git",
        ],
        &[
            "ssh://git@git.example.com:2222/o/r",
            "ssh://other@GIT.example.com:2222/o/r.git",
        ],
        &[
            "https://git.example.com:3000/o/r2",
            "ssh://git@git.example.com:2222/o/r2.git",
        ],
        &["ssh://git@[2001:db8::1]:2222/o/r", "ssh://[2001:DB8:0::1]:2222/o/r/"],
        &["git@[2001:db8::1]:o/r3", "ssh://git@[2001:db8::1]/o/r3"],
        &["https://bücher.example/o/r", "https://xn--bcher-kva.example/o/r"],
    ];
    for group in groups {
        for (one, other) in group.iter().flat_map(|one| group.iter().map(move |other| (one, other))) {
            let (one, other) = (Address::parse(one).expect(one), Address::parse(other).expect(other));
            assert!(one.matches(&other), "{one:?} {other:?}");
        }
    }
    for (one, other) in [
        ("https://github.com/o/r", "https://gitlab.com/o/r"),
        ("https://github.com/o/r", "https://github.com/o/r2"),
        ("https://github.com/o/r", "https://github.com/o/r/x"),
        ("https://github.com/o/r", "https://github.com.evil.example/o/r"),
        ("https://github.com/o/r", "https://github.com@evil.example/o/r"),
        ("https://git.example.com:3000/o/r", "https://git.example.com/o/r"),
        ("ssh://git@git.example.com:2222/o/r", "git@git.example.com:o/r"),
    ] {
        let (one, other) = (Address::parse(one).unwrap(), Address::parse(other).unwrap());
        assert!(!one.matches(&other), "{one} {other}");
    }
}

#[test]
fn what_is_no_address_matches_nothing() {
    let long = format!("https://h/{}", "a".repeat(2000));
    for text in [
        "",
        "github.com/o/r",
        "https://",
        "https://github.com",
        "https://github.com/",
        "https:///o/r",
        "file:///o/r",
        "ftp://h/o/r",
        "/o/r.git",
        "./o:r",
        "git@:o/r",
        "git@h:",
        "https://h:99999/o/r",
        "https://[::1/o/r",
        "https://a b/o/r",
        "https://h/o\n/r",
        "https://h/.git",
        &long,
    ] {
        assert_eq!(Address::parse(text), None, "{text}");
        assert!(!matches_git(
            &push("https://h/o/r", None),
            text,
            &GitReference::default()
        ));
    }
}

#[test]
fn references_decide() {
    let none = GitReference::default();
    let branch = GitReference {
        branch: Some("main"),
        ..none
    };
    let tag = GitReference {
        tag: Some("v1"),
        ..branch
    };
    let range = GitReference {
        semver: Some(">=1.0.0"),
        ..tag
    };
    let name = GitReference {
        name: Some("refs/pull/420/head"),
        ..range
    };
    let peeled = GitReference {
        name: Some("refs/tags/v1^{}"),
        ..none
    };
    let commit = GitReference {
        commit: Some("bffeb74224043ba2feb48d137756c8a9331c449a"),
        ..name
    };
    let empty = GitReference {
        commit: Some(""),
        name: Some(""),
        semver: Some(""),
        tag: Some(""),
        branch: Some(""),
        is_reviewed: false,
    };
    let reviewed = GitReference {
        is_reviewed: true,
        ..branch
    };
    for (reference, followed, expected) in [
        (Some("refs/heads/master"), none, true),
        (Some("refs/heads/main"), none, false),
        (Some("refs/heads/master"), empty, true),
        (Some("refs/heads/main"), branch, true),
        (Some("refs/heads/Main"), branch, false),
        (Some("refs/heads/feature/main"), branch, false),
        (Some("refs/tags/main"), branch, false),
        (Some("refs/tags/v1"), tag, true),
        (Some("refs/tags/v2"), tag, false),
        (Some("refs/heads/main"), tag, false),
        (Some("refs/tags/anything"), range, true),
        (Some("refs/heads/main"), range, false),
        (Some("refs/pull/420/head"), name, true),
        (Some("refs/pull/42/head"), name, false),
        (Some("refs/tags/v1"), name, false),
        (Some("refs/tags/v1"), peeled, true),
        (Some("refs/heads/main"), commit, false),
        (None, commit, false),
        (None, range, true),
        (None, branch, true),
        (Some("refs/heads/main"), reviewed, true),
        (Some("refs/heads/change"), reviewed, false),
        (Some("refs/pull/420/head"), reviewed, true),
        (Some("refs/merge-requests/420/head"), reviewed, true),
        (Some("refs/pull/420/head"), branch, false),
    ] {
        let event = push("https://git.example.com/o/r", reference);
        assert_eq!(
            matches_git(&event, "ssh://git@git.example.com/o/r.git", &followed),
            expected,
            "{reference:?} {followed:?}"
        );
    }
}

#[test]
fn spellings_of_one_image_match() {
    for (pushed, image, expected) in [
        ("app", "docker.io/library/app", true),
        ("index.docker.io/library/app", "app", true),
        ("registry-1.docker.io/fleet/app", "fleet/app", true),
        ("docker.io/app:1.4.0", "index.docker.io/library/app", true),
        ("ghcr.io/Fleet-Org/App:1", "ghcr.io/fleet-org/app", true),
        ("GHCR.io/fleet-org/app@sha256:1f", "ghcr.io/fleet-org/app", true),
        ("registry.example.com:5000/app:1", "registry.example.com:5000/app", true),
        ("registry.example.com:443/app", "registry.example.com/app", true),
        ("localhost:5000/app", "localhost:5000/app", true),
        ("registry.example.com:5000/app", "registry.example.com/app", false),
        ("app", "ghcr.io/library/app", false),
        ("fleet/app", "library/app", false),
        ("ghcr.io/fleet/app", "ghcr.io/fleet/app2", false),
        ("ghcr.io/app", "ghcr.io/library/app", false),
    ] {
        assert_eq!(matches_image(&image_event(pushed), image), expected, "{pushed} {image}");
    }
    for text in ["", "/", "ghcr.io/", "a b", "ghcr.io//", "@sha256:1"] {
        assert_eq!(ImageName::parse(text), None, "{text}");
    }
}

fn image_event(name: &str) -> Event {
    image(name)
}

#[test]
fn artifacts_follow_tags() {
    let pushed = image("ghcr.io/fleet/manifests:1.4.0");
    let none = OciReference::default();
    let url = "oci://ghcr.io/fleet/manifests";
    for (followed, expected) in [
        (none, false),
        (
            OciReference {
                tag: Some("1.4.0"),
                ..none
            },
            true,
        ),
        (
            OciReference {
                tag: Some("1.4"),
                ..none
            },
            false,
        ),
        (
            OciReference {
                tag: Some("1.4"),
                semver: Some(">=1"),
                ..none
            },
            true,
        ),
        (
            OciReference {
                digest: Some("sha256:11"),
                semver: Some(">=1"),
                ..none
            },
            false,
        ),
    ] {
        assert_eq!(matches_oci(&pushed, url, &followed), expected, "{followed:?}");
    }
    assert!(matches_oci(&image("ghcr.io/fleet/manifests:latest"), url, &none));
    assert!(matches_oci(&image("ghcr.io/fleet/manifests"), url, &none), "any tag");
}

#[test]
fn selection_names_each_object_once_and_in_order() {
    let main = GitReference {
        branch: Some("main"),
        ..GitReference::default()
    };
    let range = GitReference {
        semver: Some("*"),
        ..GitReference::default()
    };
    let object = |name, target| Object {
        namespace: "apps",
        name,
        suspended: false,
        target,
    };
    let objects = [
        object(
            "by-ssh",
            Target::Git("ssh://git@bitbucket.org/fleet_team/cluster.git", main),
        ),
        object("by-tag", Target::Git("https://bitbucket.org/fleet_team/cluster", range)),
        object(
            "other-branch",
            Target::Git("https://bitbucket.org/fleet_team/cluster", GitReference::default()),
        ),
        object(
            "other-repository",
            Target::Git("https://bitbucket.org/fleet_team/apps", main),
        ),
        Object {
            suspended: true,
            ..object("asleep", Target::Git("https://bitbucket.org/fleet_team/cluster", main))
        },
        object("app", Target::Image("quay.io/fleet/app")),
        object(
            "manifests",
            Target::Oci("oci://quay.io/fleet/app", OciReference::default()),
        ),
        object("chart", Target::Chart("oci://quay.io/fleet/app")),
        object("other-chart", Target::Chart("oci://quay.io/fleet/other")),
        object("index", Target::Index("https://charts.example.com/stable/")),
    ];
    let cloud = Sent::to("/hook/bitbucket", fixture("bitbucket-cloud-push"))
        .with("X-Event-Key", "repo:push")
        .proved();
    let mut events = cloud.received().unwrap();
    let names = |ids: &[Id]| {
        ids.iter()
            .map(|id| format!("{} {}/{}", id.kind.name(), id.namespace, id.name))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        names(&select(&events, &objects)),
        ["GitRepository apps/by-ssh", "GitRepository apps/by-tag"]
    );
    let quay = Sent::to("/hook/quay", fixture("quay")).proved().received().unwrap();
    assert_eq!(
        names(&select(&quay, &objects)),
        [
            "ImageRepository apps/app",
            "OCIRepository apps/manifests",
            "HelmChart apps/chart"
        ]
    );
    let released = push("https://charts.example.com/stable", None);
    assert_eq!(names(&select(&[released], &objects)), ["HelmRepository apps/index"]);
    events.extend(quay);
    let all = select(&events, &objects);
    assert_eq!(
        all.iter().map(|id| id.kind).collect::<Vec<_>>(),
        [
            TargetKind::GitRepository,
            TargetKind::GitRepository,
            TargetKind::ImageRepository,
            TargetKind::OciRepository,
            TargetKind::HelmChart
        ]
    );
    assert_eq!(select(&[Event::Ping, Event::Ignored("x".to_owned())], &objects), []);
}

/// Bitbucket Data Center before it sent its address, and Nexus.
#[test]
fn senders_that_do_not_know_their_host_match_any() {
    let main = GitReference {
        branch: Some("main"),
        ..GitReference::default()
    };
    let sent = Sent::to("/hook/bitbucket", fixture("bitbucket-refs-changed-without-links"));
    let events = sent
        .with("X-Event-Key", "repo:refs_changed")
        .proved()
        .received()
        .unwrap();
    for (url, expected) in [
        ("https://bitbucket.example.com/scm/fleet/cluster.git", true),
        ("ssh://git@bitbucket.example.com:7999/FLEET/cluster.git", true),
        ("https://bitbucket.example.com/scm/other/cluster.git", false),
    ] {
        assert_eq!(matches_git(&events[0], url, &main), expected, "{url}");
    }
    let events = Sent::to("/hook/nexus", fixture("nexus-component"))
        .proved()
        .received()
        .unwrap();
    assert!(matches_image(&events[0], "nexus.example.com:8082/fleet/app"));
    assert!(matches_image(&events[0], "nexus.example.com/docker-hosted/fleet/app"));
    assert!(!matches_image(&events[0], "nexus.example.com/fleet/other"));
}

#[test]
fn answers_tell_how_many_objects_look() {
    let pushed = [push("https://github.com/o/r", Some("refs/heads/main"))];
    assert_eq!(
        answer(&pushed, 0),
        "push to refs/heads/main of github.com/o/r: no object follows it"
    );
    assert_eq!(
        answer(&pushed, 1),
        "push to refs/heads/main of github.com/o/r: 1 object will be reconciled"
    );
    let two = [image("ghcr.io/o/app:1"), image("ghcr.io/o/app:2")];
    assert_eq!(
        answer(&two, 3),
        "push of tag 1 of ghcr.io/o/app and 1 more: 3 objects will be reconciled"
    );
    assert_eq!(answer(&[Event::Ping], 0), "the token matches");
    assert_eq!(
        answer(&[Event::Ignored("event issues".to_owned())], 0),
        "ignored: event issues"
    );
}

prop_compose! {
    /// A repository and one of its spellings.
    fn spelled()(
        host in "[a-z]{1,8}\\.[a-z]{2,5}",
        path in "[a-z0-9_-]{1,8}(/[a-z0-9_.-]{0,6}[a-z0-9]){1,3}",
        form in 0usize..6, git in any::<bool>(), slash in any::<bool>(), upper in any::<bool>(), user in any::<bool>(),
    ) -> (String, String) {
        let plain = format!("https://{host}/{path}");
        let user = if user { "git@" } else { "" };
        let host = if upper { host.to_uppercase() } else { host };
        let path = if upper { path.to_uppercase() } else { path };
        let end = format!("{}{}", if git { ".git" } else { "" }, if slash { "/" } else { "" });
        let spelled = match form {
            0 => format!("https://{user}{host}/{path}{end}"),
            1 => format!("http://{user}{host}:80/{path}{end}"),
            2 => format!("https://{user}{host}:443//{path}{end}"),
            3 => format!("ssh://{user}{host}:22/{path}{end}"),
            4 => format!("{user}{host}:{path}{end}"),
            _ => format!("git://{host}:9418/{path}{end}"),
        };
        (plain, spelled)
    }
}

proptest! {
    #[test]
    fn every_spelling_matches_the_plain_one((plain, spelled) in spelled()) {
        prop_assume!(!plain.ends_with(".git"));
        let (plain, spelled) = (Address::parse(&plain).unwrap(), Address::parse(&spelled).unwrap());
        prop_assert!(plain.matches(&spelled) && spelled.matches(&plain), "{} {}", plain, spelled);
        prop_assert_eq!(plain.path(), spelled.path());
    }

    /// The displayed form is an address of the same place.
    #[test]
    fn shown_addresses_read_as_themselves((_, spelled) in spelled()) {
        let address = Address::parse(&spelled).unwrap();
        prop_assume!(!address.path().ends_with(".git"));
        let again = Address::parse(&format!("https://{address}")).unwrap();
        prop_assert!(address.matches(&again));
    }

    #[test]
    fn different_paths_do_not_match((one, _) in spelled(), (other, _) in spelled()) {
        prop_assume!(one != other && !one.ends_with(".git") && !other.ends_with(".git"));
        prop_assert!(!Address::parse(&one).unwrap().matches(&Address::parse(&other).unwrap()));
    }

    #[test]
    fn any_text_is_read_without_panic(text in "\\PC{0,60}", ends in "[@:/\\[\\]%.]{0,6}") {
        for text in [format!("{ends}{text}"), format!("https://{ends}{text}"), format!("{text}{ends}")] {
            if let Some(address) = Address::parse(&text) {
                prop_assert!(address.matches(&address.clone()) && !address.path().is_empty());
            }
            if let Some(name) = ImageName::parse(&text) {
                prop_assert_eq!(ImageName::parse(&name.to_string()), Some(name));
            }
        }
    }
}
