//! Where the marker of a value goes: into a comment that the format reads as one and that leaves the value what it is.
//!
//! Behind a value it stands where that is safe. In Makefiles the blanks before it would belong to the value, in INI and
//! `.env` some readers take it for a part of the value, and Dockerfiles and properties have no such comments: there it
//! is on the line above.

use super::reader::{Comment, Found, State, Value};
use super::{json, reader};
use crate::cut::OUTSIDE;
use crate::file::{Format, OTHER_LIMIT};
use crate::lines::{Line, Lines};
use crate::marking::MarkError;
use crate::model::Setter;

/// A value that may have a marker.
#[derive(Debug)]
pub(crate) struct Spot {
    /// Where it begins, with quotes.
    pub(crate) at: usize,
    /// Where its text begins.
    pub(crate) start: usize,
    pub(crate) text: String,
    /// Where its marker goes, or why it can have none.
    pub(crate) put: Result<Put, &'static str>,
}

/// A place for a marker.
#[derive(Debug)]
pub(crate) struct Put {
    /// Where it is put.
    pub(crate) at: usize,
    before: String,
    after: String,
    /// Whether it is in a text with quotes.
    is_quoted: bool,
}

impl Put {
    /// What is put there.
    pub(crate) fn written(&self, setter: &Setter) -> String {
        let marker = format!("{{\"$imagepolicy\": \"{setter}\"}}");
        let marker = if self.is_quoted {
            marker.replace('"', "\\\"")
        } else {
            marker
        };
        format!("{}{marker}{}", self.before, self.after)
    }
}

/// The values of a file in this format, in their order.
///
/// # Errors
/// The file does not parse, or is longer than what is searched.
pub(crate) fn spots(format: Format, text: &str) -> Result<Vec<Spot>, MarkError> {
    if text.len() > OTHER_LIMIT {
        return Err(MarkError::TooLarge(text.len()));
    }
    let Some(read) = reader(format) else {
        return of_json(text);
    };
    let parts = read(text);
    let placer = Placer {
        format,
        text,
        lines: Lines::of(text),
        found: &parts,
    };
    let spots: Option<_> = parts.values.iter().map(|value| placer.spot(value)).collect();
    spots.ok_or(MarkError::Outside)
}

struct Placer<'a> {
    format: Format,
    text: &'a str,
    lines: Lines<'a>,
    found: &'a Found,
}

impl<'a> Placer<'a> {
    fn spot(&self, value: &Value) -> Option<Spot> {
        Some(Spot {
            at: value.at,
            start: value.span.start,
            text: self.text.get(value.span.clone())?.to_owned(),
            put: match value.state {
                State::Whole => self.put(value),
                State::Interpolated => Err("its value is computed: mark the place where its parts are written"),
                State::Other(why) => Err(why),
            },
        })
    }

    fn put(&self, value: &Value) -> Result<Put, &'static str> {
        let line = self.lines.number(value.span.start);
        if self.has_neighbours(line) {
            return Err("several values are on its line: write each on its own");
        }
        let end = value.span.end + (value.span.start - value.at);
        let content = self.lines.line(line).ok_or(OUTSIDE)?;
        let content_end = content.start + content.text.len();
        // A value of several lines ends on another one.
        let rest = if end <= content_end {
            self.text.get(end..content_end).ok_or(OUTSIDE)?
        } else {
            ""
        };
        let is_free = !rest.ends_with([' ', '\t']) && !self.has_comment(content.start, content_end);
        if let Some((before, after)) = self.behind(rest).filter(|_| is_free) {
            let (before, after) = (before.to_owned(), after.to_owned());
            return Ok(Put {
                at: content_end,
                before,
                after,
                is_quoted: false,
            });
        }
        self.above(line)
    }

    /// Whether there are several values on a line.
    fn has_neighbours(&self, line: usize) -> bool {
        let values = &self.found.values;
        let number = |value: &Value| self.lines.number(value.span.start);
        let first = values.partition_point(|value| number(value) < line);
        values.get(first + 1).is_some_and(|value| number(value) == line)
    }

    fn has_comment(&self, start: usize, end: usize) -> bool {
        let comments: &[Comment] = &self.found.comments;
        let next = comments.partition_point(|comment| comment.span.end <= start);
        comments.get(next).is_some_and(|comment| comment.span.start < end)
    }

    /// What begins and ends a comment at the end of the line, where one may be behind a value and this.
    fn behind(&self, rest: &str) -> Option<(&'static str, &'static str)> {
        match self.format {
            Format::Hcl | Format::Toml => {
                let is_end = rest.chars().all(|c| matches!(c, ' ' | '\t' | ',' | ']' | '}'));
                is_end.then_some((" # ", ""))
            }
            Format::Shell => rest.is_empty().then_some((" # ", "")),
            // What is rendered stays the same: the dashes take away the blanks beside them.
            Format::Template => match rest.trim() {
                "" | "}}" => Some((" {{- /* ", " */}}")),
                "-}}" => Some((" {{- /* ", " */ -}}")),
                _ => None,
            },
            Format::Docker | Format::Env | Format::Ini | Format::Json | Format::Make | Format::Properties => None,
        }
    }

    /// A line of its own before that of the value, as far in.
    fn above(&self, line: usize) -> Result<Put, &'static str> {
        let opener = match self.format {
            Format::Template => return Err("something follows on its line: write the value on a line of its own"),
            Format::Ini => self.opener_of_ini(),
            _ => "#",
        };
        if self.goes_on(line - 1) {
            return Err("the line above goes on here: write the value on a line of its own");
        }
        let content = self.lines.line(line).ok_or(OUTSIDE)?;
        let marked = content.text.strip_prefix('\u{feff}').filter(|_| content.start == 0);
        let text = marked.unwrap_or(content.text);
        let at = content.start + content.text.len() - text.len();
        let before = format!("{}{opener} ", indentation(text));
        let after = self.line_end(line).to_owned();
        Ok(Put {
            at,
            before,
            after,
            is_quoted: false,
        })
    }

    /// Whether a line continues on the next one, where no comment may be between them.
    fn goes_on(&self, line: usize) -> bool {
        let goes_on = |line: Line<'_>| (line.text.len() - line.text.trim_end_matches('\\').len()) % 2 == 1;
        let is_line = matches!(self.format, Format::Make | Format::Properties | Format::Shell);
        is_line && self.lines.line(line).is_some_and(goes_on)
    }

    /// What the file has already; with sections `;`, which their readers know, and else `#`.
    fn opener_of_ini(&self) -> &'static str {
        let first = self.found.comments.first();
        match first.and_then(|comment| self.text.as_bytes().get(comment.span.start)) {
            Some(b';') => ";",
            Some(_) => "#",
            None if self.text.lines().any(|line| line.trim_start().starts_with('[')) => ";",
            None => "#",
        }
    }

    /// The break of a line; of the last one that of the first one.
    fn line_end(&self, line: usize) -> &'a str {
        line_end(&self.lines, line)
    }
}

fn line_end<'a>(lines: &Lines<'a>, line: usize) -> &'a str {
    let end = |line| Some(lines.line(line)?.line_break).filter(|end| !end.is_empty());
    end(line).or_else(|| end(1)).unwrap_or("\n")
}

fn indentation(line: &str) -> &str {
    let length = line.len() - line.trim_start_matches([' ', '\t']).len();
    line.split_at(length).0
}

fn of_json(text: &str) -> Result<Vec<Spot>, MarkError> {
    let lines = Lines::of(text);
    let members = json::members(text).map_err(|(at, why)| {
        let (line, column) = lines.place(at);
        MarkError::Json { line, column, why }
    })?;
    let spot = |member: json::Member| {
        let edge = usize::from(member.is_text);
        let inside = member.value.start + edge..member.value.end - edge;
        let inside = text.get(inside)?;
        let put = match &member.key {
            _ if !member.is_text => Err("it is not a string: put it in quotes"),
            None => Err("it is an item of a list: no member beside it can hold a marker"),
            Some(_) if inside.contains('\\') => Err("it is a text with escapes: write it without"),
            Some(_) if member.has_neighbour => Err("a member with // before its name is beside it: take that away"),
            Some(key) => Ok(beside(text, &lines, key)?),
        };
        Some(Spot {
            at: member.value.start,
            start: member.value.start + edge,
            text: inside.to_owned(),
            put,
        })
    };
    let spots: Option<_> = members.into_iter().map(spot).collect();
    spots.ok_or(MarkError::Outside)
}

/// A member before the one with this key, on a line of its own if that has one.
fn beside(text: &str, lines: &Lines<'_>, key: &std::ops::Range<usize>) -> Option<Put> {
    let name = text.get(key.start + 1..key.end)?;
    let between = if lines.is_first_on_its_line(key.start) {
        let line = lines.number(key.start);
        let content = lines.line(line)?.text;
        format!(
            "{}{}",
            line_end(lines, line),
            indentation(content.trim_start_matches('\u{feff}'))
        )
    } else {
        " ".to_owned()
    };
    Some(Put {
        at: key.start,
        before: format!("\"//{name}: \""),
        after: format!("\",{between}"),
        is_quoted: true,
    })
}
