//! The two readers of indexes, of Helm's form and of all of YAML, say the same of whatever both read.

use super::read::{entries_of_yaml, of_lines};
use super::{Entry, IndexDocument, IndexError, IndexScan, Scanned};
use bumpwright_budget::{Memory, Reservation};

/// Numbers as they come (xorshift).
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % sides as u64).unwrap()
    }

    fn pick<'t>(&mut self, of: &[&'t str]) -> &'t str {
        of[self.roll(of.len())]
    }
}

fn held() -> Reservation {
    Memory::single(1 << 30, "--fetch-memory").of("a").nothing()
}

/// Lines of an entry as Helm writes them; `@` stands for its name, `#` for a number.
const USUAL: [&str; 24] = [
    "apiVersion: v2",
    "appVersion: 1.#.0",
    "appVersion: \"1.#\"",
    "annotations:\n  a.example/b: \"true\"\n  c: d e",
    "created: \"2026-01-1#T10:20:30.123456789+02:00\"",
    "created: \"2026-01-01T00:00:00Z\"",
    "description: A chart that deploys @, with all (100%) of it",
    "description: 'It''s: a chart'",
    "description: A text that is so long that it goes on\n  on the next line, as Helm writes it",
    "description: 'A text: so long that it''s\n  on two lines'",
    "description: Größer – “quoted” ünd 日本",
    "description: \"a \\\"quoted\\\" text\\nwith \\\\ in it\"",
    "digest: 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "home: https://example.com/?a=1#b",
    "keywords:\n- one\n- \"2\"\n- three",
    "maintainers:\n- email: a@example.com\n  name: Ann\n- name: Bob",
    "dependencies:\n- name: sub\n  repository: https://charts.example\n  version: 1.x\n- alias: a\n  name: b\n  repository: \"\"\n  tags:\n  - x\n  version: '>=1'",
    "sources:\n- https://git.example/@",
    "type: application",
    "urls:\n- @-1.#.0.tgz",
    "urls:\n- https://charts.example/@.tgz\n- b.tgz",
    "urls: []",
    "deprecated: true",
    "kubeVersion: '>=1.20.0-0'",
];

/// Others, of which some are read otherwise and some are not YAML at all.
const ODD: [&str; 40] = [
    "appVersion: 1.10",
    "appVersion: 0x1f",
    "appVersion: 1_000",
    "appVersion: 007",
    "appVersion: yes",
    "appVersion: ~",
    "appVersion:",
    "appVersion: 2026-01-01",
    "appVersion: .5",
    "appVersion: +1",
    "appVersion: 1:20",
    "created: 2026-01-01T00:00:00Z",
    "created: 2026-01-01",
    "created: today",
    "description: |\n  Several\n\n    lines\n",
    "description: >-\n  folded\n  lines",
    "description: \"on\n  two lines\"",
    "description: \"\\u0041\\x42 \\\n  c\"",
    "description: 'a\n\n  b'",
    "description: a # comment",
    "description: a: b",
    "description: [a, b]",
    "description: {a: b}",
    "description: &x a",
    "description: *x",
    "description: !!str 1",
    "description: \"open",
    "description: 'open",
    "description: - a",
    "description: a\n  - b\n  c: d",
    "description: a\tb",
    "description: a\u{a0}b\u{2028}c",
    "# a comment",
    "",
    "other: 1",
    "Name: x",
    "keywords:\n  - a\n  - b: c\n  -\n  - - d",
    "maintainers:\n- name: a\n  more: b\n- null",
    "<<: {home: x}",
    "? a\n: b",
];

fn entry(name: &str, dice: &mut Dice, is_odd: bool) -> String {
    let mut lines: Vec<String> = vec![format!("name: {name}")];
    let version = if is_odd && dice.roll(6) == 0 {
        dice.pick(&["none", "1", "1.2", "v1.0.0", "\"1.0\"", "1.0.0+b.1", ""])
            .to_owned()
    } else {
        format!("{}.{}.0", dice.roll(3), dice.roll(12))
    };
    lines.push(format!("version: {version}"));
    for _ in 0..dice.roll(8) {
        let line = if is_odd && dice.roll(6) == 0 {
            dice.pick(&ODD)
        } else {
            dice.pick(&USUAL)
        };
        let key = line.split(':').next().unwrap();
        let is_there = lines.iter().any(|known| known.split(':').next().unwrap() == key);
        if !is_there || is_odd && dice.roll(9) == 0 {
            let number = dice.roll(9).to_string();
            lines.insert(
                dice.roll(lines.len() + 1),
                line.replace('@', name).replace('#', &number),
            );
        }
    }
    lines.join("\n")
}

fn index(dice: &mut Dice, is_odd: bool) -> String {
    let mut text = "apiVersion: v1\n".to_owned();
    let generated = "generated: \"2026-01-01T00:00:00Z\"\n";
    let is_first = dice.roll(2) == 0;
    if is_first {
        text.push_str(generated);
    }
    text.push_str("entries:\n");
    let dash = match dice.roll(4) {
        0 => "    ",
        _ => "  ",
    };
    for number in 0..1 + dice.roll(4) {
        let name = if is_odd && dice.roll(8) == 0 {
            dice.pick(&["3scale", "12", "1e3", "no", "\"quoted\"", "a b", "web-0"])
                .to_owned()
        } else {
            format!("web-{number}")
        };
        match dice.roll(9) {
            0 => text.push_str(&format!("  {name}: []\n")),
            1 if is_odd => text.push_str(&format!("  {name}:\n")),
            _ => text.push_str(&format!("  {name}:\n")),
        }
        if text.ends_with("[]\n") {
            continue;
        }
        for _ in 0..dice.roll(4) {
            let entry = entry(&name, dice, is_odd);
            let below = format!("\n{dash}  ");
            text.push_str(&format!("{dash}- {}\n", entry.replace('\n', &below)));
        }
    }
    if !is_first {
        text.push_str(generated);
    }
    text
}

/// A text with a line that is lost, doubled, moved or other than it was.
fn damaged(text: &str, dice: &mut Dice) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let at = dice.roll(lines.len());
    match dice.roll(7) {
        0 => drop(lines.remove(at)),
        1 => lines.insert(at, lines[at].clone()),
        2 => lines[at].insert_str(0, dice.pick(&[" ", "  ", "- ", "#"])),
        3 => lines[at] = lines[at].trim_start_matches(' ').to_owned(),
        4 => {
            let ends: Vec<usize> = lines[at].char_indices().map(|(end, _)| end).collect();
            let end = ends.get(dice.roll(ends.len().max(1))).copied().unwrap_or_default();
            let inserted = dice.pick(&[
                "\"", "'", ": ", " #", "[", "{", "\t", "\r", "|", "&a ", "\u{7}", "\u{85}", "\u{2028}", "-", " ",
            ]);
            lines[at].insert_str(end, inserted);
        }
        5 => {
            let other = dice.roll(lines.len());
            lines.swap(at, other);
        }
        _ => lines.truncate(at.max(1)),
    }
    lines.join("\n") + dice.pick(&["\n", "", "\n\n", "\n...\n"])
}

/// The JSON of an index of Helm's form; none of any other. It comes in pieces.
fn scanned(text: &str, dice: &mut Dice) -> Option<String> {
    let (mut scan, mut rest) = (IndexScan::new(Vec::new(), held()), text.as_bytes());
    while !rest.is_empty() {
        let (piece, after) = rest.split_at((1 + dice.roll(200)).min(rest.len()));
        scan.push(piece);
        rest = after;
    }
    match scan.finish().unwrap() {
        Scanned::Document(document, entries) => Some(json(&document, std::str::from_utf8(&entries).unwrap())),
        Scanned::Other(_) => None,
    }
}

fn json(document: &IndexDocument, text: &str) -> String {
    let mut out = Vec::new();
    document.write(text, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn table(text: &str) -> Result<(String, Vec<(String, Entry)>), IndexError> {
    let mut found = Vec::new();
    let version = entries_of_yaml::<IndexError>(text, &|_| true, &mut |name, entry| {
        found.push((name.to_owned(), entry));
        Ok(())
    })?;
    Ok((version, found))
}

/// Whether Helm's reader took it, for the document and for the table.
fn compared(text: &str, dice: &mut Dice) -> (bool, bool) {
    let scanned = scanned(text, dice);
    if let Some(scanned) = &scanned {
        let read = IndexDocument::read(text, held()).unwrap_or_else(|error| panic!("{error}\n{text}"));
        assert_eq!(json(&read, text), *scanned, "{text}");
    }
    let lines = of_lines(text, &|_| true);
    if let Some((version, charts)) = &lines {
        let (wanted, entries) = table(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let found: Vec<(String, Entry)> = charts
            .iter()
            .flat_map(|(name, entries)| entries.iter().map(|entry| (name.clone(), entry.clone())))
            .collect();
        assert_eq!((version, found), (&wanted, entries), "{text}");
    }
    (scanned.is_some(), lines.is_some())
}

#[test]
fn what_helm_writes_is_read_without_a_parser_of_yaml_and_as_by_one() {
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    for round in 0..400 {
        let text = index(&mut dice, false);
        assert_eq!(compared(&text, &mut dice), (true, true), "{round}: {text}");
    }
}

#[test]
fn a_line_that_ends_otherwise_may_begin_what_is_not_of_the_entry() {
    let mut dice = Dice(1);
    for end in ["\r", "\u{85}", "\u{2028}", "\u{2029}"] {
        for rest in ["me: Bob", "b: []", "- a"] {
            for line in ["name: a", "name: a\n    home: |", "name: a\n    home: b"] {
                let text = format!("apiVersion: v1\nentries:\n  a:\n  - version: 1.0.0\n    {line}{end}{rest}\n");
                assert_eq!(compared(&text, &mut dice), (false, false), "{text:?}");
            }
        }
    }
}

#[test]
fn a_text_without_an_end_of_its_last_line_has_none() {
    let mut dice = Dice(1);
    for end in ["", "\n", "\n\n"] {
        let text =
            format!("apiVersion: v1\nentries:\n  a:\n  - name: a\n    version: 1.0.0\n    home: |\n      b{end}");
        assert_eq!(compared(&text, &mut dice), (true, true), "{text:?}");
    }
}

#[test]
fn what_is_odd_is_read_as_by_a_parser_of_yaml_or_left_to_it() {
    let mut dice = Dice(0x2545_f491_4f6c_dd1d);
    let (mut taken, rounds) = (0, 6_000);
    for _ in 0..rounds {
        let is_odd = dice.roll(2) == 0;
        let mut text = index(&mut dice, is_odd);
        for _ in 0..dice.roll(3) {
            text = damaged(&text, &mut dice);
        }
        taken += usize::from(compared(&text, &mut dice).0);
    }
    assert!(
        (rounds / 5..rounds).contains(&taken),
        "{taken} of {rounds} were of Helm's form"
    );
}
