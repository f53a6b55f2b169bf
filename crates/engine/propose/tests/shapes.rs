//! Tags as registries have them, the policy that is proposed for one in use, and the tag that it chooses.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

use bumpwright_adopt::Rule;
use bumpwright_propose::{Shape, shape};

fn tags(text: &str) -> Vec<String> {
    let mut tags: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
    // As the scanner has them.
    tags.sort_unstable_by(|one, other| other.cmp(one));
    tags
}

fn rule(shape: &Shape) -> String {
    match &shape.choice.rule {
        Rule::Semver(range) => format!("semver {range}"),
        Rule::Alphabetical if shape.choice.digest => "digest".to_owned(),
        Rule::Alphabetical => "alphabetical".to_owned(),
        Rule::Numerical => "numerical".to_owned(),
    }
}

/// What is in the registry, the tag in use, the rule, the tag that is chosen; for an image that is left, a
/// part of the reason.
const SHAPES: &[(&str, &str, &str, &str, &str)] = &[
    (
        "nginx",
        "latest mainline stable alpine 1 1.27 1.27.3 1.27.4 1.28.0 1.28.0-alpine 1.28.1-alpine3.20 2.0.0 stable-perl",
        "1.27.3",
        "semver ^1.27.3",
        "1.28.0",
    ),
    (
        "nginx, minor",
        "1 1.27 1.27.3 1.28 1.28.1 latest 2.0",
        "1.27",
        "semver ^1.27.0",
        "1.28",
    ),
    ("nginx, major", "1 1.27 1.27.3 1.28 2", "1", "digest", "1"),
    (
        "nginx, variant",
        "1.27.3 1.27.3-alpine 1.28.0 1.28.0-alpine 1.29.0",
        "1.27.3-alpine",
        "semver ^1.27.3",
        "1.28.0-alpine",
    ),
    (
        "moving variant",
        "stable-alpine stable 1.2.3",
        "stable-alpine",
        "digest",
        "stable-alpine",
    ),
    (
        "prometheus",
        "v2.45.0 v2.46.0-rc.0 v2.53.1 v3.0.0 main latest",
        "v2.45.0",
        "semver ^2.45.0",
        "v2.53.1",
    ),
    (
        "v and none",
        "v1.2.0 1.2.0 v1.3.0 1.4.0",
        "v1.2.0",
        "semver ^1.2.0",
        "v1.3.0",
    ),
    (
        "0.x",
        "0.4.1 0.4.9 0.4.10 0.5.0 1.0.0",
        "0.4.1",
        "semver ^0.4.1",
        "0.4.10",
    ),
    ("0.0.x", "0.0.3 0.0.4 0.1.0", "0.0.3", "semver ~0.0.3", "0.0.4"),
    (
        "0.x of two numbers",
        "0.4 0.5 1.0",
        "0.4",
        "semver >=0.4.0 <1.0.0",
        "0.5",
    ),
    (
        "pre-release",
        "2.0.0-rc.1 2.0.0-rc.2 2.0.0-beta.9 2.0.0-rc.2-alpine 1.9.0",
        "2.0.0-rc.1",
        "semver ^2.0.0-rc.1",
        "2.0.0-rc.2",
    ),
    (
        "pre-release that came out",
        "v2.0.0-rc1 v2.0.0 v2.1.0-rc1 v2.0.1",
        "v2.0.0-rc1",
        "semver ^2.0.0-rc1",
        "v2.1.0-rc1",
    ),
    (
        "linuxserver",
        "4.0.11.2680-ls262 4.0.11.2680-ls270 4.0.9.2244-ls300 latest",
        "4.0.9.2244-ls300",
        "semver ^4.0.9-2244.300",
        "4.0.11.2680-ls270",
    ),
    (
        "linuxserver, version-",
        "version-4.0.9 version-4.0.11 4.0.12 develop-4.1.0",
        "version-4.0.9",
        "semver ^4.0.9",
        "version-4.0.11",
    ),
    (
        "linuxserver, four",
        "version-4.0.9.2244 version-4.0.11.2680",
        "version-4.0.9.2244",
        "semver ^4.0.9-2244",
        "version-4.0.11.2680",
    ),
    (
        "bitnami",
        "1.2.3-debian-12-r4 1.2.3-debian-12-r10 1.2.4-debian-11-r0 1.2.3",
        "1.2.3-debian-12-r4",
        "semver ^1.2.3-4",
        "1.2.3-debian-12-r10",
    ),
    (
        "minio",
        "RELEASE.2024-01-02T03-04-05Z RELEASE.2024-11-07T00-52-20Z RELEASE.2024-12-01T00-00-00Z-cpuv1 latest",
        "RELEASE.2024-01-02T03-04-05Z",
        "alphabetical",
        "RELEASE.2024-11-07T00-52-20Z",
    ),
    (
        "postgres",
        "16.4 16.10 17.2 16.4-alpine3.20 16.6-alpine3.20 16.8-alpine3.21 16 17",
        "16.4-alpine3.20",
        "semver ^16.4.0",
        "16.6-alpine3.20",
    ),
    (
        "postgres, plain",
        "16.4 16.10 17.2 16 17 16.11-alpine",
        "16.4",
        "semver ^16.4.0",
        "16.10",
    ),
    ("postgres, major", "16 16.4 17 17.2", "16", "digest", "16"),
    (
        "node",
        "20-alpine 20.1.0-alpine 22-alpine 22.0.0-alpine",
        "20-alpine",
        "digest",
        "20-alpine",
    ),
    (
        "python",
        "3.12-slim 3.12.1-slim 3.13-slim 3.13-slim-bookworm",
        "3.12-slim",
        "semver ^3.12.0",
        "3.13-slim",
    ),
    (
        "calver",
        "2026.11.27 2026.2.3 2025.12.31 2027.01.02",
        "2026.2.3",
        "semver >=2026.2.3",
        "2027.01.02",
    ),
    (
        "calver, two numbers",
        "2023.10 2024.2 2024.10 beta",
        "2023.10",
        "semver >=2023.10.0",
        "2024.10",
    ),
    (
        "calver, short year",
        "24.04 24.10 25.04 rolling",
        "24.04",
        "semver >=24.4.0",
        "25.04",
    ),
    (
        "calver, month and patch",
        "26.11.1 25.1.0 25.10.2 26.2.0 26.12.0 27.1.0",
        "26.11.1",
        "semver >=26.11.1",
        "27.1.0",
    ),
    (
        "no calver",
        "24.0.7 25.0.1 26.1.0 27.0.0 24.0.9",
        "24.0.7",
        "semver ^24.0.7",
        "24.0.9",
    ),
    (
        "date",
        "20240102 20241231 20250101 17 edge",
        "20240102",
        "numerical",
        "20250101",
    ),
    (
        "date and build",
        "20240102.2 20240102.10 20240101.99",
        "20240102.2",
        "semver >=20240102.2.0",
        "20240102.10",
    ),
    (
        "date with hyphens",
        "2024-01-02 2024-12-31 2025-01-01 2025-01-01-slim",
        "2024-01-02",
        "semver >=2024.1.2",
        "2025-01-01",
    ),
    (
        "ubuntu",
        "jammy jammy-20240111 jammy-20240227 noble-20240429",
        "jammy-20240111",
        "numerical",
        "jammy-20240227",
    ),
    (
        "time",
        "20240102T030405Z 20240102T040000Z",
        "20240102T030405Z",
        "alphabetical",
        "20240102T040000Z",
    ),
    (
        "date and time",
        "20240102-030405 20240102-113000 20240101-235959",
        "20240102-030405",
        "semver >=20240102.30405.0",
        "20240102-113000",
    ),
    (
        "main-sha-ts",
        "main-0a1b2c3-1700000000 main-ffff000-1700000100 main-1234567-1700000200 dev-aaaaaa1-1800000000 main latest",
        "main-0a1b2c3-1700000000",
        "numerical",
        "main-1234567-1700000200",
    ),
    (
        "main-digits-ts",
        "main-1234567-1700000000 main-0a1b2c3-1700000100",
        "main-1234567-1700000000",
        "numerical",
        "main-0a1b2c3-1700000100",
    ),
    (
        "branch with a version",
        "release-1.2-0a1b2c3-1700000000 release-1.2-0a1b2c4-1700000001 release-1.3-0a1b2c5-1800000000",
        "release-1.2-0a1b2c3-1700000000",
        "numerical",
        "release-1.2-0a1b2c4-1700000001",
    ),
    (
        "branch-time-sha",
        "dev-20240102-0a1b2c3 dev-20240103-0a1b2c4",
        "dev-20240102-0a1b2c3",
        "numerical",
        "dev-20240103-0a1b2c4",
    ),
    (
        "branch-n",
        "main-9 main-10 dev-99 main",
        "main-9",
        "numerical",
        "main-10",
    ),
    ("numbers", "1 9 10 100 latest", "9", "numerical", "100"),
    ("build", "build-7 build-11 x", "build-7", "numerical", "build-11"),
    (
        "nanoseconds",
        "m-1700000000000000001 m-1700000000000000002",
        "m-1700000000000000001",
        "alphabetical",
        "m-1700000000000000002",
    ),
    (
        "temurin",
        "21.0.5_11-jre 21.0.5_9-jre 21.0.6_7-jre 22.0.0_1-jre 21-jre",
        "21.0.5_9-jre",
        "semver ^21.0.5-9",
        "21.0.6_7-jre",
    ),
    (
        "k3s",
        "v1.29.1-k3s1 v1.29.1-k3s2 v1.30.0-k3s1 v1.29.1",
        "v1.29.1-k3s1",
        "semver ^1.29.1-1",
        "v1.30.0-k3s1",
    ),
    (
        "git describe",
        "v1.2.3-4-gabc1234 v1.2.3-14-gabc1235 v1.2.3",
        "v1.2.3-4-gabc1234",
        "semver ^1.2.3-4",
        "v1.2.3-14-gabc1235",
    ),
    (
        "version and commit",
        "1.2.3-abc1234 1.2.4-abc1235",
        "1.2.3-abc1234",
        "semver ^1.2.3",
        "1.2.4-abc1235",
    ),
    (
        "revision of a package",
        "8.4.0-1 8.4.0-2 8.4.1-1 9.0.0-1",
        "8.4.0-1",
        "semver ^8.4.0-1",
        "8.4.1-1",
    ),
    (
        "chart with the version of what it is for",
        "105.0.0_up2.10.0 105.0.1_up2.10.1 105.0.1_up2.10.10 105.0.1_up2.10.2 106.0.0-rc.1_up2.11.0 latest",
        "105.0.0_up2.10.0",
        "semver ^105.0.0-2.10.0",
        "105.0.1_up2.10.10",
    ),
    (
        "chart with build metadata",
        "v1.0.0_k8s1.30 v1.0.1_k8s1.31 v1.0.1_k8s1.30",
        "v1.0.0_k8s1.30",
        "semver ^1.0.0-1.30",
        "v1.0.1_k8s1.31",
    ),
    (
        "distribution behind an underscore",
        "1.2.3_alpine3.20 1.2.4_alpine3.20 1.2.5_alpine3.21",
        "1.2.3_alpine3.20",
        "semver ^1.2.3",
        "1.2.4_alpine3.20",
    ),
    ("latest only", "latest", "latest", "digest", "latest"),
    ("branch only", "main dev 1.0.0", "main", "digest", "main"),
    (
        "distribution",
        "debian-12 debian-13",
        "debian-12",
        "digest",
        "debian-12",
    ),
    (
        "distribution, glued",
        "alpine3.20 alpine3.21",
        "alpine3.20",
        "digest",
        "alpine3.20",
    ),
    ("gone", "1.3.0 1.4.0", "1.2.0", "semver ^1.2.0", "1.4.0"),
    (
        "mixed",
        "1.2.3 main-17 sha-abc1234 2024.01.01 latest",
        "1.2.3",
        "semver ^1.2.3",
        "1.2.3",
    ),
    ("commits", "0a1b2c3 0a1b2c4 1.2.3", "0a1b2c3", "left", "names a commit"),
    (
        "commits of digits",
        "1234567 0a1b2c4",
        "1234567",
        "left",
        "names a commit",
    ),
    ("sha-", "sha-0a1b2c3 latest", "sha-0a1b2c3", "left", "names a commit"),
    (
        "branch and commit",
        "main-0a1b2c3 main-0a1b2c4",
        "main-0a1b2c3",
        "left",
        "names a commit",
    ),
    (
        "versions in commits",
        "1.2.3-abc1234 1.2.3-abc1235",
        "1.2.3-abc1234",
        "left",
        "cannot be ordered",
    ),
    ("requests", "pr-12 pr-13", "pr-12", "left", "request for review"),
    ("glued", "3.14.0rc1 3.14.0", "3.14.0rc1", "left", "without a hyphen"),
    ("newer than all", "1.0.0 1.1.0", "1.2.0", "left", "no tag like 1.2.0"),
    ("nothing", "", "1.2.0", "left", "no tag like 1.2.0"),
    ("no latest", "1.0.0", "latest", "left", "no tag latest"),
    ("two names of one", "1.01.0 1.1.0", "1.0.0", "left", "cannot be ordered"),
];

#[test]
fn the_policy_chooses_the_newest_of_the_series_in_use() {
    let mut wrong = Vec::new();
    for (name, there, current, expected_rule, expected) in SHAPES {
        let shown = match shape(&tags(there), current) {
            Ok(shape) => {
                let found = (rule(&shape), shape.chosen.clone());
                if found == ((*expected_rule).to_owned(), (*expected).to_owned()) {
                    continue;
                } else {
                    format!("{found:?} {:?}", shape.choice)
                }
            }
            Err(why) if *expected_rule == "left" && why.to_string().contains(expected) => continue,
            Err(why) => format!("left: {why}"),
        };
        wrong.push(format!("{name}: {shown}"));
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn filters_stand_only_where_they_are_needed() {
    for (there, current, filter, extract) in [
        ("1.2.3 1.3.0 latest 1.3.0-alpine", "1.2.3", None, None),
        (
            "1.2.3 v1.3.0",
            "1.2.3",
            Some("^(?P<version>[0-9]+\\.[0-9]+\\.[0-9]+)$"),
            Some("$version"),
        ),
        (
            "1.2 1.3",
            "1.2",
            Some("^(?P<version>[0-9]+\\.[0-9]+)$"),
            Some("$version.0"),
        ),
        ("17 18", "17", Some("^[0-9]+$"), None),
        ("20240101 20240102", "20240101", Some("^[0-9]{8}$"), None),
        (
            "main-0a1b2c3-1700000000 x",
            "main-0a1b2c3-1700000000",
            Some("^main-[0-9a-f]{7,40}-(?P<ts>[0-9]+)$"),
            Some("$ts"),
        ),
        (
            "1.2.3-debian-12-r4",
            "1.2.3-debian-12-r4",
            Some("^(?P<version>[0-9]+\\.[0-9]+\\.[0-9]+)-debian-12-r(?P<rev>[0-9]+)$"),
            Some("$version-$rev"),
        ),
        ("latest", "latest", Some("^latest$"), None),
    ] {
        let choice = shape(&tags(there), current).unwrap().choice;
        assert_eq!(
            (choice.filter.as_deref(), choice.extract.as_deref()),
            (filter, extract),
            "{current}"
        );
    }
}

#[test]
fn each_proposal_says_why_and_what_else_there_is() {
    let found = shape(&tags("0.4.1 0.5.0 0.4.1-alpine 0.5.0-alpine latest"), "0.4.1").unwrap();
    assert_eq!(
        found.why,
        "0.4.1 is one of several versions: the highest of 0.4 (before 1.0 each minor version may break)"
    );
    assert_eq!(
        found.notes,
        [
            "0.5.0 is there too: change the range to take it",
            "also there: 0.5.0-alpine and 1 like it, latest"
        ]
    );
    let left = shape(&tags("0a1b2c3 1.0.0 1.1.0"), "0a1b2c3").unwrap_err();
    assert!(left.to_string().ends_with("also there: 1.1.0 and 1 like it"), "{left}");
}

/// Numbers from a seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % bound
    }

    fn of<'t>(&mut self, words: &[&'t str]) -> &'t str {
        words[self.below(words.len())]
    }

    fn tag(&mut self) -> String {
        const WORDS: [&str; 26] = [
            "1",
            "2",
            "0",
            "10",
            "v1",
            "v2",
            "20240102",
            "20240103",
            "2024",
            "01",
            "12",
            "alpine",
            "alpine3",
            "debian",
            "rc",
            "rc1",
            "r2",
            "ls7",
            "main",
            "abc1234",
            "1234567",
            "latest",
            "1700000000",
            "20240102T030405Z",
            "0rc1",
            "pr",
        ];
        let mut tag = self.of(&WORDS).to_owned();
        for _ in 0..self.below(5) {
            tag.push_str(self.of(&[".", ".", "-", "_", "--"]));
            tag.push_str(self.of(&WORDS));
        }
        tag
    }
}

/// The words that stay from tag to tag: all letters but those of commits, and `T` and `Z` of times.
fn letters(tag: &str) -> Vec<String> {
    let words = tag.split(['.', '-', '_']);
    let is_commit = |word: &str| word.len() == 7 && word.bytes().all(|c| matches!(c, b'0'..=b'9' | b'a'..=b'f'));
    let lasting = words.filter(|word| !is_commit(word) && !word.starts_with("rc"));
    lasting
        .map(|word| word.chars().filter(|c| c.is_ascii_alphabetic()).collect::<String>())
        .filter(|word| !word.is_empty())
        .collect()
}

#[test]
fn nothing_older_and_no_other_variant_is_ever_chosen() {
    let mut dice = Dice(20_261_127);
    let mut proposed = 0;
    for _ in 0..5_000 {
        let mut there: Vec<String> = (0..1 + dice.below(12)).map(|_| dice.tag()).collect();
        there.sort_unstable_by(|one, other| other.cmp(one));
        there.dedup();
        let current = there[dice.below(there.len())].clone();
        let Ok(found) = shape(&there, &current) else { continue };
        proposed += 1;
        let policy = found.choice.policy().unwrap();
        let chosen = policy.latest(&there).unwrap();
        assert_eq!(chosen, found.chosen);
        let order = policy.compare(chosen, &current);
        assert!(
            order.is_some_and(std::cmp::Ordering::is_ge),
            "{current} {chosen} {there:?}"
        );
        assert_eq!(
            letters(chosen),
            letters(&current),
            "{current} {chosen} {:?}",
            found.choice
        );
    }
    assert!(proposed > 2_500, "{proposed}");
}

#[test]
fn hostile_tags_cost_little() {
    let mut dice = Dice(7);
    let mut there: Vec<String> = (0..10_000)
        .map(|n| match n % 5 {
            0 => "9.".repeat(60) + &n.to_string(),
            1 => "a-".repeat(2_000),
            2 => format!("\u{1b}[31m{n}\n"),
            3 => (0..120)
                .map(|_| dice.of(&["0", "f", "-", ".", "T", "v", "é"]))
                .collect(),
            _ => format!("{n}.{n}.{n}"),
        })
        .collect();
    there.push("1.2.3".to_owned());
    // Seconds of work, minutes where it grew with the square; other programs may have the processor meanwhile.
    let start = std::time::Instant::now();
    for current in ["1.2.3", "latest", "4.4.4", "abc1234", &"9.".repeat(60), "\n", "1234567"] {
        if let Ok(found) = shape(&there, current) {
            assert!(!format!("{found:?}").contains('\u{1b}'));
        }
    }
    assert!(start.elapsed().as_secs() < 90, "{:?}", start.elapsed());
}
