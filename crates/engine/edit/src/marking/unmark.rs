//! Takes markers away.

use std::collections::BTreeMap;
use std::ops::Range;

use super::{LeftField, MarkError, Marking, Remarked};
use crate::edits::planned::{Edit, Plan};
use crate::edits::splice::splice;
use crate::file::{FileKind, Format};
use crate::find::marker;
use crate::find::scan::scan;
use crate::formats;
use crate::lines::Lines;
use crate::model::Setter;
use crate::site::Site;
use bumpwright_policy::PolicyName;

/// Takes markers away: those of a policy, or all. A comment that is a line of its own goes with its line; a member of
/// JSON with its comma.
///
/// # Errors
/// Two markers share bytes.
pub fn unmark(kind: FileKind, text: &str, policy: Option<&PolicyName>) -> Result<Marking, MarkError> {
    unmark_if(kind, text, |site| {
        policy.is_none_or(|policy| *policy == site.setter.policy)
    })
}

/// Takes those markers away that are meant, as [`unmark`].
///
/// # Errors
/// Two markers share bytes.
pub fn unmark_if(kind: FileKind, text: &str, is_meant: impl Fn(&Site) -> bool) -> Result<Marking, MarkError> {
    let lines = Lines::of(text);
    let mut marking = Marking::default();
    let mut removed: BTreeMap<usize, Edit> = BTreeMap::new();
    let members = match kind {
        FileKind::Text(Format::Json) => formats::marker_members(text),
        _ => BTreeMap::new(),
    };
    let sites = scan(kind, text.as_bytes()).sites.into_iter();
    for site in sites.filter(is_meant) {
        let last = lines.number(site.span.end.saturating_sub(1).max(site.span.start));
        let places = [site.line, last, site.line.saturating_sub(1)];
        let mut comments = places
            .into_iter()
            .filter_map(|line| comment_of(text, &lines, line, &site.setter));
        let member = members.get(&site.span.start).cloned();
        let comment = member.or_else(|| comments.next());
        let comment = comment.filter(|range| !removed.contains_key(&range.start));
        match comment.and_then(|span| Some((text.get(span.clone())?.to_owned(), span))) {
            Some((old, span)) => {
                let new = String::new();
                removed.insert(span.start, Edit { span, old, new });
                marking.changed.push(Remarked {
                    line: site.line,
                    column: site.column,
                    setter: site.setter,
                    value: site.value,
                });
            }
            None => marking.left.push(LeftField {
                line: site.line,
                column: site.column,
                why: "its marker is not alone on its line or behind the field",
            }),
        }
    }
    if !removed.is_empty() {
        let plan = Plan {
            edits: removed.into_values().collect(),
            ..Plan::default()
        };
        marking.new = Some(splice(text.as_bytes(), &plan)?);
    }
    Ok(marking)
}

/// The bytes of the comment with this marker on a line, with the blanks before it; all of the line if
/// it has nothing else.
fn comment_of(text: &str, lines: &Lines<'_>, line: usize, setter: &Setter) -> Option<Range<usize>> {
    let range = lines.range(line)?;
    let content = text.get(range.clone())?.trim_end_matches(['\n', '\r']);
    content.match_indices('{').find_map(|(at, _)| {
        let rest = content.get(at..)?;
        let (json, behind) = rest.split_at_checked(rest.find('}')? + 1)?;
        let is_it = marker::parse(json).is_ok_and(|found| found == *setter);
        let is_all = ["", "*/", "*/}}", "*/ -}}"].contains(&behind.trim());
        let before = before_comment(content.get(..at)?).filter(|_| is_it && is_all)?;
        Some(if before.is_empty() {
            range.clone()
        } else {
            range.start + before.len()..range.start + content.len()
        })
    })
}

/// What is before the beginning of a comment.
fn before_comment(text: &str) -> Option<&str> {
    let text = text.trim_end();
    let openers = ["{{- /*", "{{/*", "/*", "//", ";", "!"];
    let before = match text.trim_end_matches('#') {
        before if before.len() < text.len() => Some(before),
        _ => openers.into_iter().find_map(|opener| text.strip_suffix(opener)),
    };
    before.map(|before| before.trim_end_matches([' ', '\t']))
}
