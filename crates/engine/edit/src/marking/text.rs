//! Markers on values of files that are not YAML: behind them, on the line above, or in a member beside them.

use std::collections::BTreeMap;

use super::{LeftField, MarkError, Marking, OTHER_POLICY, Remarked};
use crate::edits::plan::is_same_image;
use crate::edits::planned::{Edit, Plan};
use crate::edits::splice::splice;
use crate::file::FileKind;
use crate::find::scan::scan;
use crate::formats::{Put, Spot};
use crate::lines::Lines;
use crate::model::{Part, Setter};
use crate::scanned::Scan;
use bumpwright_policy::{LatestRef, PolicyName};

/// Marks the values that are references of an image, but those that have a marker.
pub(super) fn mark(
    kind: FileKind,
    text: &str,
    spots: &[Spot],
    image: &str,
    policy: &PolicyName,
) -> Result<Marking, MarkError> {
    let (policy, part) = (policy.clone(), Part::Reference);
    let setter = Setter { policy, part };
    let file = File::new(kind, text);
    let of_image = spots.iter().filter(|spot| {
        let (name, tag, digest) = LatestRef::split(&spot.text);
        (tag.is_some() || digest.is_some()) && is_same_image(name, image) && file.setter(spot).is_none()
    });
    let wanted: Vec<(&Spot, Setter)> = of_image.map(|spot| (spot, setter.clone())).collect();
    file.mark(&wanted)
}

/// Marks values, by the byte where each begins.
pub(super) fn mark_at(
    kind: FileKind,
    text: &str,
    spots: &[Spot],
    wanted: &BTreeMap<usize, Setter>,
) -> Result<Marking, MarkError> {
    let file = File::new(kind, text);
    let (mut places, mut left) = (Vec::new(), Vec::new());
    for (start, setter) in wanted {
        let spot = spots
            .binary_search_by_key(start, |spot| spot.at)
            .ok()
            .and_then(|n| spots.get(n));
        match spot.map(|spot| (spot, file.setter(spot))) {
            None => left.push(file.left(*start, "it holds nothing: write a value there")),
            Some((spot, None)) => places.push((spot, setter.clone())),
            Some((_, Some(known))) if known == setter => {}
            Some(_) => left.push(file.left(*start, OTHER_POLICY)),
        }
    }
    let mut marking = file.mark(&places)?;
    marking.left.extend(left);
    marking.left.sort_by_key(|field| (field.line, field.column));
    Ok(marking)
}

/// A file before it is marked.
struct File<'a> {
    kind: FileKind,
    text: &'a str,
    lines: Lines<'a>,
    known: Scan,
}

/// A marker and its place.
type Wanted<'a> = (&'a Spot, &'a Put, &'a Setter);

impl<'a> File<'a> {
    fn new(kind: FileKind, text: &'a str) -> Self {
        Self {
            kind,
            text,
            lines: Lines::of(text),
            known: scan(kind, text.as_bytes()),
        }
    }

    /// What the marker of a value says, if it has one.
    fn setter(&self, spot: &Spot) -> Option<&Setter> {
        let sites = &self.known.sites;
        let site = sites.binary_search_by_key(&spot.start, |site| site.span.start).ok()?;
        sites.get(site).map(|site| &site.setter)
    }

    fn left(&self, at: usize, why: &'static str) -> LeftField {
        let (line, column) = self.lines.place(at);
        LeftField { line, column, why }
    }

    /// Marks these values, which are in their order.
    fn mark(&self, wanted: &[(&Spot, Setter)]) -> Result<Marking, MarkError> {
        let mut marking = Marking::default();
        let mut puts: Vec<Wanted<'_>> = Vec::new();
        for (spot, setter) in wanted {
            match &spot.put {
                Ok(put) => puts.push((spot, put, setter)),
                Err(why) => marking.left.push(self.left(spot.at, why)),
            }
        }
        let read = self.those_read(&puts)?;
        for (spot, _, setter) in &puts {
            if read.iter().any(|(other, ..)| other.at == spot.at) {
                let (line, column) = self.lines.place(spot.at);
                marking.changed.push(Remarked {
                    line,
                    column,
                    setter: (*setter).clone(),
                    value: spot.text.clone(),
                });
            } else {
                let why = "a comment there would be read as something else: write the value on a line of its own";
                marking.left.push(self.left(spot.at, why));
            }
        }
        marking.left.sort_by_key(|field| (field.line, field.column));
        if read.is_empty() {
            return Ok(marking);
        }
        if !self.are_read(&read)? {
            return Err(MarkError::NoneRead);
        }
        marking.new = Some(self.with(&read)?);
        Ok(marking)
    }

    /// Those of the markers that are read where they are put. Mostly all are.
    fn those_read<'p>(&self, puts: &[Wanted<'p>]) -> Result<Vec<Wanted<'p>>, MarkError> {
        if puts.is_empty() || self.are_read(puts)? {
            return Ok(puts.to_vec());
        }
        match puts.split_at(puts.len() / 2) {
            ([], _) => Ok(Vec::new()),
            (some, others) => Ok([self.those_read(some)?, self.those_read(others)?].concat()),
        }
    }

    fn with(&self, puts: &[Wanted<'_>]) -> Result<Vec<u8>, MarkError> {
        let edits = puts.iter().map(|(_, put, setter)| Edit {
            span: put.at..put.at,
            old: String::new(),
            new: put.written(setter),
        });
        let mut plan = Plan {
            edits: edits.collect(),
            ..Plan::default()
        };
        plan.edits.sort_by_key(|edit| edit.span.start);
        Ok(splice(self.text.as_bytes(), &plan)?)
    }

    /// Whether a scan finds exactly the markers of before and these.
    fn are_read(&self, puts: &[Wanted<'_>]) -> Result<bool, MarkError> {
        let mut grown: BTreeMap<usize, usize> = BTreeMap::new();
        let mut total = 0;
        let mut by_place: Vec<(usize, usize)> = puts
            .iter()
            .map(|(_, put, setter)| (put.at, put.written(setter).len()))
            .collect();
        by_place.sort_unstable();
        for (at, length) in by_place {
            total += length;
            grown.insert(at, total);
        }
        let moved = |at: usize| at + grown.range(..=at).next_back().map_or(0, |(_, grown)| *grown);
        let before = self
            .known
            .sites
            .iter()
            .map(|site| (moved(site.span.start), site.setter.clone()));
        let new = puts
            .iter()
            .map(|(spot, _, setter)| (moved(spot.start), (*setter).clone()));
        let wanted: BTreeMap<usize, Setter> = before.chain(new).collect();
        let scanned = scan(self.kind, &self.with(puts)?);
        let same = scanned.sites.iter().map(|site| (&site.span.start, &site.setter));
        Ok(same.eq(&wanted) && scanned.skips.len() == self.known.skips.len())
    }
}
