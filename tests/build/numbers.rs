//! Numbers, and texts that look like numbers, as `build -k` prints them: beside `flux build kustomization` of the real
//! CLI, byte for byte.

use std::fmt::Write as _;
use std::process::Command;

use bumpwright_testkit::cli::Bench;
use bumpwright_testkit::repo::hermetic;
use bumpwright_testkit::tool;

/// How many numbers, for each of the ways that they may come into an object.
const COUNT: usize = 10_000;

/// Where spellings change, and where they do not.
const EDGES: &str = "\
    0 -0 +0 0.0 -0.0 00 08 017 0o17 -0o17 0x1F -0x1F 0X1f 0b101 -0b101 1_000 1__0 1_0.5 _1 +1 +1.5 .5 -.5 5. 1. \
    1e3 1E3 1e+3 1.5e-7 1e-6 1e-7 0.000001 0.0000001 1e20 1e21 1e22 123456789012345678901 9007199254740991 \
    9007199254740993 9223372036854775807 9223372036854775808 -9223372036854775808 -9223372036854775809 \
    18446744073709551615 18446744073709551616 12345678901234567890 1e999 5e-324 1.7976931348623157e308 \
    0.10353709371032427 4.951163595552555e-10 922719119.0e12";

/// So many digits, the first of which is no zero.
fn digits(random: &mut fastrand::Rng, count: usize) -> String {
    let first = random.u8(b'1'..=b'9');
    let rest = (1..count).map(|_| random.digit(10));
    char::from(first).to_string() + &rest.collect::<String>()
}

fn number(random: &mut fastrand::Rng) -> String {
    let sign = if random.bool() { "" } else { "-" };
    let finite = |random: &mut fastrand::Rng| loop {
        let number = f64::from_bits(random.u64(..));
        if number.is_finite() {
            return number;
        }
    };
    match random.usize(..8) {
        0 => {
            let edges: Vec<&str> = EDGES.split_whitespace().collect();
            edges[random.usize(..edges.len())].to_owned()
        }
        1 => format!("{:e}", finite(random)),
        2 => {
            let count = random.usize(1..24);
            format!("{sign}{}", digits(random, count))
        }
        3 => {
            let (count, exponent) = (random.usize(15..19), random.i32(-30..30));
            format!("{sign}0.{}e{exponent}", digits(random, count))
        }
        4 => {
            let (before, after) = (random.usize(1..22), random.usize(1..22));
            format!("{sign}{}.{}", digits(random, before), digits(random, after))
        }
        5 => format!("{sign}0x{:x}", random.u64(..) >> random.u32(..64)),
        6 => format!("{sign}{}", random.f64()),
        _ => format!("{sign}{}", random.f64() * 10_f64.powi(random.i32(-12..24))),
    }
}

/// A value in YAML: a number, or a text of it.
fn value(random: &mut fastrand::Rng) -> String {
    let number = number(random);
    match random.usize(..4) {
        0 => format!("'{number}'"),
        1 => format!("\"{number}\""),
        _ => number,
    }
}

/// Lines `N: VALUE`, below each other.
fn values(random: &mut fastrand::Rng, prefix: &str, count: usize, indent: usize) -> String {
    let mut lines = String::new();
    for at in 0..count {
        writeln!(lines, "{:indent$}{prefix}{at:05}: {}", "", value(random)).unwrap();
    }
    lines
}

fn release(values: &str) -> String {
    format!(
        "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {{name: a, namespace: n}}\nspec:\n  values:\n{values}"
    )
}

fn kustomization(more: &str) -> String {
    format!(
        "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {{name: k, namespace: flux-system}}\n\
         spec:\n  interval: 10m\n  prune: true\n  path: ./\n  sourceRef: {{kind: GitRepository, name: g}}\n{more}"
    )
}

/// What the real CLI prints; none without it.
fn flux(bench: &Bench) -> Option<String> {
    let mut command = Command::new(tool("flux")?);
    hermetic(&mut command);
    let output = command
        .args([
            "build",
            "kustomization",
            "k",
            "--namespace",
            "flux-system",
            "--path",
            "src",
        ])
        .args(["--kustomization-file", "ks.yaml", "--dry-run", "--in-memory-build"])
        .current_dir(&bench.dir)
        .env("HOME", bench.path("home"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    Some(String::from_utf8(output.stdout).unwrap())
}

/// The lines that differ: theirs, then ours.
fn differences<'t>(theirs: &'t str, ours: &'t str) -> Vec<(&'t str, &'t str)> {
    let lines = |text: &'t str| text.trim_end_matches("---\n").lines();
    assert_eq!(lines(theirs).count(), lines(ours).count());
    let pairs = lines(theirs).zip(lines(ours));
    pairs.filter(|(theirs, ours)| theirs != ours).collect()
}

/// Both build `src` alike, and the same again from what was printed.
fn is_built_alike(random: &mut fastrand::Rng, more: &str) {
    let bench = Bench::new();
    bench.write("src/a.yaml", release(&values(random, "v", COUNT, 4)));
    bench.write("ks.yaml", kustomization(more));
    let run = || bench.ok(&["build", "-k", "ks.yaml", "--path", "src"]).out;
    let ours = run();
    if let Some(theirs) = flux(&bench) {
        assert_eq!(differences(&theirs, &ours), [], "{more:.80}");
    }
    bench.write("src/a.yaml", &ours);
    assert_eq!(differences(&ours, &run()), [], "what was built is built again");
}

#[test]
fn numbers_are_those_of_flux() {
    is_built_alike(&mut fastrand::Rng::with_seed(1), "");
}

#[test]
fn numbers_of_objects_with_variables_are_those_of_flux() {
    is_built_alike(&mut fastrand::Rng::with_seed(2), "  postBuild: {substitute: {a: b}}\n");
}

#[test]
fn numbers_of_patches_are_those_of_flux() {
    let mut random = fastrand::Rng::with_seed(3);
    let mut operations = String::new();
    for at in 0..COUNT / 10 {
        let (path, value) = (format!("/spec/values/o{at:05}"), value(&mut random));
        writeln!(operations, "      - {{op: add, path: {path}, value: {value}}}").unwrap();
    }
    let merged = values(&mut random, "m", COUNT / 10, 10);
    let more = format!(
        "  patches:\n  - target: {{kind: HelmRelease}}\n    patch: |\n{operations}  - patch: |\n      \
         apiVersion: helm.toolkit.fluxcd.io/v2\n      kind: HelmRelease\n      metadata: {{name: a, namespace: n}}\n      \
         spec:\n        values:\n{merged}"
    );
    is_built_alike(&mut random, &more);
}
