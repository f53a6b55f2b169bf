//! The explanations: reasons are read from their texts (`# GROUP`, an introduction, and a `## CODE` for each), findings
//! are the rules of their crate.

use bumpwright_findings::Rule;
use bumpwright_text::Cuts;

/// The texts in the order of the list.
const TEXTS: [&str; 10] = [
    include_str!("texts/skips.md"),
    include_str!("texts/every_kind.md"),
    include_str!("texts/image_policy.md"),
    include_str!("texts/image_repository.md"),
    include_str!("texts/image_update_automation.md"),
    include_str!("texts/sources.md"),
    include_str!("texts/kustomization.md"),
    include_str!("texts/conditions.md"),
    include_str!("texts/verdicts.md"),
    include_str!("texts/webhooks.md"),
];

/// Codes that are said in the same place.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) title: &'static str,
    /// May be empty.
    pub(super) introduction: &'static str,
    sections: Vec<Section>,
}

/// The explanation of a code.
#[derive(Debug)]
pub(super) struct Section {
    pub(super) code: &'static str,
    /// Where it is said: kinds, conditions, events.
    pub(super) place: &'static str,
    pub(super) summary: &'static str,
    /// Everything after the summary: causes, and what to do.
    pub(super) rest: &'static str,
}

impl Group {
    pub(super) fn sections(&self) -> impl Iterator<Item = &Section> {
        self.sections.iter()
    }

    fn of_rules() -> Self {
        Self {
            title: "Findings",
            introduction: "",
            sections: Rule::ALL.iter().map(|rule| Section::of_rule(*rule)).collect(),
        }
    }

    fn read(text: &'static str) -> Self {
        let (title, introduction) = cut(text.before("\n## "));
        let parts = text.split("\n## ").skip(1);
        Self {
            title: title.trim_start_matches("# "),
            introduction,
            sections: parts.map(Section::read).collect(),
        }
    }
}

impl Section {
    fn of_rule(rule: Rule) -> Self {
        Self {
            code: rule.id(),
            place: "`fleet check`",
            summary: rule.sentence(),
            rest: rule.explanation(),
        }
    }

    fn read(text: &'static str) -> Self {
        let (code, text) = cut(text);
        let (place, text) = cut(text);
        let (summary, rest) = cut(text);
        Self {
            code,
            place: place.trim_start_matches("Where: "),
            summary,
            rest,
        }
    }

    /// The first sentence, in one line.
    pub(super) fn sentence(&self) -> String {
        let text = self.summary.replace('\n', " ");
        match text.split_once(". ") {
            Some((first, _)) => format!("{first}."),
            None => text,
        }
    }
}

pub(super) fn all() -> Vec<Group> {
    let mut groups = of_reasons();
    groups.push(Group::of_rules());
    groups
}

/// The groups of docs/reference/reasons.md. Findings have a page of their own.
pub(super) fn of_reasons() -> Vec<Group> {
    TEXTS.into_iter().map(Group::read).collect()
}

/// The first paragraph, and the others.
fn cut(text: &'static str) -> (&'static str, &'static str) {
    let (first, rest) = text.split_once("\n\n").unwrap_or((text, ""));
    (first.trim(), rest.trim_end())
}
