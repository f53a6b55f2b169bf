//! `Kustomization` of v1beta1 and v1beta2: fields that v1 does not have any more.
//!
//! `validation` is removed (docs/decisions.md C05: the server validates every apply). `patchesStrategicMerge` and
//! `patchesJson6902` become `patches` (C10), in the order in which kustomize applies them: merges, `patches`, JSON
//! patches. An inline object becomes the text that v1 requires: the same bytes after `|-`, reindented.

use super::lines::{
    Change, Region, before, distance, line_break, line_end, line_start, moved, moved_below, region, spaces,
};
use super::outcome::Reason;
use super::planned::{Object, ObjectError, Planned, drop_field, unbound};
use bumpwright_api::tree::{Entry, Node};

const MERGES: &str = "patchesStrategicMerge";
const PATCHES: &str = "patches";
const JSON_PATCHES: &str = "patchesJson6902";

/// Plans the edits of a Kustomization.
pub(super) fn rewrite(object: &Object<'_>, planned: &mut Planned) -> Result<(), ObjectError> {
    let Some(spec) = object.node.get("spec") else {
        return Ok(());
    };
    kube_config(object, spec)?;
    if let Some(entry) = spec.entry("validation") {
        if entry.node.text() == Some("none") {
            let why = "spec.validation is none, and v1 validates always; remove the field if that is right";
            return Err((entry.key.place, Reason::Meaning(why.to_owned())));
        }
        let why = "v1 always has the server validate, before anything is applied";
        drop_field(object, spec, "validation", why, planned)?;
    }
    if spec.entry(MERGES).is_some() || spec.entry(JSON_PATCHES).is_some() {
        patches(object, spec, planned)?;
    }
    Ok(())
}

/// C02: v1beta1 ignores the account when there is a kubeConfig, v1 acts as it in the other cluster.
fn kube_config(object: &Object<'_>, spec: &Node) -> Result<(), ObjectError> {
    match spec.entry("serviceAccountName") {
        Some(account) if object.version == "v1beta1" && spec.entry("kubeConfig").is_some() => {
            let why = "v1beta1 ignores spec.serviceAccountName beside spec.kubeConfig, v1 acts as that account in the other \
                       cluster; remove it, or write the object as v1 by hand if the account is there";
            Err((account.key.place, Reason::Meaning(why.to_owned())))
        }
        _ => Ok(()),
    }
}

/// A list of patches in `spec`.
struct List<'a> {
    entry: &'a Entry,
    region: Region,
    /// The column of its dashes.
    column: usize,
}

struct Layout<'a> {
    text: &'a str,
    unit: usize,
    newline: &'static str,
}

fn patches(object: &Object<'_>, spec: &Node, planned: &mut Planned) -> Result<(), ObjectError> {
    let parent = object.node.entry("spec").map_or(0, |entry| entry.key.column());
    let layout = Layout {
        text: object.text,
        unit: spec.column().checked_sub(parent).filter(|unit| *unit > 0).unwrap_or(2),
        newline: line_break(object.text, spec.span.start),
    };
    let mut lists = Vec::new();
    for field in [MERGES, PATCHES, JSON_PATCHES] {
        if let Some(entry) = spec.entry(field) {
            lists.push(layout.list(spec, entry)?);
        }
    }
    let host = lists.iter().find(|list| list.entry.is(PATCHES)).or(lists.first());
    let Some(host) = host else { return Ok(()) };
    let (mut items, mut count) = (String::new(), 0);
    for list in &lists {
        let changes = layout.changes(object, list, count, planned)?;
        let start = line_end(object.text, list.region.key);
        let is_host = std::ptr::eq(list, host);
        if !is_host {
            // The comments about a list move to its items.
            let above = list.region.head..list.region.key;
            items.push_str(&moved(
                object.text,
                above,
                &[],
                distance(list.entry.key.column(), host.column),
            ));
            planned.edits.push((list.region.all(), String::new()));
        }
        let body = moved(
            object.text,
            start..list.region.end,
            &changes,
            distance(list.column, host.column),
        );
        items.push_str(&body);
        count += list.entry.node.items().len();
    }
    let key = &host.entry.key;
    let name = if key.span.len() > host.entry.name().len() {
        "\"patches\""
    } else {
        PATCHES
    };
    planned.edits.push((key.span.clone(), name.to_owned()));
    let start = line_end(object.text, host.region.key);
    planned.edits.push((start..host.region.end, items));
    Ok(())
}

impl Layout<'_> {
    fn list<'a>(&self, spec: &Node, entry: &'a Entry) -> Result<List<'a>, ObjectError> {
        let name = format!("spec.{}", entry.name());
        let refuse = || (entry.key.place, Reason::Layout(name.clone()));
        unbound(&entry.node, &name)?;
        let first = entry.node.items().first().ok_or_else(refuse)?;
        let region = region(self.text, spec, entry.name()).ok_or_else(refuse)?;
        let behind = self
            .text
            .get(entry.key.span.end + 1..line_end(self.text, entry.key.span.end));
        let is_alone = behind.is_some_and(|behind| behind.trim().is_empty());
        if entry.node.is_flow() || spec.is_flow() || !is_alone && !entry.is(PATCHES) {
            return Err(refuse());
        }
        let dash = before(self.text, first.span.start).find('-').ok_or_else(refuse)?;
        Ok(List {
            entry,
            region,
            column: dash,
        })
    }

    /// The changes of the items of a list, which become items of `patches` from index `count` on.
    fn changes(
        &self,
        object: &Object<'_>,
        list: &List<'_>,
        count: usize,
        planned: &mut Planned,
    ) -> Result<Vec<Change>, ObjectError> {
        let name = list.entry.name();
        let mut changes = Vec::new();
        for (n, item) in list.entry.node.items().iter().enumerate() {
            let from = object.at(&format!("spec {name} {n}"));
            let to = object.at(&format!("spec {PATCHES} {}", n + count));
            let refuse = || (item.place, Reason::Layout(format!("spec.{name}[{n}]")));
            if name == PATCHES {
                planned.moves.to(from, to);
            } else if name == MERGES {
                planned.moves.text_at(from, [to, vec!["patch".to_owned()]].concat());
                self.no_marker(item)?;
                changes.extend(self.merge(list, item).ok_or_else(refuse)?);
            } else {
                let patch = item.entry("patch").ok_or_else(refuse)?;
                let text = vec!["patch".to_owned()];
                planned
                    .moves
                    .text_at([from.clone(), text.clone()].concat(), [to.clone(), text].concat());
                planned.moves.to(from, to);
                self.no_marker(&patch.node)?;
                literal_target(item)?;
                changes.extend(self.operations(item, patch).ok_or_else(refuse)?);
            }
        }
        if name == JSON_PATCHES {
            planned.note(
                list.entry.key.place,
                "kustomize applies patchesJson6902 after names, namespaces and labels are set, patches before that; and a \
                 target without group meant the core group only: compare the result of a build",
            );
        }
        Ok(changes)
    }

    /// Refuses a marker, which would have no effect inside text.
    fn no_marker(&self, node: &Node) -> Result<(), ObjectError> {
        let lines = line_start(self.text, node.span.start)..line_end(self.text, node.span.end);
        if self.text.get(lines).is_some_and(|text| text.contains("$imagepolicy")) {
            Err((
                node.place,
                Reason::Meaning(
                    "v1 has this patch as text, in which an image marker marks nothing; move the patch to a file of its own"
                        .to_owned(),
                ),
            ))
        } else {
            Ok(())
        }
    }

    /// Rewrites `- apiVersion: …` as `- patch: |-` and the object as text.
    fn merge(&self, list: &List<'_>, item: &Node) -> Option<Vec<Change>> {
        let first = item.entries().first()?;
        if item.is_flow() {
            return None;
        }
        let start = first.key.span.start;
        before(self.text, start)
            .trim_start()
            .strip_prefix('-')?
            .trim()
            .is_empty()
            .then_some(())?;
        let column = list.column + 2 + self.unit;
        let end = self.last_line(item);
        let lines = moved(self.text, start..end, &[], 0);
        let opening = format!("patch: |-{}{}", self.newline, spaces(column));
        let text = moved_below(&lines, distance(item.column(), column));
        Some(vec![(start..end, opening + &text)])
    }

    /// Rewrites `patch:` and its operations as `patch: |-` and the operations as text.
    fn operations(&self, item: &Node, patch: &Entry) -> Option<Vec<Change>> {
        let first = patch.node.items().first()?;
        if item.is_flow() || patch.node.is_flow() {
            return None;
        }
        let colon = patch.key.span.end..patch.key.span.end + 1;
        let start = line_end(self.text, patch.key.span.end);
        let end = self.last_line(&patch.node);
        let dash = before(self.text, first.span.start).find('-')?;
        let column = patch.key.column() + self.unit;
        let lines = moved(self.text, start..end, &[], distance(dash, column));
        Some(vec![(colon, ": |-".to_owned()), (start..end, lines)])
    }

    /// The offset after the last line of a node.
    fn last_line(&self, node: &Node) -> usize {
        line_end(self.text, node.span.end)
    }
}

/// Checks the name of a target, which is literal; in `patches` it is a regular expression, in which a
/// dot is any character.
fn literal_target(item: &Node) -> Result<(), ObjectError> {
    let Some(target) = item.get("target") else {
        return Ok(());
    };
    let odd = |node: &&Node| {
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
        node.text().is_some_and(|text| !text.chars().all(plain))
    };
    let fields = ["name", "namespace"].into_iter().filter_map(|field| target.get(field));
    match fields.into_iter().find(odd) {
        Some(node) => Err((
            node.place,
            Reason::Meaning(
                "a target of patchesJson6902 has a name, one of patches a regular expression, which this name would be; write \
                 the patch by hand"
                    .to_owned(),
            ),
        )),
        None => Ok(()),
    }
}
