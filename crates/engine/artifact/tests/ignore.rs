//! Ignore rules against the files that source-controller's own code keeps of
//! the same tree (`fixtures/artifact/ignore.jsonl`).
//!
//! `BUMPWRIGHT_IGNORES=file` tries the rule sets of another file, as `fixtures/artifact/generate/ignore` makes them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]
#![allow(clippy::print_stdout)]

use bumpwright_artifact::{IgnoreFile, IgnoreRules, Verdict};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Bytes stored in JSON as the runes U+0000 to U+00FF.
fn bytes(value: &Value) -> Vec<u8> {
    let text = value.as_str().unwrap();
    text.chars()
        .map(|rune| u8::try_from(u32::from(rune)).unwrap())
        .collect()
}

fn list(value: &Value) -> BTreeSet<Vec<u8>> {
    value
        .as_array()
        .map(|all| all.iter().map(bytes).collect())
        .unwrap_or_default()
}

fn components(path: &[u8]) -> Vec<&[u8]> {
    path.split(|byte| *byte == b'/').collect()
}

/// Directories of a tree and what is in them.
#[derive(Default)]
struct Folder {
    files: BTreeSet<Vec<u8>>,
    folders: BTreeMap<Vec<u8>, Folder>,
}

impl Folder {
    fn of(paths: &BTreeSet<Vec<u8>>) -> Self {
        let mut root = Self::default();
        for path in paths {
            let mut names = components(path);
            let file = names.pop().unwrap();
            let folder = names.into_iter().fold(&mut root, |folder, name| {
                folder.folders.entry(name.to_vec()).or_default()
            });
            folder.files.insert(file.to_vec());
        }
        root
    }

    /// All paths, directories with a `/` at the end.
    fn places(&self, above: &[u8], out: &mut Vec<Vec<u8>>) {
        out.extend(self.files.iter().map(|name| [above, name].concat()));
        for (name, folder) in &self.folders {
            let path = [above, name, b"/"].concat();
            folder.places(&path, out);
            out.push(path);
        }
    }
}

/// The files that are kept, by matching each path.
fn kept(rules: &IgnoreRules, places: &[Vec<u8>]) -> BTreeSet<Vec<u8>> {
    let is_kept = |place: &&Vec<u8>| {
        let path = place.strip_suffix(b"/");
        !rules.ignored(&components(path.unwrap_or(place)), path.is_some())
    };
    places.iter().filter(is_kept).cloned().collect()
}

/// The files that are kept, by walking only the directories that must be walked.
fn walked(rules: &IgnoreRules, root: &Folder) -> BTreeSet<Vec<u8>> {
    fn visit(walk: &mut bumpwright_artifact::Walk<'_>, folder: &Folder, above: &[u8], out: &mut BTreeSet<Vec<u8>>) {
        out.extend(
            folder
                .files
                .iter()
                .filter(|name| !walk.ignores_file(name))
                .map(|name| [above, name].concat()),
        );
        for (name, folder) in &folder.folders {
            let path = [above, name, b"/"].concat();
            let verdict = walk.enter(name);
            if verdict != Verdict::IgnoredWithAllBelow {
                visit(walk, folder, &path, out);
            }
            if verdict == Verdict::Kept {
                out.insert(path);
            }
            walk.leave();
        }
    }
    let mut out = BTreeSet::new();
    visit(&mut rules.walk(), root, b"", &mut out);
    out
}

fn texts(set: &Value) -> Vec<(Vec<u8>, Vec<u8>)> {
    let files = set["files"].as_array().map(Vec::as_slice).unwrap_or_default();
    files
        .iter()
        .map(|file| (bytes(&file["directory"]), bytes(&file["text"])))
        .collect()
}

/// `spec.ignore` is text in Kubernetes; other bytes go into a file of the root that comes last.
fn rules(set: &Value) -> Option<(IgnoreRules, IgnoreRules)> {
    let texts = texts(set);
    let spec = match &set["spec"] {
        Value::Null => None,
        text => Some(String::from_utf8(bytes(text)).ok()?),
    };
    let files = texts.iter().map(|(directory, text)| IgnoreFile { directory, text });
    let root = texts.iter().find(|(directory, _)| directory.is_empty());
    let tree = IgnoreRules::of_tree(files, spec.as_deref());
    let bucket = IgnoreRules::of_bucket(root.map(|(_, text)| &**text), spec.as_deref());
    Some((tree, bucket))
}

#[test]
fn what_is_kept_is_what_source_controller_keeps() {
    let path = std::env::var("BUMPWRIGHT_IGNORES")
        .unwrap_or_else(|_| concat!(env!("CARGO_MANIFEST_DIR"), "/../../../fixtures/artifact/ignore.jsonl").to_owned());
    let text = std::fs::read_to_string(&path).unwrap();
    let mut lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let tree = list(&lines.next().unwrap()["tree"]);
    let root = Folder::of(&tree);
    let mut places = Vec::new();
    root.places(b"", &mut places);
    let (mut count, mut faults) = (0, Vec::new());
    for set in lines {
        let Some((of_tree, of_bucket)) = rules(&set) else {
            continue;
        };
        count += 1;
        let expected = list(&set["kept"]);
        let in_bucket: BTreeSet<_> = tree
            .iter()
            .filter(|path| !of_bucket.ignored(&components(path), false))
            .cloned()
            .collect();
        for (how, found, expected) in [
            ("each", kept(&of_tree, &places), &expected),
            ("walk", walked(&of_tree, &root), &expected),
            ("bucket", in_bucket, &list(&set["bucket"])),
        ] {
            if found != *expected {
                let show = |set: Vec<&Vec<u8>>| {
                    format!(
                        "{:?}",
                        set.iter().map(|path| String::from_utf8_lossy(path)).collect::<Vec<_>>()
                    )
                };
                let more = show(found.difference(expected).collect());
                let less = show(expected.difference(&found).collect());
                faults.push(format!(
                    "{how}: {}\n  too much {more}\n  too little {less}\n{set}",
                    set["name"]
                ));
            }
        }
    }
    println!(
        "ignore rules: {} faults in {count} rule sets over {} places",
        faults.len(),
        places.len()
    );
    assert!(count >= 40, "only {count} rule sets");
    faults.sort_by_key(String::len);
    assert!(faults.is_empty(), "{}", faults[..faults.len().min(5)].join("\n\n"));
}

/// 16,000 paths, fifty patterns of the kinds that there are. Only measured: `cargo test -p bumpwright-artifact --test
/// ignore -- --ignored --nocapture`.
#[test]
#[ignore = "a measurement"]
fn sixteen_thousand_paths() {
    let kinds = |n: usize| match n % 7 {
        0 => format!("name{n}"),
        1 => format!("*.ext{n}"),
        2 => format!("/apps/team{n}/"),
        3 => format!("**/secret{n}.yaml"),
        4 => format!("!apps/*/keep{n}.yaml"),
        5 => format!("*old*{n}"),
        _ => format!("dir{n}/"),
    };
    let spec = (0..50).map(kinds).collect::<Vec<_>>().join("\n");
    let rules = IgnoreRules::of_tree([], Some(&spec));
    let paths: BTreeSet<Vec<u8>> = (0..16_000)
        .map(|n| format!("apps/team{}/service{}/overlays/prod/file{n}.yaml", n % 40, n / 40 % 40).into_bytes())
        .collect();
    let root = Folder::of(&paths);
    let split: Vec<Vec<&[u8]>> = paths.iter().map(|path| components(path)).collect();
    for _ in 0..3 {
        let start = busy();
        let each = split.iter().filter(|path| rules.ignored(path, false)).count();
        let each_time = busy() - start;
        let start = busy();
        let kept = count(&mut rules.walk(), &root);
        let walk_time = busy() - start;
        println!("{each} ignored, each {each_time:?}; {kept} kept, walk {walk_time:?}");
    }
}

/// CPU time of this thread, according to Linux.
fn busy() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    Duration::from_nanos(text.split(' ').next().unwrap().parse().unwrap())
}

/// The number of files that are kept.
fn count(walk: &mut bumpwright_artifact::Walk<'_>, folder: &Folder) -> usize {
    let mut kept = folder.files.iter().filter(|name| !walk.ignores_file(name)).count();
    for (name, folder) in &folder.folders {
        if walk.enter(name) != Verdict::IgnoredWithAllBelow {
            kept += count(walk, folder);
        }
        walk.leave();
    }
    kept
}
