//! Markers in files that are not YAML: the comments and values of each format, and which marker is on which value.
//!
//! A reader of a format (`hcl`, `docker`, …) finds comments and values by the format's own lexical rules; here they are
//! put together. A marker is on the only value of its line, or, alone on a line, on the only value of the next one.

mod assignments;
mod beside;
mod docker;
mod hcl;
mod hcl_tree;
mod json;
mod properties;
mod put;
mod reader;
mod shell;
mod template;
mod toml;
mod toml_tree;
mod valued;
mod values;

use std::collections::BTreeSet;

use assignments::Dialect;
use reader::{Comment, Found, State, Value};

use super::cut::OUTSIDE;
use super::file::{Format, keys};
use super::find::marker;
use super::lines::Lines;
use super::model::{Reason, Setter};
use super::site::Site;
use crate::scanned::{LocalSkip, Scan};
use bumpwright_text::Parts;

pub(super) use json::markers as marker_members;
pub(super) use put::{Put, Spot, spots};
pub(super) use values::choose;

/// The markers of a file in this format.
pub(super) fn scan(format: Format, text: &str) -> Scan {
    let scan = match reader(format) {
        Some(read) => Binder::new((format, read), text, &read(text)).bind(),
        None => json::scan(text),
    };
    beside::complete(text, scan)
}

/// The reader of a format with comments.
fn reader(format: Format) -> Option<Read> {
    Some(match format {
        Format::Docker => docker::read,
        Format::Env => |text| assignments::read(text, Dialect::Env),
        Format::Hcl => hcl::read,
        Format::Ini => |text| assignments::read(text, Dialect::Ini),
        Format::Json => return None,
        Format::Make => |text| assignments::read(text, Dialect::Make),
        Format::Properties => properties::read,
        Format::Shell => shell::read,
        Format::Template => template::read,
        Format::Toml => toml::read,
    })
}

/// A reader of a format.
type Read = fn(&str) -> Found;

/// Whether comments of the format are on lines of their own only.
fn is_above_only(format: Format) -> bool {
    matches!(format, Format::Docker | Format::Properties)
}

/// The text of a comment, without what it may begin with several times.
fn body<'a>(text: &'a str, comment: &Comment) -> &'a str {
    let body = text.part(comment.body.clone());
    body.trim_start_matches(['#', '/', ';', '!', '*'])
}

struct Binder<'a> {
    read: Read,
    is_above_only: bool,
    text: &'a str,
    lines: Lines<'a>,
    found: &'a Found,
    marked: BTreeSet<usize>,
    scan: Scan,
}

impl<'a> Binder<'a> {
    fn new((format, read): (Format, Read), text: &'a str, found: &'a Found) -> Self {
        Self {
            read,
            is_above_only: is_above_only(format),
            text,
            lines: Lines::of(text),
            found,
            marked: BTreeSet::new(),
            scan: Scan::default(),
        }
    }

    fn bind(mut self) -> Scan {
        let comments = &self.found.comments;
        let text = self.text;
        for comment in comments.iter().filter(|comment| marker::mentions(body(text, comment))) {
            if let Err((reason, message)) = self.comment(comment) {
                self.skip(comment.span.start, reason, message);
            }
        }
        for at in keys(self.text.as_bytes(), b"\"'") {
            let before = comments.partition_point(|comment| comment.span.start <= at);
            let comment = before.checked_sub(1).and_then(|last| comments.get(last));
            if !comment.is_some_and(|comment| comment.span.contains(&at)) {
                let message = format!("there is no comment here; {}", self.way_out());
                self.skip(at, Reason::NotAScalar, message);
            }
        }
        self.scan.sites.sort_by_key(|site| site.span.start);
        self.scan.skips.sort_by_key(|skip| (skip.line, skip.column));
        self.scan.sites.shrink_to_fit();
        self.scan.skips.shrink_to_fit();
        self.scan
    }

    fn comment(&mut self, comment: &Comment) -> Result<(), (Reason, String)> {
        let body = body(self.text, comment);
        let setter = match marker::parse(body) {
            Ok(setter) => setter,
            Err(_) if self.is_commented_out(body) => {
                let message = "the field is commented out with its marker".to_owned();
                return Err((Reason::Commented, message));
            }
            Err(_) if self.lines.is_first_on_its_line(comment.span.start) && marker::is_prose(body, None) => {
                return Ok(());
            }
            Err(why) => return Err((Reason::MalformedMarker, why.to_string())),
        };
        let value = self.value_of(comment, &setter)?;
        self.check(value, &setter)?;
        let place = self.lines.place(value.at);
        let site = Site::verbatim(setter, self.text, value.span.clone(), place);
        let outside = || (Reason::NotAScalar, OUTSIDE.to_owned());
        self.scan.sites.push(site.ok_or_else(outside)?);
        Ok(())
    }

    /// Whether the text of a comment is a field with a marker, were it none.
    fn is_commented_out(&self, body: &str) -> bool {
        let body = body.trim();
        let body_parts = (self.read)(body);
        let is_marker = |comment: &Comment| {
            (comment.span.start > 0 || self.is_above_only) && marker::parse(self::body(body, comment)).is_ok()
        };
        body_parts.comments.iter().any(is_marker)
    }

    fn value_of(&self, comment: &Comment, setter: &Setter) -> Result<&'a Value, (Reason, String)> {
        let is_above = self.lines.is_first_on_its_line(comment.span.start);
        let line = if is_above {
            self.lines.number(comment.span.end) + 1
        } else {
            self.lines.number(comment.span.start)
        };
        // Values are in their order, so those of a line are beside each other, and few are compared.
        let number = |value: &Value| self.lines.number(value.span.start);
        let values = &self.found.values;
        let first = values.partition_point(|value| number(value) < line);
        let is_there = |value: &&Value| number(value) == line && (is_above || value.span.end <= comment.span.start);
        let mut values = values.iter().skip(first).take_while(is_there);
        match (values.next(), values.next()) {
            (Some(value), None) => Ok(value),
            (None, _) => {
                let message = format!("the marker {setter} is not on a value; {}", self.way_out());
                Err((Reason::NotAScalar, message))
            }
            (Some(_), Some(_)) => {
                let message =
                    format!("the marker {setter} is on a line with several values; put each on a line of its own");
                Err((Reason::NotAScalar, message))
            }
        }
    }

    fn check(&mut self, value: &Value, setter: &Setter) -> Result<(), (Reason, String)> {
        match value.state {
            State::Whole => {}
            State::Interpolated => {
                let message =
                    format!("the value of the marker {setter} is computed; put the marker where its parts are written");
                return Err((Reason::Interpolated, message));
            }
            State::Other(why) => return Err((Reason::NotAScalar, format!("the marker {setter} is on {why}"))),
        }
        if self.marked.insert(value.span.start) {
            return Ok(());
        }
        let message = format!("the marker {setter} is the second one of its value; leave one");
        Err((Reason::MalformedMarker, message))
    }

    fn way_out(&self) -> &'static str {
        if self.is_above_only {
            "put it alone on the line above the value"
        } else {
            "put it behind the value, on the same line, or alone on the line above"
        }
    }

    fn skip(&mut self, at: usize, reason: Reason, message: String) {
        self.scan
            .skips
            .push(LocalSkip::new(self.lines.place(at), reason, message));
    }
}
