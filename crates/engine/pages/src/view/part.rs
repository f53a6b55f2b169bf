//! The small parts of pages.

use bumpwright_gostd::{RFC_3339, Time};
use bumpwright_overview::{Automation, Change, ChangeKind, Entry, Id, Readiness, Severity, Stage, State};
use bumpwright_text::Excerpt;
use serde::Serialize;

use super::super::action::Action;
use super::super::frame::Frame;
use super::super::route::Route;

/// The longest text of a cell, in characters.
const CELL: usize = 400;

/// A time, in the forms that programs and people read.
#[derive(Clone, Debug, Serialize)]
pub struct When {
    /// For programs.
    iso: String,
    /// For people, exactly.
    exact: String,
    /// For people.
    words: String,
    /// The time of the day, with the day where it is another one.
    clock: String,
}

impl When {
    /// A time as it is seen now.
    pub fn new(now: i64, at: i64) -> Self {
        let time = Time::unix(at, 0);
        let format = |layout: &[u8]| String::from_utf8_lossy(&time.format(layout)).into_owned();
        let is_today = now.div_euclid(DAY) == at.div_euclid(DAY);
        Self {
            iso: format(RFC_3339),
            exact: format(b"2006-01-02 15:04:05 UTC"),
            words: ago(now - at),
            clock: format(if is_today { b"15:04" } else { b"Jan 2 15:04" }),
        }
    }

    /// A time that may not be known.
    pub fn maybe(now: i64, at: Option<i64>) -> Option<Self> {
        at.map(|at| Self::new(now, at))
    }
}

const DAY: i64 = 86_400;

/// A duration until now, in words; of the future where it is negative.
fn ago(seconds: i64) -> String {
    let words = match seconds.unsigned_abs() {
        0..5 => return "now".to_owned(),
        n @ 5..100 => format!("{n} s"),
        n @ 100..5_400 => format!("{} min", (n + 30) / 60),
        n @ 5_400..172_800 => format!("{} h", (n + 1_800) / 3_600),
        n => format!("{} days", (n + 43_200) / 86_400),
    };
    if seconds < 0 {
        format!("in {words}")
    } else {
        format!("{words} ago")
    }
}

/// A word with a colour.
#[derive(Clone, Debug, Serialize)]
pub struct Badge {
    word: String,
    /// A class: `good`, `bad`, `warn`, `busy` or `mute`.
    tone: &'static str,
}

impl Badge {
    pub fn new(word: impl Into<String>, tone: &'static str) -> Self {
        Self {
            word: word.into(),
            tone,
        }
    }

    pub(crate) fn of_readiness(readiness: &Readiness) -> Self {
        if readiness.suspended && !readiness.state.is_broken() {
            return Self::new("suspended", "mute");
        }
        let tone = match readiness.state {
            State::Stalled | State::Failed => "bad",
            State::Deleting | State::Progressing => "busy",
            State::Unknown => "mute",
            State::Ready => "good",
        };
        Self::new(readiness.state.word(), tone)
    }

    pub fn of_stage(stage: Stage) -> Self {
        let tone = match stage {
            Stage::Unknown | Stage::Unused => "mute",
            Stage::Behind => "bad",
            Stage::Held => "warn",
            Stage::OnTheWay => "busy",
            Stage::Current => "good",
        };
        Self::new(stage.words(), tone)
    }

    pub(crate) fn of_severity(severity: Severity) -> Self {
        let tone = match severity {
            Severity::Broken => "bad",
            Severity::Stuck => "warn",
            Severity::Paused => "mute",
            Severity::InProgress | Severity::Notice => "busy",
        };
        Self::new(severity.word(), tone)
    }

    fn of_change(kind: ChangeKind) -> Self {
        let tone = match kind {
            ChangeKind::Pushed => "busy",
            ChangeKind::Applied => "good",
            ChangeKind::Failed => "bad",
            ChangeKind::PutBack | ChangeKind::Held => "warn",
            ChangeKind::Told => "mute",
        };
        Self::new(kind.words(), tone)
    }

    /// Of a status of kstatus.
    pub(crate) fn of_health(status: &str) -> Self {
        let tone = match status {
            "Current" => "good",
            "InProgress" | "Terminating" => "busy",
            "Failed" | "NotFound" => "bad",
            _ => "mute",
        };
        Self::new(status, tone)
    }

    /// Of an object of another cluster.
    pub fn elsewhere() -> Self {
        Self::new("in another cluster", "mute")
    }

    pub fn is(&self, word: &str) -> bool {
        self.word == word
    }

    pub fn word(&self) -> &str {
        &self.word
    }

    /// How urgent it is that an object is so, from 0; none where it is well, or not known.
    pub fn urgency(&self) -> Option<u8> {
        match (self.tone, self.word.as_str()) {
            ("bad", _) => Some(0),
            ("busy", _) => Some(1),
            (_, "Unknown" | "unknown") => Some(2),
            _ => None,
        }
    }

    /// `3 Failed`
    pub fn counted(self, count: usize) -> Self {
        Self {
            word: format!("{count} {}", self.word),
            ..self
        }
    }
}

/// An object and its page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Object {
    kind: String,
    /// Empty for objects of the cluster.
    namespace: String,
    name: String,
    /// Empty for objects of another cluster.
    href: String,
}

impl Object {
    pub fn new(id: &Id) -> Self {
        Self {
            kind: id.kind.clone(),
            namespace: id.name.namespace.clone(),
            name: id.name.name.clone(),
            href: Route::of(id).to_string(),
        }
    }

    pub fn of_entry(entry: &Entry) -> Self {
        Self {
            kind: entry.kind.clone(),
            namespace: entry.namespace.clone(),
            name: entry.name.clone(),
            href: Route::of_entry(entry).to_string(),
        }
    }

    /// In another cluster: a page would be about its namesake in this one.
    pub fn elsewhere(entry: &Entry) -> Self {
        Self {
            href: String::new(),
            ..Self::of_entry(entry)
        }
    }

    pub fn all(ids: &[Id]) -> Vec<Self> {
        ids.iter().map(Self::new).collect()
    }
}

/// What the rows of all lists of objects begin with.
#[derive(Clone, Debug, Serialize)]
pub struct Head {
    object: Object,
    state: Badge,
    reason: String,
    message: String,
}

impl Head {
    pub fn new(id: &Id, readiness: &Readiness) -> Self {
        Self {
            object: Object::new(id),
            state: Badge::of_readiness(readiness),
            reason: readiness.reason.clone(),
            message: cell(readiness.message.first_line()),
        }
    }
}

/// A commit and its page.
#[derive(Clone, Debug, Serialize)]
pub struct Commit {
    short: String,
    whole: String,
    link: Option<String>,
}

impl Commit {
    pub fn new(commit: &str, link: Option<&str>) -> Option<Self> {
        (!commit.is_empty()).then(|| Self {
            short: commit.chars().take(7).collect(),
            whole: commit.to_owned(),
            link: link.filter(|link| is_safe(link)).map(str::to_owned),
        })
    }

    pub fn of_automation(automation: &Automation) -> Option<Self> {
        let pushed = automation.pushed.as_ref()?;
        Self::new(&pushed.commit, pushed.link.as_deref())
    }
}

/// Whether a link may be followed: by HTTPS.
pub fn is_safe(link: &str) -> bool {
    link.starts_with("https://")
}

/// An entry of the timeline, as templates show it.
#[derive(Clone, Debug, Serialize)]
pub struct Event {
    when: When,
    kind: Badge,
    object: Object,
    reason: String,
    message: String,
    commit: Option<Commit>,
}

impl Event {
    pub fn new(now: i64, change: &Change) -> Self {
        Self {
            when: When::new(now, change.at),
            kind: Badge::of_change(change.kind),
            object: Object::new(&change.id),
            reason: change.reason.clone(),
            message: cell(&without_hashes(&change.message)),
            commit: Commit::new(&change.commit, change.link.as_deref()),
        }
    }
}

/// How an object stands, at the head of its page.
#[derive(Clone, Debug, Serialize)]
pub struct Standing {
    state: Badge,
    suspended: bool,
    reason: String,
    message: String,
    since: Option<When>,
    /// What to do about it.
    todo: Option<String>,
}

impl Standing {
    pub fn new(frame: &Frame<'_>, readiness: &Readiness) -> Self {
        let todo = (readiness.state != State::Ready).then(|| (frame.explain)(&readiness.reason));
        Self {
            state: Badge::of_readiness(readiness),
            suspended: readiness.suspended,
            reason: readiness.reason.clone(),
            message: readiness.message.clone(),
            since: When::maybe(frame.now, readiness.since),
            todo: todo.flatten(),
        }
    }
}

/// The form with which something can be asked for.
#[derive(Clone, Debug, Serialize)]
pub struct Form {
    to: String,
    csrf: String,
    kind: String,
    namespace: String,
    name: String,
    back: String,
    buttons: Vec<Button>,
}

/// A button of a form.
#[derive(Clone, Debug, Serialize)]
pub struct Button {
    action: &'static str,
    words: &'static str,
}

impl Form {
    /// None where nothing may be asked for.
    pub fn new(frame: &Frame<'_>, id: &Id, suspended: bool, more: &[Action]) -> Option<Self> {
        let csrf = frame.csrf.filter(|_| frame.has_actions)?;
        let toggle = if suspended { Action::Resume } else { Action::Suspend };
        let button = |action: Action| Button {
            action: action.word(),
            words: match action {
                Action::Reconcile => "Reconcile now",
                Action::Suspend => "Suspend",
                Action::Resume => "Resume",
                Action::Release => "Release the held version",
                Action::ApprovePrune => "Approve this prune",
            },
        };
        let first = (!suspended).then_some(Action::Reconcile);
        let actions = first.into_iter().chain([toggle]).chain(more.iter().copied());
        Some(Self {
            to: Route::Act.to_string(),
            csrf: csrf.to_owned(),
            kind: id.kind.clone(),
            namespace: id.name.namespace.clone(),
            name: id.name.name.clone(),
            back: frame.path.to_owned(),
            buttons: actions.map(button).collect(),
        })
    }
}

/// A line of a difference.
#[derive(Clone, Debug, Serialize)]
pub struct DiffLine {
    /// A class: `add`, `del`, `hunk` or none.
    tone: &'static str,
    text: String,
}

/// The most lines of a difference.
const LINES: usize = 2_000;

/// A difference by lines.
pub fn diff(text: &str) -> Vec<DiffLine> {
    let line = |line: &str| DiffLine {
        tone: match line.as_bytes().first() {
            _ if line.starts_with("+++") || line.starts_with("---") => "hunk",
            Some(b'+') => "add",
            Some(b'-') => "del",
            Some(b'@') => "hunk",
            _ => "",
        },
        text: line.to_owned(),
    };
    let mut lines: Vec<DiffLine> = text.lines().take(LINES).map(line).collect();
    let left = text.lines().count().saturating_sub(LINES);
    if left > 0 {
        lines.push(line(&format!("… and {left} lines more")));
    }
    lines
}

/// What was done to objects, or would be: lines as in `Deployment/apps/web created` and `+ Deployment apps/web`.
pub fn actions(text: &str) -> Vec<DiffLine> {
    let mut lines = diff(text);
    for line in &mut lines {
        let first = line.text.trim_start().as_bytes().first();
        line.tone = match first {
            Some(b'+') => "add",
            Some(b'-') => "del",
            _ if line.text.ends_with(" created") => "add",
            _ if line.text.ends_with(" deleted") => "del",
            _ => "",
        };
    }
    lines
}

/// A text that is not too long for a cell.
pub fn cell(text: &str) -> String {
    text.excerpt(CELL).into_owned()
}

/// A message with short hashes: `main@sha1:8c1e0f2a4b6d…`.
fn without_hashes(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(|c: char| c.is_ascii_hexdigit()) {
        let (before, from) = rest.split_at(start);
        let end = from.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(from.len());
        let (word, after) = from.split_at(end);
        let is_hash = matches!(word.len(), 40 | 64);
        let (kept, dots) = if is_hash {
            (word.get(..12).unwrap_or(word), "…")
        } else {
            (word, "")
        };
        [before, kept, dots].iter().for_each(|part| out.push_str(part));
        rest = after;
    }
    out.push_str(rest);
    out
}

/// A revision with a short hash: `main@sha1:8c1e0f2`.
pub fn revision(text: &str) -> String {
    let Some((before, hash)) = text.rsplit_once(':') else {
        return text.to_owned();
    };
    let is_hash = hash.len() >= 40 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
    match (is_hash, before.rsplit_once('@')) {
        (false, _) => text.to_owned(),
        (true, Some((name, _))) => format!("{name}@{}", hash.get(..7).unwrap_or(hash)),
        (true, None) => format!("{before}:{}", hash.get(..12).unwrap_or(hash)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_in_words() {
        for (seconds, words) in [
            (0, "now"),
            (42, "42 s ago"),
            (100, "2 min ago"),
            (5_399, "90 min ago"),
            (5_400, "2 h ago"),
            (172_799, "48 h ago"),
            (172_800, "2 days ago"),
            (-600, "in 10 min"),
        ] {
            assert_eq!(ago(seconds), words);
        }
        let when = When::new(1_700_000_000, 1_699_900_000);
        assert_eq!(when.iso, "2023-11-13T18:26:40Z");
        assert_eq!(when.clock, "Nov 13 18:26");
    }

    #[test]
    fn revisions_are_short() {
        let hash = "8c1e0f2a".repeat(5);
        assert_eq!(revision(&format!("main@sha1:{hash}")), "main@8c1e0f2");
        assert_eq!(revision(&format!("sha1:{hash}")), "sha1:8c1e0f2a8c1e");
        assert_eq!(revision("v1.2.3"), "v1.2.3");
        assert_eq!(revision(""), "");
        let text = format!("revision main@sha1:{hash} in 1.2s, {hash}");
        assert_eq!(
            without_hashes(&text),
            "revision main@sha1:8c1e0f2a8c1e… in 1.2s, 8c1e0f2a8c1e…"
        );
        assert_eq!(without_hashes("häb 1.2.3"), "häb 1.2.3");
    }

    #[test]
    fn only_https_is_linked() {
        let linked = |link: &str| Commit::new("abcdefghi", Some(link)).unwrap().link.is_some();
        assert!(linked("https://github.com/a/b/commit/c"));
        assert!(!linked("javascript:alert(1)"));
        assert!(!linked("http://github.com/"));
    }
}
