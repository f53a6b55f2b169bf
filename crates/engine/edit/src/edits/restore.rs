//! Finds the marked fields of one content of a file in another, and gives them back what they held.

use std::collections::{BTreeMap, BTreeSet};

use imara_diff::{Algorithm, Diff, InternedInput};

use super::plan;
use super::planned::Edit;
use super::unified::lines;
use crate::model::{DocumentId, Setter};
use crate::scanned::Scan;
use crate::site::{Site, Spelling};

/// A content of a file, and what a scan of it found.
#[derive(Clone, Copy, Debug)]
pub struct Content<'a> {
    pub bytes: &'a [u8],
    /// Its marked fields; none when there are none.
    pub scan: Option<&'a Scan>,
}

impl<'a> Content<'a> {
    #[must_use]
    pub fn sites(self) -> &'a [Site] {
        self.scan.map_or(&[], |scan| scan.sites.as_slice())
    }
}

/// For each field of `from`, its index among those of `to`: the one of the same object whose line stayed, as a diff
/// has it. Those whose lines changed are paired in their order, if as many of the same object and with the same marker
/// are left in both.
#[must_use]
pub fn carried(from: Content<'_>, to: Content<'_>) -> Vec<Option<usize>> {
    let moved = kept_lines(from.bytes, to.bytes);
    let (before, after) = (from.sites(), to.sites());
    let mut taken = BTreeSet::new();
    let mut carried: Vec<Option<usize>> = Vec::with_capacity(before.len());
    for site in before {
        let line = site.line.checked_sub(1).and_then(|line| *moved.get(line)?);
        let is_alike = |other: &Site| other.setter == site.setter && other.object == site.object;
        // Objects may have changed their places; one may also have another name now.
        let stays = after.iter().any(is_alike);
        let is_it = |n: &usize, other: &Site| {
            line.is_some_and(|line| other.line == line + 1)
                && other.setter == site.setter
                && (!stays || other.object == site.object)
                && !taken.contains(n)
        };
        let found = after
            .iter()
            .enumerate()
            .find(|(n, other)| is_it(n, other))
            .map(|(n, _)| n);
        taken.extend(found);
        carried.push(found);
    }
    let mut left: BTreeMap<(&Setter, &DocumentId), Vec<usize>> = BTreeMap::new();
    for (n, site) in after.iter().enumerate().filter(|(n, _)| !taken.contains(n)) {
        left.entry((&site.setter, &site.object)).or_default().push(n);
    }
    let mut lost: BTreeMap<(&Setter, &DocumentId), Vec<&mut Option<usize>>> = BTreeMap::new();
    for (site, place) in before.iter().zip(&mut carried).filter(|(_, place)| place.is_none()) {
        lost.entry((&site.setter, &site.object)).or_default().push(place);
    }
    for (key, places) in lost {
        let Some(left) = left.get(&key).filter(|left| left.len() == places.len()) else {
            continue;
        };
        for (place, n) in places.into_iter().zip(left) {
            *place = Some(*n);
        }
    }
    carried
}

/// For each line of `old`, the line of `new` that it became; none where it was changed or removed. Lines count from 0.
fn kept_lines(old: &[u8], new: &[u8]) -> Vec<Option<usize>> {
    let input = InternedInput::new(lines(old), lines(new));
    let mut diff = Diff::compute(Algorithm::Histogram, &input);
    diff.postprocess_no_heuristic(&input);
    let mut lines = Vec::with_capacity(input.before.len());
    let mut after = 0;
    for hunk in diff.hunks() {
        while lines.len() < hunk.before.start as usize {
            lines.push(Some(after));
            after += 1;
        }
        lines.resize(hunk.before.end as usize, None);
        after = hunk.after.end as usize;
    }
    while lines.len() < input.before.len() {
        lines.push(Some(after));
        after += 1;
    }
    lines
}

/// The edits that give the field `site` of `now` what the field `was` of `then` holds: to the byte where its style is
/// still the one that was written last, `wrote`, or the same. None if it cannot be written there.
#[must_use]
pub fn restored(site: &Site, now: &[u8], was: &Site, then: &[u8], wrote: &Site) -> Vec<Edit> {
    let is_as_written = site.text == wrote.text && is_alike(site, wrote);
    if !is_as_written && !is_alike(site, was) {
        return plan::rewritten(site, &was.value);
    }
    let mut edits = Vec::new();
    if site.untag.is_none()
        && let Some((span, tag)) = &was.untag
        && let Some(gap) = head(was).checked_sub(span.end)
        && let Some(at) = head(site).checked_sub(gap)
        && now.get(at..head(site)) == then.get(span.end..head(was))
    {
        edits.push(Edit {
            span: at..at,
            old: String::new(),
            new: tag.clone(),
        });
    }
    if let (Spelling::Block(shape), Spelling::Block(before)) = (&site.spelling, &was.spelling)
        && shape.indicators_text != before.indicators_text
    {
        edits.push(Edit {
            span: shape.indicators.clone(),
            old: shape.indicators_text.clone(),
            new: before.indicators_text.clone(),
        });
    }
    edits.push(Edit {
        span: site.span.clone(),
        old: site.text.clone(),
        new: was.text.clone(),
    });
    edits
}

/// Where a tag or an anchor of the field ends.
fn head(site: &Site) -> usize {
    match &site.spelling {
        Spelling::Block(shape) => shape.indicators.start.saturating_sub(1),
        _ => site.span.start,
    }
}

/// Whether the text of one may stand in the place of the other.
fn is_alike(site: &Site, was: &Site) -> bool {
    let is_same_style = match (&site.spelling, &was.spelling) {
        (Spelling::Block(shape), Spelling::Block(before)) => shape.indent == before.indent,
        (one, other) => one == other,
    };
    let tag = |site: &Site| site.untag.as_ref().map(|(_, tag)| tag.clone());
    is_same_style && site.typed == was.typed && (site.untag.is_none() || tag(site) == tag(was))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;
    use crate::{FileKind, Plan, scan, splice};

    fn content<'a>(text: &'a str, scan: &'a Scan) -> Content<'a> {
        Content {
            bytes: text.as_bytes(),
            scan: Some(scan),
        }
    }

    fn of(text: &str) -> Scan {
        scan(FileKind::Yaml, text.as_bytes())
    }

    fn pairs(from: &str, to: &str) -> Vec<Option<usize>> {
        let (one, other) = (of(from), of(to));
        carried(content(from, &one), content(to, &other))
    }

    const MARKED: &str = "image: o/app:1 # {\"$imagepolicy\": \"fs:app\"}\n";

    #[test]
    fn a_field_is_found_by_its_line() {
        let one = format!("kind: A\n{MARKED}end: 1\n");
        assert_eq!(pairs(&one, &one), [Some(0)]);
        assert_eq!(pairs(&one, &format!("# more\n\n{one}")), [Some(0)]);
        let more = one.replace("kind: A\n", &format!("kind: A\ninit: {{}}\nfirst:\n  {MARKED}\n"));
        assert_eq!(pairs(&one, &more), [Some(1)]);
        assert_eq!(pairs(&more, &one), [None, Some(0)]);
        assert_eq!(pairs(&one, "kind: A\nend: 1\n"), [None]);
        // Its line changed.
        assert_eq!(pairs(&one, &one.replace("app:1", "app:2")), [Some(0)]);
    }

    #[test]
    fn documents_may_change_their_places() {
        let doc = |name: &str| format!("kind: A\nmetadata: {{name: {name}}}\n{MARKED}");
        let (a, b) = (doc("a"), doc("b"));
        assert_eq!(
            pairs(&format!("{a}---\n{b}"), &format!("{b}---\n{a}")),
            [Some(1), Some(0)]
        );
    }

    fn back(now: &str, then: &str, wrote: &str) -> String {
        let (site, was, wrote) = (of(now), of(then), of(wrote));
        let (site, was, wrote) = (&site.sites[0], &was.sites[0], &wrote.sites[0]);
        let edits = restored(site, now.as_bytes(), was, then.as_bytes(), wrote);
        let plan = Plan {
            edits,
            ..Plan::default()
        };
        String::from_utf8(splice(now.as_bytes(), &plan).unwrap()).unwrap()
    }

    #[test]
    fn what_a_field_held_comes_back_to_the_byte() {
        let marker = "# {\"$imagepolicy\": \"fs:app:tag\"}";
        for (then, now) in [
            ("1.0", "\"1.10\""),
            ("'1.0'", "'1.1'"),
            ("!!int 1", "\"2\""),
            ("&a !!int 1", "&a \"2\""),
            ("!!int &a 1", "&a \"2\""),
            ("!!str 1", "!!str 2"),
        ] {
            let [then, now] = [then, now].map(|value| format!("tag: {value} {marker}\r\nend: 1\r\n"));
            assert_eq!(back(&now, &then, &now), then);
        }
        let [then, now] = ["|\n  1.0", "|-\n  1.1"].map(|value| {
            let value = value.replacen('\n', &format!(" {marker}\n"), 1);
            format!("tag: {value}\nend: 1\n")
        });
        assert_eq!(back(&now, &then, &now), then);
        // Somebody has put it in quotes since.
        let [then, wrote, now] = ["v1", "v2", "\"v2\""].map(|value| format!("tag: {value} {marker}\n"));
        assert_eq!(back(&now, &then, &wrote), format!("tag: \"v1\" {marker}\n"));
    }
}
