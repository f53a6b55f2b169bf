//! Differences as a page of its own: no script, nothing fetched.

use bumpwright_diff::{Field, field_to_text};
use bumpwright_pages::RenderError;
use bumpwright_pages::report::{Block, Cell, Report, Section, Tone};

use super::{FleetDiff, KustomizationDiff, ObjectChange, ObjectDiff, Presence};

pub(super) fn render(diffs: &[FleetDiff], version: &str) -> Result<String, RenderError> {
    let report = Report {
        title: "bumpwright fleet diff".to_owned(),
        version: version.to_owned(),
        sections: diffs.iter().map(section).collect(),
    };
    report.html()
}

pub(super) fn section(diff: &FleetDiff) -> Section {
    let counts = match diff.summary().as_str() {
        "nothing differs" => "Nothing differs.".to_owned(),
        summary => format!("{summary}."),
    };
    let kustomizations = diff.kustomizations.iter().map(kustomization);
    Section {
        title: diff.title(),
        blocks: std::iter::once(Block::text(counts)).chain(kustomizations).collect(),
    }
}

fn kustomization(one: &KustomizationDiff) -> Block {
    let line = Cell::text(format!("{}, {}", one.title(), one.words()));
    let line = match one.presence {
        Presence::Added => line.badge("added", Tone::Good),
        Presence::Removed => line.badge("removed", Tone::Bad),
        Presence::Both => line.badge("changed", Tone::Warn),
    };
    let [before, after] = &one.problems;
    let problems = [(before, "could not be built"), (after, "cannot be built")]
        .into_iter()
        .filter_map(|(problem, words)| Some(Block::Text(Cell::text(problem.clone()?).badge(words, Tone::Bad))));
    let rows: Vec<Vec<Cell>> = one.objects.iter().map(object).collect();
    let table = (!rows.is_empty()).then(|| Block::Table(vec!["Change", "Object", "Fields", "Place"], rows));
    let notes = one.notes.iter().map(|note| Block::text(format!("Note: {note}")));
    Block::Folded(line, problems.chain(table).chain(notes).collect())
}

fn object(one: &ObjectDiff) -> Vec<Cell> {
    let none: &[Field] = &[];
    let (change, note, fields) = match &one.change {
        ObjectChange::Added => (("added", Tone::Good), String::new(), none),
        ObjectChange::Removed => (("removed", Tone::Bad), String::new(), none),
        ObjectChange::Changed(fields) => (("changed", Tone::Warn), String::new(), fields.as_slice()),
        ObjectChange::Moved { from, fields } => (("moved", Tone::Busy), format!("from {from}"), fields.as_slice()),
    };
    let fields: Vec<String> = fields.iter().map(field_to_text).collect();
    vec![
        Cell::text(note).badge(change.0, change.1),
        Cell::text(one.object.to_string()),
        Cell::code(fields.join("\n")),
        Cell::code(one.origin.clone().unwrap_or_default()),
    ]
}
