//! What Go's libraries make of the same input, as `fuzz/peer` tells it. Without that program nothing is compared.

use std::io::{BufReader, Read as _, Write as _};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use bumpwright_gostd::{Duration, Time, Url, parse_float, parse_int, quote_bytes, unquote};
use bumpwright_re2::{Budget, Regexp};
use bumpwright_semver::{Constraint, Version};
use bumpwright_template::{Functions, Host, Limits, Slot, Stage, Template, Value};
use bumpwright_yaml::{FileId, ReadOptions, read_first, write_json};
use parking_lot::Mutex;

use super::template::{Still, is_slow};

struct Peer {
    _child: Child,
    into: ChildStdin,
    out: BufReader<ChildStdout>,
}

/// What Go says: a result, or an error's text.
type Said = Result<Vec<u8>, String>;

impl Peer {
    fn start() -> Option<Self> {
        let path = std::env::var_os("BUMPWRIGHT_FUZZ_PEER").map(PathBuf::from)?;
        let command = Command::new(path)
            .env("TZ", "UTC")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn();
        let mut child = command.expect("the peer starts");
        let (into, out) = (child.stdin.take(), child.stdout.take().map(BufReader::new));
        Some(Self {
            _child: child,
            into: into.expect("its input is a pipe"),
            out: out.expect("its output is a pipe"),
        })
    }

    fn ask(&mut self, library: u8, input: &[u8]) -> std::io::Result<Said> {
        let size = u32::try_from(input.len()).unwrap_or(u32::MAX).to_be_bytes();
        self.into.write_all(&[&[library], &size[..], input].concat())?;
        self.into.flush()?;
        let mut head = [0; 5];
        self.out.read_exact(&mut head)?;
        let mut text = vec![0; u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize];
        self.out.read_exact(&mut text)?;
        Ok(if head[0] == 0 {
            Ok(text)
        } else {
            Err(String::from_utf8_lossy(&text).into_owned())
        })
    }
}

/// None without a peer.
fn ask(library: u8, input: &[u8]) -> Option<Said> {
    static PEER: Mutex<Option<Peer>> = Mutex::new(None);
    let mut peer = PEER.lock();
    if peer.is_none() {
        *peer = Peer::start();
    }
    Some(peer.as_mut()?.ask(library, input).expect("the peer answers"))
}

fn shown(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Bytes that are no text are one sign, however many signs each side makes of them.
fn legible(text: &str) -> String {
    let parts = text.split(char::REPLACEMENT_CHARACTER);
    parts.filter(|part| !part.is_empty()).collect::<Vec<_>>().join("?")
}

/// YAML to JSON: sigs.k8s.io/yaml.
pub fn yaml(input: &[u8]) {
    let Some(theirs) = ask(b'y', input) else { return };
    match (first_as_json(input), theirs) {
        (Ok(ours), Ok(theirs)) => assert_eq!(parsed(ours.as_bytes()), parsed(&theirs), "YAML"),
        (Err(_), Err(_)) => {}
        (Ok(ours), Err(theirs)) => panic!("only we read it: {ours}; go: {theirs}"),
        // Bounds of our own (crates/go/yaml/src/lib.rs).
        (Err(ours), Ok(_)) if ours.contains("alias") || ours.contains("depth") => {}
        (Err(ours), Ok(theirs)) => {
            // Go decodes as it reads, and has read enough at the end of the first document; we decode all of the text first.
            let before = first_as_json(input.get(..undecodable(input)).unwrap_or_default());
            let is_same = before.is_ok_and(|before| parsed(before.as_bytes()) == parsed(&theirs));
            assert!(is_same, "only Go reads it: {}; we: {ours}", shown(&theirs));
        }
    }
}

/// The first document as JSON.
fn first_as_json(input: &[u8]) -> Result<String, String> {
    let node = read_first(input, &ReadOptions::sigs(FileId::NONE)).map_err(|error| error.go().to_owned())?;
    let mut text = String::new();
    if let Some(node) = node {
        write_json(&node, &mut text).map_err(|error| error.go().to_owned())?;
    }
    Ok(if text.is_empty() { "null".to_owned() } else { text })
}

fn parsed(json: &[u8]) -> serde_json::Value {
    serde_json::from_slice(json).expect("it is JSON")
}

/// Where the first byte is that YAML does not have.
fn undecodable(input: &[u8]) -> usize {
    let text = match std::str::from_utf8(input) {
        Ok(text) => text,
        Err(error) => std::str::from_utf8(&input[..error.valid_up_to()]).unwrap_or_default(),
    };
    let is_control = |c: char| c.is_control() && !matches!(c, '\t' | '\n' | '\r' | '\u{85}');
    text.find(is_control).unwrap_or(text.len())
}

fn data() -> Value {
    Value::dict([
        ("Name", Value::text("apps")),
        ("Count", Value::int(3)),
        ("Ratio", Value::float(2.5)),
        ("On", Value::Bool(true)),
        ("None", Value::Nil),
        (
            "List",
            Value::list(vec![Value::text("a"), Value::int(2), Value::Nil, Value::float(1.5)]),
        ),
        ("Texts", Value::strings(["x", "y", "z"])),
        ("Map", Value::dict([("a", Value::text("b")), ("n", Value::int(7))])),
    ])
}

/// What depends on chance, a clock, an order of maps or an address.
const BY_CHANCE: [&str; 14] = [
    "rand",
    "shuffle",
    "uuid",
    "encrypt",
    "now",
    "ago",
    "keys",
    "values",
    "date",
    "Date",
    "%p",
    "omit",
    "pick",
    "buildCustomCert",
];

/// Templates with Sprig's functions: text/template.
pub fn template(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    if is_slow(text) || BY_CHANCE.iter().any(|word| text.contains(word)) {
        return;
    }
    let functions = Functions::new(bumpwright_sprig::TABLES);
    let limits = Limits {
        steps: 20_000,
        output: 1 << 20,
        produced: 16 << 20,
        depth: 500,
    };
    let ours = Template::parse("t", text, &functions)
        .and_then(|template| template.execute(&Slot::of(data()), &mut Host::new(limits, &Still)));
    if ours.as_ref().is_err_and(|error| error.stage == Stage::Limit) {
        return;
    }
    let Some(theirs) = ask(b't', input) else { return };
    match (ours, theirs) {
        (Ok(ours), Ok(theirs)) => assert_eq!(shown(&ours), shown(&theirs), "template"),
        (Err(ours), Err(theirs)) => {
            // A pointer's address, and Go's own words of what went wrong inside of it.
            if !theirs.contains("0x") && !theirs.starts_with("panic") {
                assert_eq!(ours.text, theirs, "error of a template");
            }
        }
        (Ok(ours), Err(theirs)) => panic!("only we render it: {}; Go: {theirs}", shown(&ours)),
        (Err(ours), Ok(theirs)) => panic!("only Go renders it: {}; we: {ours}", shown(&theirs)),
    }
}

/// Go's regexp.
pub fn regex(input: &[u8]) {
    let (pattern, rest) = super::halves(input);
    let (text, replacement) = super::halves(rest);
    let Some(theirs) = ask(b'r', input) else { return };
    let mut budget = Budget::new(10_000_000, 64 << 20);
    let ours = Regexp::new(pattern).map(|regexp| {
        let found = regexp.find_all_submatches(text, -1, &mut budget)?;
        let mut out = String::new().into_bytes();
        for one in &found {
            let places: Vec<String> = one
                .iter()
                .map(|group| group.map_or("-1 -1".to_owned(), |group| format!("{} {}", group.start, group.end)))
                .collect();
            out.extend(format!("[{}]\n", places.join(" ")).as_bytes());
        }
        out.extend(regexp.replace_all(text, replacement, &mut budget)?);
        Ok::<_, bumpwright_re2::Exhausted>(out)
    });
    match (ours, theirs) {
        (Ok(Err(_)), _) => {}
        (Ok(Ok(ours)), Ok(theirs)) => assert_eq!(shown(&ours), shown(&theirs), "regexp"),
        (Err(ours), Err(theirs)) => assert_eq!(legible(&ours.to_string()), legible(&theirs), "error of a regexp"),
        (Ok(Ok(_)), Err(theirs)) => panic!("only we compile it; Go: {theirs}"),
        (Err(ours), Ok(_)) => panic!("only Go compiles it; we: {ours}"),
    }
}

/// Dates, durations, URLs, quotes, numbers, versions.
pub fn text(input: &[u8]) {
    let (layout, text) = super::halves(input);
    let (Ok(layout_text), Ok(plain)) = (std::str::from_utf8(layout), std::str::from_utf8(text)) else {
        return;
    };
    // The year counts in Go's tables of local zones.
    let Some(theirs) = ask(b'x', input) else { return };
    let mut lines = Vec::new();
    lines.push(match Time::parse(layout, text) {
        Ok(time) => format!(
            "time {} {} {}",
            time.unix_seconds(),
            time.nanoseconds,
            shown(&time.format(layout))
        ),
        Err(error) => format!("time {error}"),
    });
    lines.push(match Duration::parse(text) {
        Ok(duration) => format!("duration {} {duration}", duration.0),
        Err(error) => format!("duration {error}"),
    });
    lines.push(match Url::parse(layout) {
        Ok(url) => format!("url {}", shown(&url.text())),
        Err(error) => format!("url {error}"),
    });
    lines.push(match unquote(layout_text) {
        Some(bytes) => format!(
            "unquote {}",
            bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>()
        ),
        None => "unquote -".to_owned(),
    });
    lines.push(format!("quote {}", quote_bytes(layout)));
    lines.push(match parse_float(plain, 64) {
        Ok(number) => format!("float {}", bumpwright_gostd::format_float(number, b'g', None, 64)),
        Err(error) => format!("float {error}"),
    });
    lines.push(match parse_int(plain, 0, 64) {
        Ok(number) => format!("int {number}"),
        Err(error) => format!("int {error}"),
    });
    let constraint = Constraint::parse(layout_text);
    for tag in plain.split('\n') {
        lines.push(match (Version::parse(tag), &constraint) {
            (Err(_), _) => "version -".to_owned(),
            (Ok(version), Err(_)) => format!("version {version}"),
            (Ok(version), Ok(constraint)) => format!("version {version} {}", constraint.check(&version)),
        });
    }
    let theirs = theirs.expect("it is a list");
    assert_eq!(lines.join("\n") + "\n", shown(&theirs), "texts");
}
