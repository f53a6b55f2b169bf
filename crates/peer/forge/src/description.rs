//! The description of a pull request: the changes as a table and the commit message, in a block
//! between two hidden lines.
//!
//! The first of them has digests of our title and of the content, so that no other state is
//! needed: a title changed by people is recognised, and so is a closed pull request with the same
//! content. Text before and after the block belongs to people.

use sha2::{Digest, Sha256};

use super::WantedPullRequest;
use super::markdown::{code, fence};
use bumpwright_text::{Excerpt, Parts, between};

const BEGIN: &str = "<!-- bumpwright:begin ";
const END: &str = "<!-- bumpwright:end -->";
/// The most bytes of the list of what is bumped.
const LONGEST_SUMMARY: usize = 8_000;
const HEAD: &str = "| File | Object | Old | New | Policy |\n|---|---|---|---|---|\n";

/// The longest description, in bytes: GitHub's limit is 65,536 characters.
const LONGEST: usize = 60_000;
/// The bytes reserved for our block, whatever people have written.
const LEAST: usize = 4_000;
/// The longest text of one cell, in characters.
const LONGEST_CELL: usize = 300;
/// The longest message below the table, in bytes.
const LONGEST_MESSAGE: usize = 8_000;

/// A changed field, as a row of the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    pub path: String,
    /// The object of the field; may be empty.
    pub object: String,
    pub old: String,
    pub new: String,
    /// The policy that chose it.
    pub policy: String,
}

/// A digest of a pull request's changes, whatever its base.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Content(String);

impl Content {
    pub(super) fn of(changes: &[Row]) -> Self {
        let mut hash = Sha256::new();
        for row in changes {
            for part in [&row.path, &row.object, &row.old, &row.new, &row.policy] {
                hash.update(part.len().to_be_bytes());
                hash.update(part);
            }
        }
        Self(short(hash))
    }
}

/// The content digest in a description; none without our block.
pub(super) fn content_of(body: &str) -> Option<Content> {
    field(block(body)?.head, "changes=").map(Content)
}

/// The digest of what the request of this description was given; none where that is nothing.
pub(super) fn setup_of(body: &str) -> Option<String> {
    field(block(body)?.head, "setup=")
}

/// Whether `title` is our own of the pull request with this description, not changed by people.
pub(super) fn is_ours(title: &str, body: &str) -> bool {
    let given = block(body).and_then(|block| field(block.head, "title="));
    given.is_some_and(|given| given == digest(title))
}

/// Our block, before it is in a body.
pub(super) struct Description<'a> {
    wanted: &'a WantedPullRequest<'a>,
    title: &'a str,
    content: &'a Content,
    setup: Option<String>,
}

impl<'a> Description<'a> {
    pub(super) fn new(wanted: &'a WantedPullRequest<'a>, title: &'a str, content: &'a Content) -> Self {
        let setup = None;
        Self {
            wanted,
            title,
            content,
            setup,
        }
    }

    /// Of a request that was given this.
    pub(super) fn given(self, setup: Option<String>) -> Self {
        Self { setup, ..self }
    }

    /// The body with the block in place of an older one, or at its end.
    pub(super) fn into_body(self, old: &str) -> String {
        let (before, after) = match block(old) {
            Some(block) => (block.before, block.after),
            None => (old, ""),
        };
        let room = LONGEST.saturating_sub(before.len() + after.len()).max(LEAST);
        let block = self.render(room);
        let gap = if before.trim_end().is_empty() || before.ends_with("\n\n") || before.ends_with("\n\r\n") {
            ""
        } else if before.ends_with('\n') {
            "\n"
        } else {
            "\n\n"
        };
        format!("{before}{gap}{block}{after}")
    }

    fn render(&self, room: usize) -> String {
        let message = rest(self.wanted.message, LONGEST_MESSAGE.min(room / 4));
        let summary = section(self.wanted.summary, LONGEST_SUMMARY.min(room / 4));
        let section = section(self.wanted.section, room / 3);
        let fixed = 600 + message.len() + section.len() + summary.len();
        let rows = fitting(self.wanted.changes, room.saturating_sub(fixed));
        let gap = if summary.is_empty() { "" } else { "\n\n" };
        let headline = headline(self.wanted.changes);
        let mut text = format!("{summary}{gap}{headline}\n\n{HEAD}{}", rows.concat());
        let more = self.wanted.changes.len() - rows.len();
        if more > 0 {
            text += &format!("\nand {more} more\n");
        }
        if !section.is_empty() {
            text += &format!("\n{section}\n");
        }
        if !message.is_empty() {
            let fence = fence(&message);
            text += &format!("\n{fence}text\n{message}\n{fence}\n");
        }
        let (title, changes) = (digest(self.title), &self.content.0);
        let setup = between(" setup=", self.setup.as_ref(), "");
        format!(
            "{BEGIN}title={title} changes={changes}{setup} -->\n\n{}\n\n{END}\n",
            text.trim()
        )
    }
}

/// `3 fields in 2 files`.
fn headline(changes: &[Row]) -> String {
    let mut files: Vec<&str> = changes.iter().map(|row| row.path.as_str()).collect();
    files.sort_unstable();
    files.dedup();
    let count = |n: usize, noun: &str| format!("{n} {noun}{}", if n == 1 { "" } else { "s" });
    format!("{} in {}", count(changes.len(), "field"), count(files.len(), "file"))
}

/// The rows of the table that fit.
fn fitting(changes: &[Row], room: usize) -> Vec<String> {
    let mut left = room;
    let mut rows = Vec::new();
    for row in changes {
        let cells = [&row.path, &row.object, &row.old, &row.new, &row.policy].map(|text| cell(text));
        let line = format!("| {} |\n", cells.join(" | "));
        let Some(rest) = left.checked_sub(line.len()) else {
            break;
        };
        left = rest;
        rows.push(line);
    }
    rows
}

/// A cell as code, so that names do not become mentions, issues or links.
fn cell(text: &str) -> String {
    if text.is_empty() {
        return String::new();
    }
    format!("`{}`", code(&text.excerpt(LONGEST_CELL)))
}

/// The section, if it fits, with lines that look like ours escaped.
fn section(text: &str, longest: usize) -> String {
    let text = text.trim().replace("<!-- bumpwright:", "<!-- (bumpwright):");
    if text.len() <= longest { text } else { String::new() }
}

/// The message below its first line, truncated. Lines that look like ours are escaped.
fn rest(message: &str, longest: usize) -> String {
    let message = message.trim_start();
    let text = message.split_once('\n').map_or("", |(_, rest)| rest).trim();
    let cut = text.part(..text.floor_char_boundary(longest));
    let clean = cut.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t'));
    let mut out: String = clean.collect();
    out = out.replace("<!-- bumpwright:", "<!-- (bumpwright):");
    if cut.len() < text.len() {
        out.push('…');
    }
    out
}

/// A body around our block.
struct Block<'a> {
    before: &'a str,
    /// Its first line.
    head: &'a str,
    after: &'a str,
}

/// The first complete block. A first line without an end counts as text of people.
fn block(body: &str) -> Option<Block<'_>> {
    let (mut at, mut start) = (0, None);
    for line in body.split_inclusive('\n') {
        let next = at + line.len();
        let bare = line.trim_end();
        if bare.starts_with(BEGIN) {
            start = Some((at, bare));
        } else if let Some((from, head)) = start.filter(|_| bare == END) {
            return Some(Block {
                before: body.get(..from)?,
                head,
                after: body.get(next..)?,
            });
        }
        at = next;
    }
    None
}

/// The value of a field of the block's first line.
fn field(head: &str, name: &str) -> Option<String> {
    let mut words = head.split(' ');
    words.find_map(|word| word.strip_prefix(name)).map(str::to_owned)
}

fn digest(text: &str) -> String {
    short(Sha256::new_with_prefix(text.trim()))
}

pub(super) fn short(hash: Sha256) -> String {
    hash.finalize()
        .iter()
        .take(8)
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use bumpwright_api::PullRequestSetup;

    fn row(n: usize) -> Row {
        Row {
            path: format!("apps/{n}.yaml"),
            object: "Deployment shop/web".into(),
            old: "web:1".into(),
            new: "web:2".into(),
            policy: "fs/web".into(),
        }
    }

    fn body(changes: &[Row], message: &str, old: &str) -> String {
        let wanted = WantedPullRequest {
            head: "auto",
            base: "main",
            commit: "c",
            title: "Bump",
            message,
            changes,
            summary: "",
            section: "",
            setup: &PullRequestSetup::default(),
        };
        let content = Content::of(changes);
        Description::new(&wanted, "Bump", &content).into_body(old)
    }

    #[test]
    fn a_description_is_a_table_and_the_message() {
        let text = body(&[row(1)], "Bump\n\nFor @all:\n- web\n", "");
        let (_, inner) = text.split_once("-->\n\n").unwrap();
        assert_eq!(
            inner,
            "1 field in 1 file\n\n\
             | File | Object | Old | New | Policy |\n|---|---|---|---|---|\n\
             | `apps/1.yaml` | `Deployment shop/web` | `web:1` | `web:2` | `fs/web` |\n\n\
             ```text\nFor @all:\n- web\n```\n\n<!-- bumpwright:end -->\n"
        );
        assert!(!body(&[row(1)], "Bump", "").contains("```"));
    }

    #[test]
    fn what_people_write_around_the_block_stays() {
        let first = body(&[row(1)], "Bump", "");
        let edited = format!("Please look, Ada.\n\n{first}\nOK for me.\n");
        let second = body(&[row(1), row(2)], "Bump", &edited);
        assert!(
            second.starts_with("Please look, Ada.\n\n<!-- bumpwright:begin "),
            "{second}"
        );
        assert!(second.ends_with("<!-- bumpwright:end -->\n\nOK for me.\n"), "{second}");
        assert_eq!(second.matches(END).count(), 1);
        assert!(second.contains("apps/2.yaml"));
        // Without a block it is appended.
        let third = body(&[row(1)], "Bump", "By hand.");
        assert!(third.starts_with("By hand.\n\n<!-- bumpwright:begin "), "{third}");
        assert_eq!(body(&[row(1)], "Bump", &third), third);
    }

    #[test]
    fn a_beginning_without_an_end_is_text() {
        let first = body(&[row(1)], "Bump", "<!-- bumpwright:begin broken\nWords.");
        assert!(first.starts_with("<!-- bumpwright:begin broken\nWords.\n\n"));
        assert_eq!(body(&[row(1)], "Bump", &first), first);
    }

    #[test]
    fn web_forms_end_lines_differently() {
        let first = body(&[row(1)], "Bump", "").replace('\n', "\r\n");
        assert_eq!(content_of(&first), Some(Content::of(&[row(1)])));
        assert!(is_ours(" Bump", &first) && !is_ours("WIP: Bump", &first));
        assert!(!is_ours("Bump", "no block"));
    }

    #[test]
    fn a_message_cannot_end_the_block_or_its_fence() {
        let text = body(&[row(1)], &format!("Bump\n\n```\n{END}\nx"), "");
        assert_eq!(text.matches(END).count(), 1);
        assert!(
            text.contains("````text\n```\n<!-- (bumpwright):end -->\nx\n````"),
            "{text}"
        );
    }

    #[test]
    fn a_long_table_is_cut() {
        let rows: Vec<Row> = (0..5_000).map(row).collect();
        let text = body(&rows, &format!("Bump\n\n{}", "word ".repeat(9_000)), "Words of people.");
        assert!(text.len() <= LONGEST && text.len() > LONGEST / 2, "{}", text.len());
        let shown = text.matches("Deployment").count();
        assert!(text.contains(&format!("and {} more", 5_000 - shown)), "{shown}");
        assert!(text.contains("5000 fields in 5000 files") && text.contains('…'));
        let crowded = body(&rows, "Bump", &"x".repeat(LONGEST));
        assert!(crowded.len() < LONGEST + LEAST);
    }

    #[test]
    fn a_huge_value_does_not_hide_the_others() {
        let mut first = row(1);
        first.old = "ü".repeat(70_000);
        let text = body(&[first, row(2)], "Bump", "");
        assert!(text.contains("ü…`") && text.contains("apps/2.yaml"));
    }

    #[test]
    fn what_is_asked_for_has_a_digest() {
        let other = Row {
            new: "web:3".into(),
            ..row(1)
        };
        assert_ne!(Content::of(&[row(1)]), Content::of(&[other]));
        assert_ne!(Content::of(&[row(1)]), Content::of(&[row(1), row(2)]));
        assert_eq!(content_of("nothing of ours"), None);
    }
}
