//! How many files are in a folder, and which files need each other in a circle.
//!
//! An arrow leads from a file to the one whose items it names: with `crate`, `super` or `self`, in `use` or elsewhere,
//! and through what modules re-export. That a module names its own children is no arrow, nor is what tests name.

use std::collections::{BTreeMap, BTreeSet};

const MAX_FILES: usize = 20;
const MAX_CIRCLE: usize = 3;

type Module = Vec<String>;

/// Everything that is wrong with the packages, one sentence each.
pub(super) fn faults(files: &[(String, String)]) -> Vec<String> {
    let mut packages: BTreeMap<&str, Vec<(&str, &str)>> = BTreeMap::new();
    for (path, text) in files {
        if let Some((package, below)) = split(path) {
            packages.entry(package).or_default().push((below, text));
        }
    }
    let mut faults = Vec::new();
    for (package, files) in packages {
        faults.extend(crowded(package, &files));
        faults.extend(circles(package, &files));
    }
    faults
}

/// The package of a file, and its path below `src/`.
fn split(path: &str) -> Option<(&str, &str)> {
    let (package, below) = match path.strip_prefix("src/") {
        Some(below) => ("src", below),
        None => path.strip_prefix("crates/").and(path.split_once("/src/"))?,
    };
    let is_test = below.split('/').any(|part| part == "tests" || part == "tests.rs");
    (!is_test).then_some((package, below))
}

fn crowded(package: &str, files: &[(&str, &str)]) -> Vec<String> {
    let mut folders: BTreeMap<&str, usize> = BTreeMap::new();
    for (path, _) in files {
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        *folders.entry(folder).or_default() += 1;
    }
    let crowded = folders.into_iter().filter(|(_, count)| *count > MAX_FILES);
    crowded
        .map(|(folder, count)| format!("{package}: {count} files in src/{folder}, {MAX_FILES} at most"))
        .collect()
}

fn circles(package: &str, files: &[(&str, &str)]) -> Vec<String> {
    let arrows = arrows(files);
    let reached: BTreeMap<&str, BTreeSet<&str>> = files.iter().map(|(path, _)| (*path, reach(path, &arrows))).collect();
    let mut told: BTreeSet<&str> = BTreeSet::new();
    let mut faults = Vec::new();
    for (path, _) in files {
        let is_back = |other: &&str| reached[other].contains(path);
        let circle: Vec<&str> = reached[path].iter().copied().filter(is_back).collect();
        if circle.len() > MAX_CIRCLE && told.insert(circle[0]) {
            faults.push(format!(
                "{package}: {} files need each other, {MAX_CIRCLE} at most: {}",
                circle.len(),
                circle.join(" ")
            ));
        }
    }
    faults
}

/// What a file leads to, by any number of arrows.
fn reach<'f>(from: &str, arrows: &BTreeMap<&'f str, BTreeSet<&'f str>>) -> BTreeSet<&'f str> {
    let mut reached = BTreeSet::new();
    let mut next: Vec<&str> = arrows[from].iter().copied().collect();
    while let Some(file) = next.pop() {
        if reached.insert(file) {
            next.extend(&arrows[file]);
        }
    }
    reached
}

/// The files whose items each file names. What a module passes on is an arrow to where it is.
fn arrows<'f>(files: &[(&'f str, &'f str)]) -> BTreeMap<&'f str, BTreeSet<&'f str>> {
    let code: Vec<(&str, Module, String)> = (files.iter())
        .map(|(path, text)| (*path, module(path), code(text)))
        .collect();
    let modules: BTreeMap<Module, &str> = code.iter().map(|(path, module, _)| (module.clone(), *path)).collect();
    let mut passed_on: BTreeMap<Module, Module> = BTreeMap::new();
    let mut named: Vec<(&str, Module)> = Vec::new();
    for (path, module, code) in &code {
        let uses = uses(code);
        for Use { is_public, path: used } in uses.0 {
            let Some(target) = absolute(&used, module, &modules) else {
                continue;
            };
            let is_below = target.starts_with(module);
            if is_public && is_below && target.last().is_some_and(|name| name != "*") {
                let mut name = module.clone();
                name.extend(target.last().cloned());
                passed_on.insert(name, target);
            } else if !is_below || module.is_empty() {
                named.push((path, target));
            }
        }
        named.extend(
            uses.1
                .iter()
                .filter_map(|used| Some((*path, absolute(used, module, &modules)?))),
        );
    }
    let mut arrows: BTreeMap<&str, BTreeSet<&str>> = files.iter().map(|(path, _)| (*path, BTreeSet::new())).collect();
    for (path, mut target) in named {
        for _ in 0..4 {
            // A function may have the name of a module.
            let is_item = |end: &usize| *end == target.len() || !modules.contains_key(&target[..*end]);
            let mut ends = (1..=target.len()).filter(is_item);
            let known = ends.find_map(|end| Some((end, passed_on.get(&target[..end])?)));
            let Some((end, place)) = known else { break };
            target = place.iter().chain(&target[end..]).cloned().collect();
        }
        let file = (1..=target.len()).rev().find_map(|end| modules.get(&target[..end]));
        if let Some(file) = file.filter(|file| **file != path) {
            arrows.entry(path).or_default().insert(file);
        }
    }
    arrows
}

fn module(path: &str) -> Module {
    let mut names: Module = path.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
    if names
        .last()
        .is_some_and(|name| ["mod", "lib", "main"].contains(&name.as_str()))
    {
        names.pop();
    }
    names
}

/// The path from the root of the crate, of one that begins with `crate`, `super`, `self` or a module below.
fn absolute(path: &[String], module: &[String], modules: &BTreeMap<Module, &str>) -> Option<Module> {
    let mut base = module.to_vec();
    let mut rest = path;
    match path.first()?.as_str() {
        "crate" => (base, rest) = (Module::new(), &path[1..]),
        "self" => rest = &path[1..],
        "super" => {
            while rest.first().is_some_and(|name| name == "super") {
                base.pop();
                rest = &rest[1..];
            }
        }
        child => {
            base.push(child.to_owned());
            modules.get(&base)?;
            rest = &path[1..];
        }
    }
    base.extend_from_slice(rest);
    Some(base)
}

/// The code without comments and without its tests.
fn code(text: &str) -> String {
    let mut code = String::new();
    let mut lines = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    let mut is_for_tests = false;
    while let Some(line) = lines.next() {
        is_for_tests = line == "#[cfg(test)]" || (is_for_tests && line.starts_with("#["));
        let begins = line.starts_with("mod ") || line.starts_with("impl ") || line.starts_with("fn ");
        if !is_for_tests && !begins {
            code.push_str(line);
            code.push('\n');
        } else if begins && code_is_for_tests(&code) {
            if !line.ends_with([';', '}']) {
                let _: Option<&str> = lines.find(|line| *line == "}");
            }
        } else {
            code.push_str(line);
            code.push('\n');
        }
    }
    code
}

/// Whether an item after this is compiled for tests only.
fn code_is_for_tests(before: &str) -> bool {
    let attributes = before.lines().rev().take_while(|line| line.starts_with("#["));
    attributes.into_iter().any(|line| line == "#[cfg(test)]")
}

struct Use {
    is_public: bool,
    path: Module,
}

/// The paths of `use`, and those that stand elsewhere.
fn uses(code: &str) -> (Vec<Use>, Vec<Module>) {
    let mut uses = Vec::new();
    let mut elsewhere = Vec::new();
    let mut rest = code;
    while let Some((line, after)) = rest.split_once('\n') {
        let statement = line.trim_start();
        let unqualified = statement
            .strip_prefix("pub(crate) ")
            .or_else(|| statement.strip_prefix("pub "));
        if unqualified.unwrap_or(statement).starts_with("use ") {
            let begin = rest.find("use ").map_or(0, |at| at + 4);
            let (tree, after) = rest[begin..].split_once(';').unwrap_or((&rest[begin..], ""));
            expand(tree, &Module::new(), &mut |path| {
                let is_public = unqualified.is_some();
                uses.push(Use { is_public, path });
            });
            rest = after;
        } else {
            elsewhere.extend(inline(line));
            rest = after;
        }
    }
    (uses, elsewhere)
}

/// Each path of a tree.
fn expand(tree: &str, above: &Module, found: &mut dyn FnMut(Module)) {
    let tree = tree.trim();
    let (head, group) = match tree.split_once('{') {
        Some((head, group)) => (head, group.rsplit_once('}').map(|(group, _)| group)),
        None => (tree.split(" as ").next().unwrap_or(tree), None),
    };
    let mut path = above.clone();
    let names = head.split("::").map(str::trim).filter(|name| !name.is_empty());
    path.extend(names.map(str::to_owned));
    let Some(group) = group else {
        if path.len() > 1 && path.last().is_some_and(|name| name == "self") {
            path.pop();
        }
        return found(path);
    };
    let (mut depth, mut begin) = (0, 0);
    for (at, character) in group.char_indices().chain([(group.len(), ',')]) {
        match character {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                if !group[begin..at].trim().is_empty() {
                    expand(&group[begin..at], &path, found);
                }
                begin = at + 1;
            }
            _ => {}
        }
    }
}

/// The paths in a line that begin with `crate`, `super` or `self`.
fn inline(line: &str) -> Vec<Module> {
    let is_word = |character: char| character.is_alphanumeric() || character == '_' || character == ':';
    line.split(|character| !is_word(character))
        .map(|word| word.trim_end_matches(':'))
        .filter(|word| {
            ["crate::", "super::", "self::"]
                .iter()
                .any(|begin| word.starts_with(begin))
        })
        .map(|word| word.split("::").map(str::to_owned).collect())
        .collect()
}

mod checker {
    use super::*;

    fn files(texts: &[(&str, &str)]) -> Vec<(String, String)> {
        let owned = |(path, text): &(&str, &str)| (format!("crates/flow/a/src/{path}.rs"), (*text).to_owned());
        texts.iter().map(owned).collect()
    }

    #[test]
    fn refuses_folders_with_many_files() {
        let many: Vec<(String, String)> = (0..=MAX_FILES)
            .map(|n| (format!("crates/flow/a/src/room/{n}.rs"), String::new()))
            .collect();
        assert_eq!(faults(&many), ["crates/flow/a: 21 files in src/room, 20 at most"]);
        assert!(faults(&many[1..]).is_empty());
    }

    #[test]
    fn refuses_files_that_need_each_other() {
        let told = ["crates/flow/a: 4 files need each other, 3 at most: a.rs b.rs c.rs room/d.rs"];
        let circle = |last: &str| {
            faults(&files(&[
                (
                    "lib",
                    "mod a;\n#[cfg(test)]\nmod b;\nmod c;\nmod room;\npub use b::B;\n",
                ),
                ("a", "use super::B;\n"),
                ("b", "use std::fmt;\nuse crate::{\n    c::{self, C},\n};\n"),
                ("c", "fn c() {\n    super::room::d()\n}\n"),
                ("room/mod", "mod d;\npub(crate) use d::d;\n"),
                ("room/d", last),
            ]))
        };
        assert_eq!(circle("pub fn d(_: crate::a::A) {}\n"), told);
        assert_eq!(circle("use crate::a;\n"), told);
        assert!(circle("// crate::a::A\n").is_empty());
        assert!(circle("#[cfg(test)]\n#[allow(x)]\nmod tests {\n    use crate::a::A;\n}\n").is_empty());
        assert!(circle("use crate::d::a;\nuse super::super::x::a;\n").is_empty());
    }
}
