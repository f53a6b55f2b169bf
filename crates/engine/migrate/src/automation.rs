//! `ImageUpdateAutomation` of v1alpha1: its fields move (ImageUpdateAutomation v1beta1, *Migrating from
//! v1alpha1*; IUA-111 to IUA-116).
//!
//! `sourceRef` replaces `checkout`; `git` replaces `commit`, with `checkout`, `commit` and `push` in it. Lines keep
//! their comments, and are reindented.

use super::automation_flow::{Braces, author_field, quoted_like};
use super::lines::{
    Change, Region, changed, comments_moved, distance, line_break, line_end, moved, region, shares, spaces,
};
use super::outcome::Reason;
use super::planned::{Object, ObjectError, Planned, unbound};
use bumpwright_api::Place;
use bumpwright_api::tree::{Entry, Node};
use bumpwright_text::Parts;

/// The version whose fields move.
pub(super) const OLDEST: &str = "v1alpha1";

/// Fields of `spec` that only [`OLDEST`] has.
const OLD: [&str; 3] = ["checkout", "commit", "push"];

/// The fields of mappings of v1alpha1 (image-automation-controller, api/v1alpha1).
const FIELDS: [(&str, &[&str]); 4] = [
    ("checkout", &["gitRepositoryRef", "branch"]),
    ("checkout gitRepositoryRef", &["name"]),
    (
        "commit",
        &["authorName", "authorEmail", "messageTemplate", "signingKey"],
    ),
    ("push", &["branch"]),
];

/// Whether there are fields to move.
pub(super) fn has_old_fields(spec: &Node) -> bool {
    OLD.iter().any(|field| spec.entry(field).is_some())
}

/// Refuses objects with fields that their version does not have.
pub(super) fn check(object: &Object<'_>) -> Result<(), ObjectError> {
    let Some(spec) = object.node.get("spec") else {
        return Ok(());
    };
    if object.version != OLDEST {
        let entry = OLD.iter().find_map(|field| spec.entry(field));
        return entry.map_or(Ok(()), |entry| Err(unknown(object, entry, "spec")));
    }
    let Some(old) = OLD.iter().find_map(|field| spec.entry(field)) else {
        return Ok(());
    };
    if let Some(new) = ["sourceRef", "git"].iter().find_map(|field| spec.entry(field)) {
        let name = |entry: &Entry| format!("spec.{}", entry.name());
        return Err((new.key.place, Reason::Mixed(name(old), name(new))));
    }
    for field in OLD {
        spec.get(field)
            .map_or(Ok(()), |node| unbound(node, &format!("spec.{field}")))?;
    }
    FIELDS
        .iter()
        .try_for_each(|(path, fields)| known(object, spec, path, fields))
}

/// Checks that the mapping at a path below `spec` has only these fields.
fn known(object: &Object<'_>, spec: &Node, path: &str, fields: &[&str]) -> Result<(), ObjectError> {
    let Some(node) = path.split(' ').try_fold(spec, Node::get) else {
        return Ok(());
    };
    let name = format!("spec.{}", path.replace(' ', "."));
    if node.entries().is_empty() {
        return Err((node.place, Reason::Shape(name, "a mapping with fields")));
    }
    let other = node.entries().iter().find(|entry| !fields.contains(&entry.name()));
    other.map_or(Ok(()), |entry| Err(unknown(object, entry, &name)))
}

fn unknown(object: &Object<'_>, entry: &Entry, parent: &str) -> ObjectError {
    let field = format!("{parent}.{}", entry.name());
    let version = object.version.to_owned();
    (entry.key.place, Reason::Unknown { field, version })
}

/// Notes about differences to Flux's own controllers in v1 (docs/decisions.md C31, C32).
pub(super) fn notes(object: &Object<'_>, planned: &mut Planned) {
    let at = |path: &str| path.split(' ').try_fold(object.node, Node::get);
    for path in ["spec git commit messageTemplate", "spec commit messageTemplate"] {
        let Some(template) = at(path) else { continue };
        if template.text().is_some_and(|text| text.contains(".Updated")) {
            planned.note(
                template.place,
                "the message template uses .Updated, which is kept: bumpwright renders it, Flux's own v1 asks for .Changed",
            );
        }
    }
    if let Some(refspec) = at("spec git push refspec")
        && at("spec git push branch").is_none()
        && object.version != "v1beta2"
    {
        planned.note(
            refspec.place,
            "push.refspec without push.branch: bumpwright pushes the refspec alone, Flux's own v1 also pushes the checkout branch",
        );
    }
}

/// Records the moves of fields; `plain` when new values are not quoted.
pub(super) fn moves(object: &Object<'_>, spec: &Node, plain: bool, planned: &mut Planned) {
    for (from, to) in [
        ("spec checkout gitRepositoryRef", "spec sourceRef"),
        ("spec checkout branch", "spec git checkout ref branch"),
        ("spec commit", "spec git commit"),
        ("spec commit authorName", "spec git commit author name"),
        ("spec commit authorEmail", "spec git commit author email"),
        ("spec push", "spec git push"),
    ] {
        planned.moves.to(object.at(from), object.at(to));
    }
    if spec
        .get("checkout")
        .is_some_and(|checkout| checkout.entry("gitRepositoryRef").is_some())
    {
        planned
            .moves
            .add(object.at("spec sourceRef kind"), "GitRepository", plain);
    }
}

/// The indentation of a `spec`.
struct Layout<'a> {
    text: &'a str,
    spec: &'a Node,
    /// The column of the fields of `spec`.
    column: usize,
    /// The indentation of a level.
    unit: usize,
    newline: &'static str,
}

/// Plans the edits for a `spec` in block style.
pub(super) fn rewrite(object: &Object<'_>, spec: &Node, planned: &mut Planned) -> Result<(), ObjectError> {
    let column = spec.column();
    let parent = object.node.entry("spec").map_or(0, |entry| entry.key.column());
    let layout = Layout {
        text: object.text,
        spec,
        column,
        unit: column.checked_sub(parent).filter(|unit| *unit > 0).unwrap_or(2),
        newline: line_break(object.text, spec.span.start),
    };
    moves(object, spec, true, planned);
    let [checkout, commit, push] = [
        layout.region("checkout")?,
        layout.region("commit")?,
        layout.region("push")?,
    ];
    let (source, checked_out) = match &checkout {
        Some(region) => layout.checkout(region)?,
        None => Default::default(),
    };
    let mut git = checked_out;
    if let Some(region) = &commit {
        git.push_str(&layout.commit(region)?);
    }
    if let Some(region) = &push {
        git.push_str(&layout.deeper(region, &[]));
    }
    if !git.is_empty() {
        git = format!("{}git:{}{git}", spaces(column), layout.newline);
    }
    let mut places: Vec<(&Region, String)> = Vec::new();
    if let Some(region) = &checkout {
        places.push((region, source));
    }
    for region in [&commit, &push].into_iter().flatten() {
        places.push((region, std::mem::take(&mut git)));
    }
    if let Some((_, text)) = places.first_mut() {
        // Neither commit nor push: everything was in checkout.
        text.push_str(&git);
    }
    planned
        .edits
        .extend(places.into_iter().map(|(region, text)| layout.edit(region, text)));
    Ok(())
}

impl Layout<'_> {
    fn region(&self, field: &str) -> Result<Option<Region>, ObjectError> {
        let Some(entry) = self.spec.entry(field) else {
            return Ok(None);
        };
        match region(self.text, self.spec, field) {
            Some(region) if entry.key.column() == self.column => Ok(Some(region)),
            _ => Err(refuse(entry.key.place, field)),
        }
    }

    /// The indentation of a number of levels, in columns.
    fn by(&self, levels: usize) -> isize {
        distance(0, levels * self.unit)
    }

    /// A line that opens a mapping a number of levels below `spec`.
    fn opening(&self, levels: usize, key: &str) -> String {
        format!("{}{key}:{}", spaces(self.column + levels * self.unit), self.newline)
    }

    /// The change of a region. A file without a line break at its end keeps it so.
    fn edit(&self, region: &Region, mut new: String) -> Change {
        let old = self.text.part(region.all());
        if !old.ends_with('\n') && new.ends_with(self.newline) {
            new.truncate(new.len() - self.newline.len());
        }
        (region.all(), new)
    }

    /// `sourceRef` and `git.checkout`.
    fn checkout(&self, region: &Region) -> Result<(String, String), ObjectError> {
        let Some(entry) = self.spec.entry("checkout") else {
            return Ok(Default::default());
        };
        let map = &entry.node;
        if map.is_flow() {
            return self.flow_checkout(region, entry);
        }
        let shares = shares(self.text, map, region.end).ok_or_else(|| refuse(entry.key.place, "checkout"))?;
        let (mut source, mut branch) = (String::new(), String::new());
        for (child, lines) in map.entries().iter().zip(&shares) {
            if child.is("branch") {
                let delta = distance(map.column(), self.column + 3 * self.unit);
                branch = moved(self.text, lines.clone(), &[], delta);
            } else {
                let changes = self.source_ref(child)?;
                let lines = moved(self.text, lines.clone(), &changes, distance(map.column(), self.column));
                // Blank lines would become part of a block scalar above with `+`.
                source = lines.trim_start_matches(['\r', '\n']).to_owned();
            }
        }
        let opening = region.head..shares.first().map_or(region.end, |lines| lines.start);
        if branch.is_empty() {
            // The comments about checkout move to the rest of it.
            let comments = self.comments(region, &entry.key);
            return Ok((comments + &source, branch));
        }
        let checkout = moved(self.text, opening, &[], self.by(1));
        Ok((source, checkout + &self.opening(2, "ref") + &branch))
    }

    /// The lines of a field of `spec`, a level deeper.
    fn deeper(&self, region: &Region, changes: &[Change]) -> String {
        let comments = comments_moved(self.text, region.head..region.key, self.column, self.by(1));
        comments + &moved(self.text, region.key..region.end, changes, self.by(1))
    }

    /// The comment lines above a key, and the comment after it.
    fn comments(&self, region: &Region, key: &Node) -> String {
        let above = self.text.part(region.head..region.key).to_owned();
        let line = self.text.part(key.span.end..line_end(self.text, key.span.end));
        let behind = line.trim_start_matches([':', ' ']).trim_end();
        if behind.starts_with('#') {
            format!("{above}{}{behind}{}", spaces(self.column), self.newline)
        } else {
            above
        }
    }

    /// `gitRepositoryRef` gets its new name, and `kind` as its first field.
    fn source_ref(&self, entry: &Entry) -> Result<Vec<Change>, ObjectError> {
        let first = entry.node.entries().first();
        let first = first.ok_or_else(|| refuse(entry.key.place, "checkout.gitRepositoryRef"))?;
        let at = first.key.span.start;
        let kind = if entry.node.is_flow() {
            (at..at, "kind: GitRepository, ".to_owned())
        } else {
            let below = line_end(self.text, entry.key.span.end);
            let line = format!("{}kind: GitRepository{}", spaces(first.key.column()), self.newline);
            (below..below, line)
        };
        Ok(vec![(entry.key.span.clone(), "sourceRef".to_owned()), kind])
    }

    /// The same for a checkout in flow style.
    fn flow_checkout(&self, region: &Region, entry: &Entry) -> Result<(String, String), ObjectError> {
        let (mut source, mut branch) = (String::new(), String::new());
        for child in entry.node.entries() {
            let value = child.key.span.start..child.node.span.end;
            if child.is("branch") {
                branch = changed(self.text, value, &[]);
            } else {
                let text = changed(self.text, value, &self.source_ref(child)?);
                let tail = if entry.node.entry("branch").is_none() {
                    self.text.part(entry.node.span.end..region.end)
                } else {
                    self.newline
                };
                source = format!("{}{text}{tail}", spaces(self.column));
            }
        }
        let written = self.text.part(entry.node.span.clone());
        if written.contains('\n') {
            return Err(refuse(entry.key.place, "checkout"));
        }
        if branch.is_empty() {
            return Ok((self.comments(region, &entry.key) + &source, branch));
        }
        let change = vec![(entry.node.span.clone(), format!("{{ref: {{{branch}}}}}"))];
        Ok((source, moved(self.text, region.all(), &change, self.by(1))))
    }

    /// `git.commit`, with an `author`.
    fn commit(&self, region: &Region) -> Result<String, ObjectError> {
        let Some(entry) = self.spec.entry("commit") else {
            return Ok(String::new());
        };
        let changes = if entry.node.is_flow() {
            Some(Braces::of(self.text, &entry.node, self.unit).author(&entry.node))
        } else {
            self.author(&entry.node, region.end)
        };
        let changes = changes.ok_or_else(|| refuse(entry.key.place, "commit"))?;
        Ok(self.deeper(region, &changes))
    }

    /// `authorName` and `authorEmail` become `author` at the place of the first of them.
    fn author(&self, commit: &Node, end: usize) -> Option<Vec<Change>> {
        let shares = shares(self.text, commit, end)?;
        let mut lines = Vec::new();
        let mut changes: Vec<Change> = Vec::new();
        for (entry, share) in commit.entries().iter().zip(shares) {
            let Some(name) = author_field(entry) else { continue };
            let rename = [(entry.key.span.clone(), quoted_like(self.text, entry, name))];
            lines.push(moved(self.text, share.clone(), &rename, self.by(1)));
            changes.push((share, String::new()));
        }
        if let Some((_, first)) = changes.first_mut() {
            *first = format!("{}author:{}{}", spaces(commit.column()), self.newline, lines.concat());
        }
        Some(changes)
    }
}

fn refuse(place: Place, field: &str) -> ObjectError {
    (place, Reason::Layout(format!("spec.{field}")))
}
