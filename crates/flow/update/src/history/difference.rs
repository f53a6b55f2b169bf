//! What a commit changed in marked fields, for somebody who looks at it: the lines of these fields, and nothing else of
//! its files. Of fields of Secrets and of encrypted files only the place is reported.

use std::collections::BTreeMap;
use std::ops::Range;

use super::paths::{ChangedFile, Changes, changed_files};
use bumpwright_edit::unified::changed_lines;
use bumpwright_edit::{Formats, Scan, kind_of, scan};
use bumpwright_git::{GitError, ObjectId, Objects, Walk};
use bumpwright_text::{Excerpt, Parts};
use memchr::memmem;

/// The most files that are read, and the bytes of one that is.
const FILES: usize = 100;
const LARGEST: u64 = 1 << 20;

/// The most lines and bytes that are shown, and characters of a line.
const LINES: usize = 400;
const BYTES: usize = 48 << 10;
const LONGEST: usize = 400;

/// The work, for errors.
const DIFFERENCE: &str = "the difference of a commit";

/// Why a difference cannot be shown.
#[derive(Debug, thiserror::Error)]
pub enum NoDifference {
    /// The commit is not there, or its id is not clear.
    #[error("the mirror of the repository does not have this commit")]
    NoCommit,
    /// What it was made from is not there.
    #[error("the mirror of the repository does not have the commit before it")]
    NoParent,
    /// More files, or deeper folders, than are compared.
    #[error("the commit changes too much")]
    TooMuch,
    /// The time is over.
    #[error("it takes too long")]
    Late,
    /// Anything else.
    #[error("the mirror of the repository cannot be read")]
    Unreadable(#[source] GitError),
}

impl From<GitError> for NoDifference {
    fn from(error: GitError) -> Self {
        match error {
            GitError::Late(_) => Self::Late,
            error => Self::Unreadable(error),
        }
    }
}

/// The lines of marked fields that a commit changed against its first parent, as a unified diff without context. The
/// id may be short.
pub fn difference(objects: &Objects, commit: &str) -> Result<String, NoDifference> {
    let id = objects.commit_named(commit).ok_or(NoDifference::NoCommit)?;
    let commit = objects.commit(id)?;
    let before = match commit.parents.first() {
        None => ObjectId::empty_tree(id.kind()),
        Some(parent) if objects.contains(*parent) => objects.commit(*parent)?.tree,
        Some(_) => return Err(NoDifference::NoParent),
    };
    let mut walk = Walk::new(DIFFERENCE, objects);
    let files = changed_files(objects, (before, commit.tree), Changes::All, &mut walk)?;
    let files = files.ok_or(NoDifference::TooMuch)?;
    let mut shown = Shown::default();
    for file in files.iter().take(FILES) {
        objects.check_time(DIFFERENCE)?;
        shown.file(objects, file, &walk)?;
    }
    shown.other_files += files.len().saturating_sub(FILES);
    Ok(shown.finish())
}

/// A version of a file.
#[derive(Default)]
struct Version {
    bytes: Vec<u8>,
    /// The lines of its marked fields from 0, and why one of them is not shown.
    marked: BTreeMap<usize, Option<&'static str>>,
}

impl Version {
    /// None when it is not there, or too large.
    fn read(objects: &Objects, id: Option<ObjectId>, path: &str, walk: &Walk) -> Result<Option<Self>, GitError> {
        let Some(id) = id else {
            return Ok(Some(Self::default()));
        };
        if !objects.contains(id) || objects.size(id)? > LARGEST {
            return Ok(None);
        }
        let bytes = objects.blob(id, LARGEST)?;
        walk.read(bytes.len() as u64)?;
        let marked = marked(path, &bytes);
        Ok(Some(Self { bytes, marked }))
    }

    fn lines(&self) -> Vec<&[u8]> {
        self.bytes.split_inclusive(|byte| *byte == b'\n').collect()
    }
}

/// The lines of the marked fields of a file, from 0.
fn marked(path: &str, bytes: &[u8]) -> BTreeMap<usize, Option<&'static str>> {
    let Scan { sites, .. } = scan(kind_of(path, Formats::all()), bytes);
    let is_sealed = is_sealed(bytes);
    let mut found = BTreeMap::new();
    let (mut at, mut line) = (0, 0);
    for site in &sites {
        let kept = match () {
            () if is_sealed => Some("an encrypted file"),
            // Also of the kinds that Secrets are made from.
            () if site.object.kind.contains("Secret") => Some("a Secret"),
            () => None,
        };
        let breaks = |range: Range<usize>| memchr::memchr_iter(b'\n', bytes.part(range)).count();
        if site.span.start < at {
            (at, line) = (0, 0);
        }
        line += breaks(at..site.span.start);
        at = site.span.start;
        for touched in line..=line + breaks(site.span.clone()) {
            let slot = found.entry(touched).or_default();
            *slot = kept.or(*slot);
        }
    }
    found
}

/// Whether it is a file of SOPS.
fn is_sealed(bytes: &[u8]) -> bool {
    let mut lines = bytes.split(|byte| *byte == b'\n');
    memmem::find(bytes, b"ENC[").is_some() || lines.any(|line| line.starts_with(b"sops:"))
}

/// The text so far.
#[derive(Default)]
struct Shown {
    text: String,
    lines: usize,
    /// What is left out.
    more: usize,
    other_lines: usize,
    other_files: usize,
}

impl Shown {
    fn file(&mut self, objects: &Objects, file: &ChangedFile, walk: &Walk) -> Result<(), GitError> {
        let path = String::from_utf8_lossy(&file.path);
        let old = Version::read(objects, file.old, &path, walk)?;
        let new = Version::read(objects, file.new, &path, walk)?;
        let (Some(old), Some(new)) = (old, new) else {
            self.other_files += 1;
            return Ok(());
        };
        if old.marked.is_empty() && new.marked.is_empty() {
            self.other_files += 1;
            return Ok(());
        }
        let path = plain(&path);
        let side = |side: char, id: Option<ObjectId>| match id {
            Some(_) => format!("{side}/{path}"),
            None => "/dev/null".to_owned(),
        };
        self.line(&format!("--- {}", side('a', file.old)));
        self.line(&format!("+++ {}", side('b', file.new)));
        let (before, after) = (old.lines(), new.lines());
        for (removed, added) in changed_lines(&old.bytes, &new.bytes) {
            self.line(&format!("@@ -{} +{} @@", numbers(&removed), numbers(&added)));
            self.side('-', (&path, &old, &before), removed);
            self.side('+', (&path, &new, &after), added);
        }
        Ok(())
    }

    /// The lines of one side of a change.
    fn side(&mut self, sign: char, (path, version, lines): (&str, &Version, &[&[u8]]), range: Range<usize>) {
        let lines = lines.iter().enumerate().take(range.end).skip(range.start);
        for (number, text) in lines {
            match version.marked.get(&number) {
                None => self.other_lines += 1,
                Some(Some(kept)) => self.line(&format!("{sign} {path}:{}: of {kept}, not shown", number + 1)),
                Some(None) => self.line(&format!("{sign}{}", plain(&String::from_utf8_lossy(text)))),
            }
        }
    }

    fn line(&mut self, text: &str) {
        if self.lines >= LINES || self.text.len() + text.len() > BYTES {
            self.more += 1;
            return;
        }
        self.lines += 1;
        self.text.push_str(text);
        self.text.push('\n');
    }

    fn finish(self) -> String {
        let mut text = self.text;
        let rest = [
            (self.more, "more line", "more lines", ""),
            (
                self.other_lines,
                "line that is not",
                "lines that are not",
                " of marked fields",
            ),
            (self.other_files, "file", "files", " without marked fields"),
        ];
        for (count, one, many, end) in rest.into_iter().filter(|(count, ..)| *count > 0) {
            let what = if count == 1 { one } else { many };
            text.push_str(&format!("… and {count} {what}{end}\n"));
        }
        text
    }
}

/// A range as in a unified diff.
fn numbers(lines: &Range<usize>) -> String {
    match lines.len() {
        0 => format!("{},0", lines.start),
        1 => format!("{}", lines.start + 1),
        count => format!("{},{count}", lines.start + 1),
    }
}

/// A text of one line that is not too long.
fn plain(text: &str) -> String {
    let text = text.trim_end_matches(['\r', '\n']);
    let visible = |c: char| if c.is_control() && c != '\t' { '\u{fffd}' } else { c };
    text.excerpt(LONGEST).chars().map(visible).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn shown(path: &str, old: &str, new: &str) -> String {
        let version = |text: &str| Version {
            bytes: text.as_bytes().to_vec(),
            marked: marked(path, text.as_bytes()),
        };
        let (old, new) = (version(old), version(new));
        let (before, after) = (old.lines(), new.lines());
        let mut shown = Shown::default();
        for (removed, added) in changed_lines(&old.bytes, &new.bytes) {
            shown.side('-', (path, &old, &before), removed);
            shown.side('+', (path, &new, &after), added);
        }
        shown.finish()
    }

    const MARKER: &str = r#"# {"$imagepolicy": "apps:web"}"#;

    fn object(kind: &str, rest: &str) -> String {
        format!("apiVersion: v1\nkind: {kind}\nmetadata: {{name: a}}\n{rest}")
    }

    #[test]
    fn lines_of_marked_fields_and_no_others() {
        let old = object(
            "Pod",
            &format!("password: hunter1\nimage: web:1 {MARKER}\nother: hunter1\n"),
        );
        let new = old.replace("web:1", "web:2").replace("hunter1", "hunter2");
        let text = shown("a.yaml", &old, &new);
        assert_eq!(
            text,
            format!("-image: web:1 {MARKER}\n+image: web:2 {MARKER}\n… and 4 lines that are not of marked fields\n")
        );
    }

    #[test]
    fn of_secrets_and_encrypted_files_the_place_alone() {
        let rest = format!("stringData:\n  image: web:hunter1 {MARKER}\n");
        let list = format!(
            "kind: List\nitems:\n- kind: Secret\n  stringData: {{}}\n  image: web:hunter1 {MARKER}\n- kind: Pod\n  image: web:1 {MARKER}\n"
        );
        let sealed = object("Pod", &format!("image: web:hunter1 {MARKER}\n")) + "sops: {mac: x}\n";
        for old in [
            object("Secret", &rest),
            object("&a Secret", &rest),
            object("\"Secret\"", &rest),
            object("SecretList", &rest),
            object("Pod", "") + "---\n" + &object("Secret", &rest),
            list,
            sealed,
        ] {
            let text = shown(
                "a.yaml",
                &old,
                &old.replace("hunter1", "hunter2").replace("web:1", "web:2"),
            );
            assert!(!text.contains("hunter"), "{text}");
            assert!(text.contains("not shown"), "{old}\n{text}");
            assert_eq!(text.contains("+  image: web:2"), old.contains("List\nitems"), "{text}");
        }
        // What is not read as YAML has no marked fields.
        let text = shown(
            "a.txt",
            &format!("a: hunter1 {MARKER}\n"),
            &format!("a: hunter2 {MARKER}\n"),
        );
        assert_eq!(text, "… and 2 lines that are not of marked fields\n");
        let text = shown("a.txt", "a: 1\n", "a: 1\nb: 2\n");
        assert_eq!(text, "… and 1 line that is not of marked fields\n");
    }

    #[test]
    fn values_of_several_lines_are_whole() {
        let old = format!("image: | {MARKER}\n  web:1\nmore: a\n");
        let text = shown("a.yaml", &old, &old.replace("web:1", "web:2"));
        assert_eq!(text, "-  web:1\n+  web:2\n");
    }

    #[test]
    fn it_is_never_long() {
        let old: String = (0..5_000).map(|n| format!("a{n}: web:1 {MARKER}\n")).collect();
        let text = shown("a.yaml", &old, &old.replace("web:1", "web:2"));
        assert_eq!(text.lines().count(), LINES + 1);
        assert!(
            text.ends_with(&format!("… and {} more lines\n", 10_000 - LINES)),
            "{text}"
        );
        let long = format!("a: web:1 {MARKER} {}\n", "x".repeat(1_000));
        let text = shown("a.yaml", &long, &long.replace("web:1", "web:2"));
        assert!(text.lines().all(|line| line.chars().count() < LONGEST + 10), "{text}");
        let line = plain("a\u{1b}[0m\tb\r\n");
        assert_eq!(line, "a\u{fffd}[0m\tb");
        assert_eq!(
            [numbers(&(3..3)), numbers(&(3..4)), numbers(&(3..5))],
            ["3,0", "4", "4,2"]
        );
    }
}
