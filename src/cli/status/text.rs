//! The screen of `status`.

use std::fmt::Write as _;

use anstyle::Style;

use crate::cli::explain;
use crate::cli::view::kinds::word;
use crate::cli::view::read::Seen;
use crate::cli::view::table::{Cell, Table, cut};
use crate::cli::view::text::{BAD, BOLD, DIM, WARN, age, first_line, of_stage, short, wrapped};
use crate::cli::words;
use bumpwright_overview::{Attention, Id, Image, Overview, Severity, Stage, Tally};

/// The most entries of a section: all of them are to fit a screen.
const ATTENTION: usize = 8;
const IMAGES: usize = 10;
const CHANGES: usize = 8;
/// The most lines of a message, and the least columns for them.
const MESSAGE: usize = 6;
const NARROW: usize = 20;
/// The most objects that are named where something blocks them.
const BLOCKED: usize = 2;

const INDENT: usize = 2;

/// What a screen is made for.
struct Screen<'a> {
    now: i64,
    /// None for all.
    namespace: Option<&'a str>,
    /// None where it is not a terminal.
    columns: Option<usize>,
    out: String,
}

/// The screen. Colours are always included: the output stream removes them.
pub(super) fn render(overview: &Overview, seen: &Seen, namespace: Option<&str>, columns: Option<usize>) -> String {
    let mut screen = Screen {
        now: seen.world.now,
        namespace,
        columns,
        out: String::new(),
    };
    screen.counts(overview);
    screen.attention(&overview.attention);
    screen.images(overview);
    screen.changes(overview);
    for note in &seen.notes {
        screen.line(0, DIM, &format!("note: {note}"));
    }
    screen.out
}

impl Screen<'_> {
    fn counts(&mut self, overview: &Overview) {
        let counts = &overview.counts;
        let rows = [
            ("Sources", &counts.sources),
            ("Image repositories", &counts.repositories),
            ("Image policies", &counts.policies),
            ("Automations", &counts.automations),
            ("Kustomizations", &counts.kustomizations),
        ];
        // Many clusters have none.
        let releases = Some(("HelmReleases", &counts.releases)).filter(|(_, tally)| tally.all > 0);
        let rows = rows.into_iter().chain(releases);
        let table = Table {
            headings: vec!["KIND", "ALL", "READY", "FAILED", "SUSPENDED"],
            rows: rows.map(|(name, tally)| tallied(name, tally)).collect(),
        };
        self.out.push_str(&table.render(true, 0, self.columns));
    }

    fn attention(&mut self, all: &[Attention]) {
        if all.is_empty() {
            self.heading("Nothing needs attention");
            return;
        }
        self.heading(&format!("Needs attention: {}", all.len()));
        for one in all.iter().take(ATTENTION) {
            self.one(one);
        }
        let program = match self.namespace {
            None => "bumpwright status -A -o json",
            Some(_) => "bumpwright status -o json",
        };
        self.more(all.len(), ATTENTION, program);
    }

    /// An object with why, since when, what it blocks and what to do.
    fn one(&mut self, one: &Attention) {
        let colour = match one.severity {
            Severity::Broken => BAD,
            Severity::Stuck | Severity::InProgress | Severity::Paused => WARN,
            Severity::Notice => DIM,
        };
        let since = match age(self.now, one.since).as_str() {
            "" => String::new(),
            age => format!(" for {age}"),
        };
        let reason = match one.severity {
            Severity::Paused => String::new(),
            _ => format!(": {}", one.reason),
        };
        let waits = match (one.severity, one.blocks.len()) {
            (Severity::InProgress, 1) => ", 1 waits for it".to_owned(),
            (Severity::InProgress, many @ 2..) => format!(", {many} wait for it"),
            _ => String::new(),
        };
        let headline = format!("{}{since}{waits}{reason}", one.severity.word());
        let id = words::inline(&one.id.to_string()).into_owned();
        let room = self.columns.map(|columns| columns.saturating_sub(INDENT));
        let id = cut(&id, room);
        let room = room.map(|room| room.saturating_sub(id.chars().count() + 1));
        let headline = cut(&words::inline(&headline), room);
        let _ = writeln!(
            self.out,
            "{:INDENT$}{BOLD}{id}{BOLD:#} {colour}{headline}{colour:#}",
            ""
        );
        if one.severity != Severity::Paused {
            self.message(&one.message);
        }
        if let Some(also) = named("so do", &one.also) {
            self.line(2 * INDENT, Style::new(), &also);
        }
        if let Some(blocked) = named("blocks", &one.blocks) {
            self.line(2 * INDENT, Style::new(), &blocked);
        }
        if let Some(hint) = hint(one) {
            self.line(2 * INDENT, DIM, &hint);
        }
    }

    /// A message of several lines, each with as many lines of the screen as it takes: the words of a server and the
    /// place in a file are often the last ones.
    fn message(&mut self, message: &str) {
        let room = self
            .columns
            .map(|columns| columns.saturating_sub(2 * INDENT).max(NARROW));
        let text = short(message);
        let lines: Vec<String> = text
            .lines()
            .flat_map(|line| wrapped(&words::inline(line), room))
            .collect();
        let (shown, more) = lines.split_at(lines.len().min(MESSAGE));
        for (n, line) in shown.iter().enumerate() {
            let cut = if n + 1 == MESSAGE && !more.is_empty() {
                " …"
            } else {
                ""
            };
            let _ = writeln!(self.out, "{:1$}{line}{cut}", "", 2 * INDENT);
        }
    }

    fn images(&mut self, overview: &Overview) {
        let counts = &overview.counts;
        let counted = [
            (counts.behind, "behind"),
            (counts.held, "held"),
            (
                counts.on_the_way,
                if counts.on_the_way == 1 {
                    "on its way"
                } else {
                    "on their way"
                },
            ),
            (counts.current, "current"),
        ];
        let counted: Vec<String> = counted
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, what)| format!("{count} {what}"))
            .collect();
        if counted.is_empty() {
            return;
        }
        self.heading(&format!("Images: {}", counted.join(", ")));
        self.unproven(&overview.images);
        let is_shown = |image: &&Image| matches!(image.stage, Stage::Behind | Stage::Held | Stage::OnTheWay);
        let mut shown: Vec<&Image> = overview.images.iter().filter(is_shown).collect();
        shown.sort_by_key(|image| (image.stage, image.since.unwrap_or(i64::MAX)));
        let rows: Vec<Vec<Cell>> = shown.iter().take(IMAGES).map(|image| self.image(image)).collect();
        let table = Table {
            headings: vec!["POLICY", "TAG", "STAGE", "SINCE", "WHY"],
            rows,
        };
        if !table.rows.is_empty() {
            self.out.push_str(&table.render(true, INDENT, self.columns));
        }
        self.more(shown.len(), IMAGES, "bumpwright get images");
    }

    /// That not all is known of some of the current images.
    fn unproven(&mut self, images: &[Image]) {
        let unproven = images
            .iter()
            .filter(|one| one.stage == Stage::Current && !one.why.is_empty());
        let count = unproven.count();
        if count > 0 {
            let place = self.place();
            let text = format!("{count} of the current ones not known to run everywhere: bumpwright get images{place}");
            self.line(INDENT, DIM, &text);
        }
    }

    /// The flag for the namespace of the view.
    fn place(&self) -> String {
        self.namespace.map_or_else(|| " -A".to_owned(), in_namespace)
    }

    fn image(&self, image: &Image) -> Vec<Cell> {
        vec![
            Cell::new(self.name(&image.policy)),
            Cell::new(image.tag()),
            Cell::styled(image.stage.words(), of_stage(image.stage)),
            Cell::new(age(self.now, image.since)),
            Cell::new(first_line(&image.why)),
        ]
    }

    fn changes(&mut self, overview: &Overview) {
        if overview.changes.is_empty() {
            return;
        }
        self.heading("Last changes");
        let rows = overview.changes.iter().take(CHANGES).map(|change| {
            vec![
                Cell::new(age(self.now, Some(change.at))),
                Cell::new(change.kind.words()),
                Cell::new(format!("{}/{}", change.id.kind, self.name(&change.id))),
                Cell::new(first_line(&change.message)),
            ]
        });
        let table = Table {
            headings: vec!["AGE", "WHAT", "OBJECT", "MESSAGE"],
            rows: rows.collect(),
        };
        self.out.push_str(&table.render(true, INDENT, self.columns));
        self.more(overview.changes.len(), CHANGES, "bumpwright events");
    }

    /// The name, with its namespace if that is not the namespace of the view.
    fn name(&self, id: &Id) -> String {
        match self.namespace {
            Some(namespace) if namespace == id.name.namespace => id.name.name.clone(),
            _ => id.name.to_string(),
        }
    }

    fn heading(&mut self, text: &str) {
        let _ = writeln!(self.out, "\n{BOLD}{text}{BOLD:#}");
    }

    /// A line of text from a cluster, as wide as the terminal at most.
    fn line(&mut self, indent: usize, style: Style, text: &str) {
        let text = words::inline(text);
        let text = cut(&text, self.columns.map(|columns| columns.saturating_sub(indent)));
        let _ = writeln!(self.out, "{:indent$}{style}{text}{style:#}", "");
    }

    fn more(&mut self, all: usize, shown: usize, command: &str) {
        if all > shown {
            let place = match self.namespace {
                None if command.ends_with("json") => String::new(),
                _ => self.place(),
            };
            self.line(INDENT, DIM, &format!("and {} more: {command}{place}", all - shown));
        }
    }
}

fn tallied(name: &str, tally: &Tally) -> Vec<Cell> {
    let coloured = |count: usize, style: Style| match count {
        0 => Cell::new("0"),
        count => Cell::styled(count.to_string(), style),
    };
    vec![
        Cell::new(name),
        Cell::new(tally.all.to_string()),
        Cell::new(tally.ready.to_string()),
        coloured(tally.failed, BAD),
        coloured(tally.suspended, WARN),
    ]
}

/// Some of these objects, after a word.
fn named(word: &str, ids: &[Id]) -> Option<String> {
    let names: Vec<String> = ids.iter().take(BLOCKED).map(Id::to_string).collect();
    let more = match ids.len().saturating_sub(BLOCKED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    (!ids.is_empty()).then(|| format!("{word} {}{more}", names.join(", ")))
}

fn hint(one: &Attention) -> Option<String> {
    match one.severity {
        Severity::Paused => {
            let (kind, name) = (word(&one.id.kind), &one.id.name);
            let place = in_namespace(&name.namespace);
            Some(format!("bumpwright resume {kind} {}{place}", name.name))
        }
        _ => explain::knows(&one.reason).then(|| format!("bumpwright explain {}", one.reason)),
    }
}

/// The flag for a namespace that is not the default.
fn in_namespace(namespace: &str) -> String {
    match namespace {
        "flux-system" => String::new(),
        namespace => format!(" -n {namespace}"),
    }
}
