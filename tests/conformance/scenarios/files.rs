//! Files written by the controller and by us: the same values, whatever the format.

use std::collections::{BTreeMap, BTreeSet};

use super::yaml_tree::{Meaning, Node, Scalar, meaning, parse};

/// docs/decisions.md, *new value's type*.
pub const TYPE: &str = "new value's type";
/// docs/decisions.md, *`:digest` without a digest*.
pub const DIGEST: &str = ":digest without a digest";

/// The hunks of one file of a unified diff: first line from 1, lines with their sign.
pub struct Patch<'a> {
    hunks: Vec<(usize, Vec<&'a str>)>,
}

/// Takes a diff apart, by the path of the new file.
pub fn patches<'a>(lines: &[&'a str]) -> BTreeMap<String, Patch<'a>> {
    let mut out: BTreeMap<String, Patch<'a>> = BTreeMap::new();
    let mut path = String::new();
    let mut in_hunk = false;
    for line in lines {
        if line.starts_with("diff --git ") {
            in_hunk = false;
        } else if let Some(name) = line.strip_prefix("+++ ").filter(|_| !in_hunk) {
            let name = name.trim_end_matches('\t').trim_matches('"');
            path = name.strip_prefix("b/").unwrap_or(name).to_owned();
            out.insert(path.clone(), Patch { hunks: Vec::new() });
        } else if let Some(range) = line.strip_prefix("@@ -") {
            in_hunk = true;
            let start = range.split([',', ' ']).next().unwrap().parse().unwrap();
            out.get_mut(&path).unwrap().hunks.push((start, Vec::new()));
        } else if in_hunk {
            out.get_mut(&path).unwrap().hunks.last_mut().unwrap().1.push(line);
        }
    }
    out
}

impl Patch<'_> {
    /// The file that the patch makes of `old`.
    pub fn apply(&self, old: &str) -> String {
        let old: Vec<&str> = old.split_inclusive('\n').collect();
        let (mut out, mut next) = (String::new(), 0);
        for (start, lines) in &self.hunks {
            let start = start.saturating_sub(1);
            out.extend(old[next..start].iter().copied());
            next = start;
            let mut last_was_new = false;
            for line in lines {
                let (sign, text) = line.split_at(line.len().min(1));
                match sign {
                    " " => {
                        assert_eq!(old[next].trim_end_matches('\n'), text, "the diff is of another file");
                        out.push_str(old[next]);
                        next += 1;
                    }
                    "-" => {
                        assert_eq!(old[next].trim_end_matches('\n'), text, "the diff is of another file");
                        next += 1;
                    }
                    "+" => {
                        out.push_str(text);
                        out.push('\n');
                    }
                    // `\ No newline at end of file`
                    "\\" if last_was_new => drop(out.pop()),
                    _ => {}
                }
                last_was_new = sign == "+";
            }
        }
        out.extend(old[next..].iter().copied());
        out
    }
}

/// Fails when the bytes differ anywhere but in scalars whose line has a marker.
pub fn only_marked(old: &[u8], new: &[u8]) -> Result<(), String> {
    let lines = |bytes: &[u8]| -> Vec<String> {
        bytes
            .split_inclusive(|byte| *byte == b'\n')
            .map(|line| String::from_utf8_lossy(line).into_owned())
            .collect()
    };
    let (old, new) = (lines(old), lines(new));
    let (mut o, mut n) = (0, 0);
    while o < old.len() || n < new.len() {
        let (Some(before), Some(after)) = (old.get(o), new.get(n)) else {
            return Err("the number of lines differs".to_owned());
        };
        if before == after {
            (o, n) = (o + 1, n + 1);
            continue;
        }
        // A scalar over several lines has its marker behind the last of them.
        let end =
            |lines: &[String], from: usize| lines[from..].iter().position(|line| line.contains("\"$imagepolicy\""));
        let (Some(more), Some(fewer)) = (end(&old, o), end(&new, n)) else {
            return Err(format!("{before:?} became {after:?}, without a marker"));
        };
        let comment = |line: &str| line[line.rfind("\"$imagepolicy\"").unwrap()..].to_owned();
        if comment(&old[o + more]) != comment(&new[n + fewer]) || more > 3 {
            return Err(format!("{before:?} became {after:?}"));
        }
        (o, n) = (o + more + 1, n + fewer + 1);
    }
    Ok(())
}

/// Compares what two files mean; gives the decisions that explain what differs, or what differs without one.
/// `old` is the file that both started from.
pub fn compare(old: Option<&str>, theirs: &str, mine: &str) -> Result<BTreeSet<&'static str>, Vec<String>> {
    if theirs == mine {
        return Ok(BTreeSet::new());
    }
    let read = |text: &str| parse(text.trim_start_matches('\u{feff}'));
    let (theirs, mine) = match (read(theirs), read(mine)) {
        (Ok(theirs), Ok(mine)) => (theirs, mine),
        (theirs, mine) => return Err(vec![format!("unreadable: {:?}, {:?}", theirs.err(), mine.err())]),
    };
    let old = old.and_then(|old| read(old).ok());
    let mut walk = Walk::default();
    walk.list("", old.as_deref(), &theirs, &mine);
    if walk.differences.is_empty() {
        Ok(walk.decisions)
    } else {
        Err(walk.differences)
    }
}

#[derive(Default)]
struct Walk {
    decisions: BTreeSet<&'static str>,
    differences: Vec<String>,
}

impl Walk {
    fn list(&mut self, path: &str, old: Option<&[Node]>, theirs: &[Node], mine: &[Node]) {
        if theirs.len() != mine.len() {
            self.differences
                .push(format!("{path}: {} items became {}", theirs.len(), mine.len()));
        }
        for (n, (theirs, mine)) in theirs.iter().zip(mine).enumerate() {
            self.node(&format!("{path}[{n}]"), old.and_then(|old| old.get(n)), theirs, mine);
        }
    }

    fn node(&mut self, path: &str, old: Option<&Node>, theirs: &Node, mine: &Node) {
        match (theirs, mine) {
            (Node::Scalar(theirs), Node::Scalar(mine)) => self.scalar(path, old, theirs, mine),
            (Node::List(theirs), Node::List(mine)) => {
                let old = match old {
                    Some(Node::List(items)) => Some(items.as_slice()),
                    _ => None,
                };
                self.list(path, old, theirs, mine);
            }
            (Node::Map(theirs), Node::Map(mine)) => {
                let old = match old {
                    Some(Node::Map(entries)) => kept(entries),
                    _ => Vec::new(),
                };
                let (theirs, mine) = (kept(theirs), kept(mine));
                if theirs.len() != mine.len() {
                    self.differences
                        .push(format!("{path}: {} entries became {}", theirs.len(), mine.len()));
                }
                for (n, ((key, theirs), (own_key, mine))) in theirs.into_iter().zip(mine).enumerate() {
                    let path = match key {
                        Node::Scalar(key) => format!("{path}.{}", key.text),
                        _ => format!("{path}.?"),
                    };
                    self.node(&format!("{path} (key)"), None, key, own_key);
                    self.node(&path, old.get(n).map(|(_, node)| *node), theirs, mine);
                }
            }
            _ => self.differences.push(format!("{path}: {theirs:?} became {mine:?}")),
        }
    }

    fn scalar(&mut self, path: &str, old: Option<&Node>, theirs: &Scalar, mine: &Scalar) {
        if theirs.text == mine.text && read_as(theirs) == read_as(mine) {
            return;
        }
        let untouched = matches!(old, Some(Node::Scalar(old)) if old == mine);
        // An old number's tag before a text: our value is the plain text.
        let mistagged = theirs.tag.is_some() && read_as(theirs) != meaning(&theirs.text);
        if theirs.text.is_empty() && untouched {
            self.decisions.insert(DIGEST);
        } else if mistagged && theirs.text == mine.text && read_as(mine) == Meaning::Text {
            self.decisions.insert(TYPE);
        } else {
            self.differences.push(format!("{path}: {theirs:?} became {mine:?}"));
        }
    }
}

/// The entries without an empty `metadata`, which kyaml leaves out.
fn kept(entries: &[(Node, Node)]) -> Vec<(&Node, &Node)> {
    let empty = |key: &Node, node: &Node| {
        matches!(key, Node::Scalar(key) if key.text == "metadata")
            && matches!(node, Node::Map(entries) if entries.is_empty())
    };
    entries
        .iter()
        .filter(|(key, node)| !empty(key, node))
        .map(|(key, node)| (key, node))
        .collect()
}

/// What a scalar is read as, its tag heeded.
fn read_as(scalar: &Scalar) -> Meaning {
    match scalar.tag.as_deref() {
        Some("int" | "float") => Meaning::Number,
        Some("bool") => Meaning::Bool,
        Some("null") => Meaning::Null,
        Some("timestamp") => Meaning::Date,
        _ => scalar.meaning,
    }
}
