//! Findings that somebody accepts: in `.bumpwright.yaml`, by an annotation of the object, or by a comment at the place.
//!
//! What accepts nothing is reported, and so is what names no rule or gives no reason: it would hide a fault that
//! nobody has looked at.

use std::collections::BTreeSet;

use serde_json::Value;

use super::cluster::{Cluster, fits, title};
use super::places::Part;
use crate::automation::markers::MarkedFile;
use crate::build::view::FleetObject;
use crate::source::each_file::each_file;
use crate::source::files::shown_folder;
use crate::source::repository::Repository;
use bumpwright_findings::{Acceptance, Finding, Place, Rule, Severity};
use bumpwright_json::Texts as _;
use bumpwright_nearest::nearest;
use bumpwright_rules::{Accepted, FILE, Rules};
use bumpwright_text::pointer::escaped;

/// Of an annotation, and of a comment.
const KEY: &str = "bumpwright.dev/accept";

/// A comment that accepts findings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AcceptingComment {
    /// Its own line.
    line: usize,
    column: usize,
    /// What comes after the key.
    text: String,
    /// The lines that it is for, both included.
    lines: (usize, usize),
}

/// The comments of a file that accept findings.
pub(crate) fn comments(bytes: &[u8]) -> Vec<AcceptingComment> {
    if memchr::memmem::find(bytes, KEY.as_bytes()).is_none() {
        return Vec::new();
    }
    let text = String::from_utf8_lossy(bytes);
    let lines: Vec<&str> = text.lines().collect();
    let comments = lines.iter().enumerate().filter_map(|(at, line)| {
        let (before, rest) = line.split_once(&format!("# {KEY}:"))?;
        let is_alone = before.trim().is_empty();
        // Within a text in quotes it is not a comment.
        let is_comment = is_alone || before.ends_with([' ', '\t']);
        let lines = if is_alone { below(&lines, at) } else { (at + 1, at + 1) };
        is_comment.then(|| AcceptingComment {
            line: at + 1,
            column: before.chars().count() + 1,
            text: rest.trim().to_owned(),
            lines,
        })
    });
    comments.collect()
}

/// The lines that a comment on a line of its own is for: the next one, or the whole document above which it stands.
fn below(lines: &[&str], comment: usize) -> (usize, usize) {
    let is_text =
        |line: &&str| !line.trim().is_empty() && !line.trim_start().starts_with('#') && !line.starts_with("---");
    let after = lines.iter().enumerate().skip(comment + 1);
    let Some((next, line)) = after.clone().find(|(_, line)| is_text(line)) else {
        return (comment + 1, comment + 1);
    };
    let begins_document = ["apiVersion:", "kind:"].iter().any(|start| line.starts_with(start))
        && lines
            .iter()
            .take(next)
            .rev()
            .take_while(|line| !line.starts_with("---"))
            .all(|line| !is_text(line));
    let end = if begins_document {
        after
            .skip_while(|(at, _)| *at <= next)
            .find(|(_, line)| line.starts_with("---"))
            .map_or(lines.len(), |(at, _)| at)
    } else {
        next + 1
    };
    (next + 1, end)
}

/// What accepts findings is not written as such.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
enum Unaccepted {
    #[error("it gives no reason: write RULE[, RULE]: REASON")]
    NoReason,
    #[error("{id:?} is not a rule{}", near.map_or(String::new(), |near| format!("; did you mean {near}?")))]
    NoRule { id: String, near: Option<&'static str> },
}

/// Rules, and the reason for which they are accepted: `schema, clear-text-secret: only for tests`.
fn parse(text: &str) -> Result<(Vec<Rule>, String), Unaccepted> {
    let (ids, reason) = text.split_once(':').unwrap_or((text, ""));
    let rules = ids
        .split(',')
        .map(|id| rule(id.trim()))
        .collect::<Result<Vec<Rule>, Unaccepted>>()?;
    match reason.trim() {
        "" => Err(Unaccepted::NoReason),
        reason => Ok((rules, reason.to_owned())),
    }
}

fn rule(id: &str) -> Result<Rule, Unaccepted> {
    let known_rule = Rule::ALL.iter().find(|rule| rule.id() == id);
    known_rule.copied().ok_or_else(|| Unaccepted::NoRule {
        id: id.to_owned(),
        near: nearest(id, Rule::ALL.iter().map(|rule| rule.id())),
    })
}

/// Accepts findings, and adds those about what accepts nothing.
pub(crate) fn apply(
    clusters: &[Cluster<'_>],
    marked: &[MarkedFile],
    repository: &dyn Repository,
    found: &mut Vec<Finding>,
) {
    let mut reports = Vec::new();
    by_annotations(clusters, found, &mut reports);
    for file in marked {
        file.acceptances
            .iter()
            .for_each(|comment| by_comment(file, comment, found, &mut reports));
    }
    by_rules(clusters, repository, found, &mut reports);
    found.append(&mut reports);
}

/// Accepts the findings for which a test holds; returns whether there are any.
fn accept(found: &mut [Finding], rules: &[Rule], acceptance: &Acceptance, is_for: impl Fn(&Finding) -> bool) -> bool {
    let mut any = false;
    for finding in found
        .iter_mut()
        .filter(|finding| rules.contains(&finding.rule) && is_for(finding))
    {
        any = true;
        finding.acceptance.get_or_insert_with(|| acceptance.clone());
    }
    any
}

fn wrong(message: &str, place: Option<Place>) -> Finding {
    let mut finding = Finding::new(Rule::UnmatchedAcceptance, message).severity(Severity::Error);
    finding.place = place;
    finding
}

/// That nothing of these rules is found; what is about a change is not there most of the time.
fn unmatched(rules: &[Rule], place: Option<Place>) -> Option<Finding> {
    if rules.iter().any(|rule| rule.is_about_a_change()) {
        return None;
    }
    let ids: Vec<&str> = rules.iter().map(|rule| rule.id()).collect();
    let mut finding = Finding::new(
        Rule::UnmatchedAcceptance,
        format!("nothing of {} is found here", ids.join(", ")),
    );
    finding.place = place;
    Some(finding)
}

fn by(place: Option<&Place>, reason: String, is_in_source: bool) -> Acceptance {
    let by = place.map_or_else(|| KEY.to_owned(), |place| format!("{}:{}", place.path, place.line));
    Acceptance {
        by,
        reason: Some(reason),
        is_in_source,
    }
}

fn by_annotations(clusters: &[Cluster<'_>], found: &mut [Finding], told: &mut Vec<Finding>) {
    let pointer = format!("/metadata/annotations/{}", escaped(KEY));
    for cluster in clusters {
        let entry = shown_folder(&cluster.fleet.entry);
        for (_, object) in cluster.objects() {
            let annotations = object.value.value_at("/metadata/annotations");
            let Some(value) = annotations.get(KEY).and_then(Value::as_str) else {
                continue;
            };
            let place = cluster.places.of(object, &pointer, Part::Key);
            match parse(value) {
                Err(error) => told.push(wrong(&error.to_string(), place)),
                Ok((rules, reason)) => {
                    let acceptance = by(place.as_ref(), reason, true);
                    let is_for = |finding: &Finding| {
                        let clusters = finding.origins.iter().filter_map(|origin| origin.cluster.as_deref());
                        is_about(finding, object) && clusters.into_iter().all(|cluster| cluster == entry)
                    };
                    if !accept(found, &rules, &acceptance, is_for) {
                        told.extend(unmatched(&rules, place));
                    }
                }
            }
        }
    }
}

fn is_about(finding: &Finding, object: &FleetObject) -> bool {
    finding.object.as_deref() == Some(title(&object.value).as_str())
}

fn by_comment(file: &MarkedFile, comment: &AcceptingComment, found: &mut [Finding], told: &mut Vec<Finding>) {
    let place = Place {
        path: file.path.clone(),
        line: comment.line,
        column: comment.column,
    };
    match parse(&comment.text) {
        Err(error) => told.push(wrong(&error.to_string(), Some(place))),
        Ok((rules, reason)) => {
            let acceptance = by(Some(&place), reason, true);
            let (first, last) = comment.lines;
            let is_for = |finding: &Finding| {
                let place = finding.place.as_ref().filter(|place| place.path == file.path);
                place.is_some_and(|place| (first..=last).contains(&place.line))
            };
            if !accept(found, &rules, &acceptance, is_for) {
                told.extend(unmatched(&rules, Some(place)));
            }
        }
    }
}

fn by_rules(clusters: &[Cluster<'_>], repository: &dyn Repository, found: &mut [Finding], told: &mut Vec<Finding>) {
    let tree = repository.tree();
    // What cannot be read is reported where the rules are checked, or here.
    let Ok(bytes) = tree.read(&format!("/{FILE}")) else {
        return;
    };
    let accepted = match Rules::read(FILE, &bytes) {
        Ok(rules) => rules.accepted().to_vec(),
        Err(error) if memchr::memmem::find(&bytes, b"accept").is_some() => {
            let message = format!("nothing is accepted: {}", error.message);
            let place = Place {
                path: FILE.to_owned(),
                line: error.line,
                column: error.column,
            };
            told.push(wrong(&message, Some(place)));
            return;
        }
        Err(_) => return,
    };
    let mut left = Vec::new();
    for entry in &accepted {
        let at = |line, column| Place {
            path: FILE.to_owned(),
            line,
            column,
        };
        let place = at(entry.line, entry.column);
        let mut rules = Vec::new();
        for (id, line, column) in &entry.rules {
            match rule(id) {
                Ok(rule) => rules.push(rule),
                Err(error) => told.push(wrong(&error.to_string(), Some(at(*line, *column)))),
            }
        }
        let acceptance = by(Some(&place), entry.reason.clone(), false);
        if !rules.is_empty() && !accept(found, &rules, &acceptance, |finding| is_entry_for(entry, finding)) {
            left.extend(unmatched(&rules, Some(place)).map(|finding| (entry, finding)));
        }
    }
    if left.is_empty() {
        return;
    }
    let clusters_seen = Seen::of(clusters, repository);
    told.extend(
        left.into_iter()
            .filter(|(entry, _)| clusters_seen.has(entry))
            .map(|(_, finding)| finding),
    );
}

fn is_entry_for(entry: &Accepted, finding: &Finding) -> bool {
    let in_file = || match &finding.place {
        Some(place) => entry.is_for(&place.path),
        None => entry.is_for_all_files(),
    };
    let of_object = || match (&entry.object, &finding.object) {
        (None, _) => true,
        (Some(wanted), Some(object)) => fits(wanted, object),
        (Some(_), None) => false,
    };
    in_file() && of_object()
}

/// What was checked: an entry for another cluster may still be needed.
struct Seen<'c> {
    /// Whether these are all clusters of the repository.
    is_all: bool,
    files: BTreeSet<&'c str>,
    objects: BTreeSet<String>,
    /// All files of the repository, when some were not read.
    others: BTreeSet<String>,
}

impl<'c> Seen<'c> {
    fn of(clusters: &[Cluster<'c>], repository: &dyn Repository) -> Self {
        let tree = repository.tree();
        let entries: BTreeSet<&str> = clusters.iter().map(|cluster| cluster.fleet.entry.as_str()).collect();
        let is_all = crate::build::entry::entries(&*tree)
            .iter()
            .all(|entry| entries.contains(entry.as_str()));
        let nodes = clusters.iter().flat_map(|cluster| &cluster.fleet.nodes);
        let products = nodes.filter_map(|node| node.product.as_ref().ok());
        let mut others = BTreeSet::new();
        if !is_all {
            each_file(&*tree, "/", &mut |path| {
                others.insert(path.to_owned());
                true
            });
        }
        Self {
            is_all,
            files: products.flat_map(|product| product.reads.paths()).collect(),
            objects: clusters
                .iter()
                .flat_map(Cluster::objects)
                .map(|(_, object)| title(&object.value))
                .collect(),
            others,
        }
    }

    /// Whether the object of an entry was checked, or does not exist.
    fn has(&self, entry: &Accepted) -> bool {
        let is_read = || self.files.iter().any(|file| entry.is_for(file));
        let is_elsewhere = || self.others.iter().any(|file| entry.is_for(file));
        let is_object = |wanted: &String| self.objects.iter().any(|object| fits(wanted, object));
        match &entry.object {
            _ if self.is_all => true,
            Some(wanted) => is_object(wanted),
            None => is_read() || !is_elsewhere(),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn comments_are_for_their_line_the_next_one_or_a_document() {
        let text = "---\n# bumpwright.dev/accept: schema: a\napiVersion: v1\nkind: A\n---\napiVersion: v1\nkind: B\nspec:\n  \
                    # bumpwright.dev/accept: schema, limit: b: c\n  # more\n  x: 1\n  y: 2 # bumpwright.dev/accept: schema: d\n  \
                    z: 'x# bumpwright.dev/accept: no'\n";
        let found = comments(text.as_bytes());
        let found: Vec<_> = found
            .iter()
            .map(|one| (one.line, one.lines, one.text.as_str()))
            .collect();
        assert_eq!(
            found,
            [
                (2, (3, 4), "schema: a"),
                (9, (11, 11), "schema, limit: b: c"),
                (12, (12, 12), "schema: d")
            ]
        );
    }

    #[test]
    fn an_acceptance_has_rules_and_a_reason() {
        assert_eq!(
            parse("schema, limit: b: c"),
            Ok((vec![Rule::Schema, Rule::Limit], "b: c".to_owned()))
        );
        assert_eq!(
            parse("schemas: x").unwrap_err().to_string(),
            "\"schemas\" is not a rule; did you mean schema?"
        );
        assert_eq!(
            parse("schema").unwrap_err().to_string(),
            "it gives no reason: write RULE[, RULE]: REASON"
        );
    }
}
