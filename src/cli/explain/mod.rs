//! `bumpwright explain`: the meaning of a reason or a finding, and what to do. The explanations are in `texts/`, a file
//! for each group, and in the `findings` crate; every reason has one (`tests/cli/explain.rs`).

pub mod args;
mod groups;
mod page;
mod text;

use std::collections::BTreeSet;
use std::process::ExitCode;

use serde_json::json;

use crate::cli::console;
use crate::cli::error::{Attempt as _, CliError};
use args::{Explain, Output};
use bumpwright_nearest::nearest;
use groups::{Group, Section};

/// The most suggestions for an unknown code.
const SUGGESTED: usize = 5;

/// The length of words that suggest a code: shorter ones, as *not*, are in many.
const SHORTEST: usize = 4;

#[must_use]
pub fn run(args: &Explain) -> ExitCode {
    console::end(explain(args))
}

/// Whether a code has an explanation.
pub(super) fn knows(code: &str) -> bool {
    find(&groups::all(), code).is_some()
}

fn explain(args: &Explain) -> Result<(), CliError> {
    let groups = groups::all();
    let text = match (&args.code, args.output) {
        (None, Output::Text) => text::list(&groups),
        (None, Output::Markdown) => page::render(&groups::of_reasons()),
        (None, Output::Json) => return print_json(sections(&groups)),
        (Some(code), output) => {
            let sections = find(&groups, code).ok_or_else(|| unknown(&groups, code))?;
            match output {
                Output::Text => text::explanations(&sections),
                Output::Markdown => page::explanations(&sections),
                Output::Json => return print_json(sections.into_iter()),
            }
        }
    };
    console::print_styled(&text).at("cannot print the explanation")
}

/// A document of explanations.
fn print_json<'g>(all: impl Iterator<Item = (&'g Group, &'g Section)>) -> Result<(), CliError> {
    let codes = all.map(|(group, section)| {
        let Section {
            code,
            place,
            summary,
            rest,
        } = section;
        json!({"code": code, "group": group.title, "where": place, "summary": summary, "more": rest})
    });
    let document = json!({"version": 1, "codes": codes.collect::<Vec<_>>()});
    console::print(format!("{document:#}\n").as_bytes()).at("cannot print the explanation")
}

/// The explanations of a code, one for each group that has it.
fn find<'g>(groups: &'g [Group], code: &str) -> Option<Vec<(&'g Group, &'g Section)>> {
    let matching: Vec<_> = sections(groups)
        .filter(|(_, section)| section.code.eq_ignore_ascii_case(code))
        .collect();
    (!matching.is_empty()).then_some(matching)
}

/// What to do about a reason, or what it means where nothing is to be done; none of one that is not known.
pub(super) fn advice(code: &str) -> Option<String> {
    let groups = groups::of_reasons();
    let (_, section) = sections(&groups).find(|(_, section)| section.code == code)?;
    let to_do = section
        .rest
        .split("\n\n")
        .find_map(|part| part.strip_prefix("What to do: "));
    Some(to_do.unwrap_or(section.summary).replace('\n', " "))
}

fn sections(groups: &[Group]) -> impl Iterator<Item = (&Group, &Section)> {
    groups
        .iter()
        .flat_map(|group| group.sections().map(move |section| (group, section)))
}

/// The codes that share most words with an unknown one, such as `ImageMissing` and `missing-image`.
fn with_words_of<'g>(code: &str, codes: impl Iterator<Item = &'g str>) -> Vec<&'g str> {
    let wanted = parts(code);
    let shared = |known: &str| parts(known).intersection(&wanted).count();
    let mut ranked: Vec<(usize, &str)> = codes.map(|known| (shared(known), known)).collect();
    ranked.sort_unstable_by(|(more, one), (less, other)| less.cmp(more).then(one.cmp(other)));
    ranked.dedup();
    let shared_words = ranked.iter().filter(|(count, _)| *count > 0);
    shared_words.take(SUGGESTED).map(|(_, known)| *known).collect()
}

/// The words of a code in lower case, without short ones.
fn parts(code: &str) -> BTreeSet<String> {
    let mut words = vec![String::new()];
    for c in code.chars() {
        if !c.is_alphanumeric() || c.is_uppercase() {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| c.is_alphanumeric()) {
            word.extend(c.to_lowercase());
        }
    }
    words.into_iter().filter(|word| word.len() >= SHORTEST).collect()
}

/// Codes that contain the unknown one are suggested, or else the nearest, or else those with its words.
fn unknown(groups: &[Group], code: &str) -> CliError {
    let lower = code.to_lowercase();
    let codes = || sections(groups).map(|(_, section)| section.code);
    let mut near: Vec<&str> = codes()
        .filter(|known| lower.len() > 2 && known.to_lowercase().contains(&lower))
        .collect();
    near.sort_unstable();
    near.dedup();
    near.truncate(SUGGESTED);
    if near.is_empty() {
        near.extend(nearest(code, codes()));
    }
    if near.is_empty() {
        near = with_words_of(code, codes());
    }
    let near = (!near.is_empty()).then(|| near.join(" or "));
    CliError::new(format!("there is no code {code:?}: `bumpwright explain` lists all")).meant(near.as_deref())
}
