//! Git servers: references in all versions of the protocol, and packs.

use std::io::Write as _;

use serde_json::json;

use super::{Place, Row, Specs, TIMEOUT};
use crate::burst_a_pack::tiny;
use crate::git_objects::answer_with;
use bumpwright_testkit::hostile::Pour;
use bumpwright_testkit::packets::frame;
use bumpwright_testkit::repo::Change;
use bumpwright_testkit::world::GIT_REPOSITORY;

const ADVERTISED: &str = "application/x-git-upload-pack-advertisement";
const RESULT: &str = "application/x-git-upload-pack-result";

/// Digits of a name that is nearly as long as one may be.
const LONGEST: usize = 4_000;

pub const ROWS: &[Row] = &[
    Row::new("references", GIT_REPOSITORY, references),
    Row::new("other-references", GIT_REPOSITORY, other_references),
    Row::new("old-references", GIT_REPOSITORY, old_references),
    Row::new("first-references", GIT_REPOSITORY, first_references),
    Row::new("packs", GIT_REPOSITORY, packs),
];

fn greeting(lines: &[&str]) -> Vec<u8> {
    let service = frame(b"# service=git-upload-pack\n");
    let lines = lines.iter().flat_map(|line| frame(format!("{line}\n").as_bytes()));
    service.into_iter().chain(*b"0000").chain(lines).collect()
}

/// A reference with a name that begins and ends so; `padding` makes it long.
fn reference(number: u64, begin: &str, padding: usize, out: &mut Vec<u8>) {
    let name = format!("{begin}{number:0>padding$}");
    writeln!(out, "{:04x}{number:040x} {name}", 4 + 40 + 1 + name.len() + 1).unwrap();
}

fn sources(place: &Place) -> Specs {
    let url = place.url("");
    Box::new(
        move |number| json!({"interval": "1h", "timeout": TIMEOUT, "url": format!("{url}git-{number}/app.git"), "ref": {"semver": "*"}}),
    )
}

fn version_2(place: &Place, part: fn(u64, &mut Vec<u8>)) -> Specs {
    let mut head = greeting(&[
        "version 2",
        "agent=git/2.0",
        "ls-refs=unborn",
        "fetch=shallow",
        "object-format=sha1",
    ]);
    head.extend(b"0000");
    for number in 0..8 {
        let path = format!("/git-{number}/app.git");
        place
            .hostile
            .whole(&format!("{path}/info/refs"), ADVERTISED, head.clone());
        place
            .hostile
            .answer(&format!("{path}/git-upload-pack"), Pour::new(RESULT, "", part));
    }
    sources(place)
}

/// Tags, as the client has asked for.
fn references(place: &Place) -> Specs {
    version_2(place, |number, out| reference(number, "refs/tags/v1.0.", 200, out))
}

/// What nobody has asked for, with names as long as they may be.
fn other_references(place: &Place) -> Specs {
    version_2(place, |number, out| reference(number, "refs/x/", LONGEST, out))
}

fn advertised(place: &Place, lines: &[&str]) -> Specs {
    let zero = "0".repeat(39);
    let mut lines: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
    lines.push(format!("{zero}1 HEAD\0 side-band-64k ofs-delta shallow agent=git/2.0"));
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let head = greeting(&lines);
    for number in 0..8 {
        let part = |number, out: &mut Vec<u8>| reference(number, "refs/x/", LONGEST, out);
        let pour = Pour::new(ADVERTISED, head.clone(), part);
        place.hostile.answer(&format!("/git-{number}/app.git/info/refs"), pour);
    }
    sources(place)
}

fn old_references(place: &Place) -> Specs {
    advertised(place, &[])
}

fn first_references(place: &Place) -> Specs {
    advertised(place, &["version 1"])
}

/// As many objects as are allowed.
fn packs(place: &Place) -> Specs {
    for number in 0..8 {
        let repo = place.world.repository(&format!("bomb-{number}.git"));
        repo.commit("main", "first", &[Change::File("a.yaml", b"a: 1\n")]);
    }
    answer_with(&place.world.git, "bomb-", || tiny(900_000, 900_000));
    let url = place.world.git.url("");
    Box::new(move |number| {
        let url = format!("{url}bomb-{number}.git");
        json!({"interval": "1h", "timeout": TIMEOUT, "url": url, "ref": {"branch": "main"}})
    })
}
