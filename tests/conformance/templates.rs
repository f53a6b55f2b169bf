//! Templates, compared with tables made by Go's `text/template`, by Sprig v3.3.0 and by image-automation-controller
//! itself, and the image references that they can print, compared with a table by go-containerregistry.

use base64::Engine as _;
use bumpwright_message::{self as message, Data, Era};
use bumpwright_policy::{Reference, Validation};
use bumpwright_sprig as sprig;
use bumpwright_template::{Error, Function, Functions, Host, Limits, Slot, Stage, Template, Value, World};
use bumpwright_testkit::oracle::{Tally, rows};
use serde_json::Value as Json;

/// A fixed clock and fixed random numbers.
struct StillWorld;

impl World for StillWorld {
    fn now(&self) -> (i64, u32) {
        (1_700_000_000, 0)
    }

    fn random(&self, buffer: &mut [u8]) {
        for (index, byte) in buffer.iter_mut().enumerate() {
            *byte = u8::try_from(index * 37 % 251).unwrap();
        }
    }
}

fn render(template: &str, data: &Slot, functions: &Functions) -> Result<Vec<u8>, Error> {
    let mut host = Host::new(Limits::default(), &StillWorld);
    Template::parse("commit message", template, functions)?.execute(data, &mut host)
}

#[test]
fn gotemplate() {
    let functions = Functions::new(&[]);
    table("gotemplate", &functions, |row| match row["datatype"].as_str() {
        Some("T") => bumpwright_testkit::gotemplate_struct::t(),
        Some("*T") => bumpwright_testkit::gotemplate_struct::t_pointer(),
        Some(other) => panic!("no data of type {other}"),
        None => Slot::of(value(&row["data"])),
    });
}

#[test]
fn sprig() {
    let functions = Functions::new(sprig::TABLES);
    table("sprig", &functions, |row| Slot::of(value(&row["data"])));
}

/// All 194 functions, with Go's types: they decide what an argument may be.
#[test]
fn sprig_functions() {
    let theirs = include_str!("../../fixtures/sprig/functions.txt");
    let theirs: Vec<&str> = theirs.lines().filter(|line| !line.starts_with('#')).collect();
    let mut ours: Vec<String> = sprig::TABLES
        .iter()
        .flat_map(|table| table.iter())
        .map(signature)
        .collect();
    ours.sort();
    assert_eq!(ours, theirs);
    println!("sprig functions: {} of 194", ours.len());
}

fn signature(function: &Function) -> String {
    let mut params: Vec<String> = function.params.iter().map(ToString::to_string).collect();
    if let Some(last) = params.last_mut().filter(|_| function.variadic) {
        last.insert_str(0, "...");
    }
    format!("{}({}) {}", function.name, params.join(", "), function.result)
}

/// Where the old Sprig differs, v3.3.0 is right.
#[test]
fn sprig_v323_diff() {
    let functions = Functions::new(sprig::TABLES);
    let mut tally = Tally::new("sprig_v323_diff");
    for mut row in rows("sprig_v323_diff.jsonl") {
        for key in ["output", "error"] {
            row[key] = row[format!("v330_{key}")].take();
        }
        // All of them parse.
        row["stage"] = "exec".into();
        let ours = render(
            row["template"].as_str().unwrap(),
            &Slot::of(value(&row["data"])),
            &functions,
        );
        compare(&mut tally, &row, ours);
    }
    tally.report();
}

/// A table of templates, data, outputs and errors.
fn table(name: &'static str, functions: &Functions, data: impl Fn(&Json) -> Slot) {
    let mut tally = Tally::new(name);
    for row in rows(&format!("{name}.jsonl")) {
        let ours = render(row["template"].as_str().unwrap(), &data(&row), functions);
        compare(&mut tally, &row, ours);
    }
    tally.report();
}

/// What a template gave, beside its row: output, or an error with what had been written.
fn compare(tally: &mut Tally, row: &Json, ours: Result<Vec<u8>, Error>) {
    let id = row["id"].as_str().unwrap();
    match (ours, bytes(row, "output")) {
        (Ok(output), Some(expected)) => tally.output(id, &output, &expected),
        (Err(error), None) => {
            tally.stage(id, stage(&error), row["stage"].as_str().unwrap());
            tally.text(id, &error.text, row["error"].as_str().unwrap());
            if let Some(partial) = bytes(row, "partial") {
                tally.output(&format!("{id} (partial)"), &error.partial, &partial);
            }
        }
        (Ok(output), None) => tally.wrong(
            id,
            &format!("{:?} instead of {}", String::from_utf8_lossy(&output), row["error"]),
        ),
        (Err(error), Some(expected)) => tally.wrong(
            id,
            &format!("{error} instead of {:?}", String::from_utf8_lossy(&expected)),
        ),
    }
}

fn stage(error: &Error) -> &'static str {
    match error.stage {
        Stage::Parse => "parse",
        Stage::Exec | Stage::Limit => "exec",
    }
}

/// A text of the row, exactly.
fn bytes(row: &Json, key: &str) -> Option<Vec<u8>> {
    if let Some(base64) = row[format!("{key}_b64")].as_str() {
        return Some(base64::engine::general_purpose::STANDARD.decode(base64).unwrap());
    }
    row[key].as_str().map(|text| text.as_bytes().to_vec())
}

/// Whole numbers are `int`, all others `float64`.
fn value(json: &Json) -> Value {
    match json {
        Json::Null => Value::Nil,
        Json::Bool(truth) => Value::Bool(*truth),
        Json::Number(number) => match number.as_i64() {
            Some(int) => Value::int(int),
            None => Value::float(number.as_f64().unwrap()),
        },
        Json::String(text) => Value::text(text.as_str()),
        Json::Array(items) => Value::list(items.iter().map(value).collect()),
        Json::Object(entries) => Value::dict(entries.iter().map(|(key, item)| (key.as_str(), value(item)))),
    }
}

/// The controllers' own messages. Rows that render by decision C32, and rows of the old Sprig, are counted apart.
#[test]
fn commit_messages() {
    let mut tally = Tally::new("commit_messages");
    for row in rows("commit_messages.jsonl") {
        let id = row["id"].as_str().unwrap();
        let data = message::read(&row["data"].to_string()).unwrap();
        let ours = message::render(row["template"].as_str().unwrap(), &data, Limits::default(), &StillWorld);
        let ours = ours.map_err(|error| error.to_string());
        if let Some(reason) = decided_otherwise(&row, &data, &ours) {
            tally.apart(reason);
            continue;
        }
        if row["nondeterministic"] == true {
            one_of(&mut tally, id, &row, ours);
            continue;
        }
        match (ours, bytes(&row, "output"), row["error"].as_str()) {
            (Ok(output), Some(expected), _) => tally.output(id, &output, &expected),
            (Err(ours), None, Some(expected)) => {
                tally.stage(id, message_stage(&ours), message_stage(expected));
                tally.text(id, &ours, expected);
            }
            (ours, expected, error) => tally.wrong(id, &format!("{ours:?} instead of {expected:?} {error:?}")),
        }
    }
    tally.report();
}

fn message_stage(error: &str) -> &'static str {
    if error.starts_with("unable to create commit message template from spec: ") {
        "parse"
    } else {
        "exec"
    }
}

/// Any listed output is right; where errors are listed, an error is.
fn one_of(tally: &mut Tally, id: &str, row: &Json, ours: Result<Vec<u8>, String>) {
    let listed = |key: &str, text: &str| {
        let texts = row[key].as_array().map(Vec::as_slice).unwrap_or_default();
        texts.iter().any(|listed| listed.as_str() == Some(text))
    };
    match ours {
        Ok(output) => {
            let text = String::from_utf8(output).unwrap();
            if listed("outputs", &text) {
                tally.output(id, b"", b"")
            } else {
                tally.wrong(id, &format!("{text:?} is none of {}", row["outputs"]))
            }
        }
        Err(text) if listed("errors", &text) => tally.text(id, "", ""),
        Err(text) => tally.wrong(id, &text),
    }
}

/// Why a row of the controllers does not say what ours must do.
fn decided_otherwise(row: &Json, data: &Data, ours: &Result<Vec<u8>, String>) -> Option<&'static str> {
    let theirs = row["error"].as_str().unwrap_or_default();
    // C32: what an era lacks or has removed can be read in ours.
    if ours.is_ok() && theirs.starts_with("template uses removed '.") {
        return Some("C32: a field that was removed");
    }
    let missing =
        |field: &str| theirs.contains(&format!("can't evaluate field {field} in type controller.TemplateData"));
    if ours.is_ok() && data.era == Era::V1beta1 && ["Changed", "Values"].into_iter().any(missing) {
        return Some("C32: a field that came later");
    }
    // N-016, fixed in 1.2: an object in several files keeps all its changes, not only those of one file.
    if row["api"] == "v1beta2" && row["template"].as_str().unwrap().contains(".Changed.Objects") && spread(data) {
        return Some("N-016: an object in several files");
    }
    // C32: one name for the data's type.
    let renamed = |text: &str| text.replace("controller.TemplateData", "source.TemplateData");
    let same = match ours {
        Ok(output) => row["output"].as_str().is_some_and(|text| {
            text.contains("controller.TemplateData") && renamed(text).as_bytes() == output.as_slice()
        }),
        Err(error) => theirs.contains("controller.TemplateData") && renamed(theirs) == *error,
    };
    same.then_some("C32: the name of the data's type")
}

/// Whether an object has changes in more than one file.
fn spread(data: &Data) -> bool {
    let mut files = std::collections::BTreeMap::new();
    let mut changes = data.changes.iter();
    changes.any(|change| {
        files
            .insert(&change.object, &change.file)
            .is_some_and(|file| *file != change.file)
    })
}

/// IUA-052 to IUA-056.
#[test]
fn imageref() {
    let mut tally = Tally::new("imageref");
    for row in rows("imageref.jsonl") {
        let id = row["id"].as_str().unwrap();
        let validation = match row["group"].as_str().unwrap() {
            "weak" => Validation::Weak,
            _ => Validation::Strict,
        };
        match (
            Reference::parse(row["ref"].as_str().unwrap(), validation),
            row["error"].as_str(),
        ) {
            (Ok(ours), None) => {
                let scope = format!("repository:{}:pull", ours.repository());
                let parts = [
                    ("String", ours.text()),
                    ("Identifier", ours.identifier().as_str()),
                    ("Repository", &ours.repository()),
                    ("Registry", ours.registry()),
                    ("Name", &ours.name()),
                    ("context", &ours.context()),
                    ("context_name", &ours.context()),
                    ("scheme", ours.scheme()),
                    ("scope_pull", &scope),
                ];
                let join = |parts: Vec<&str>| parts.join("\n").into_bytes();
                let theirs = parts.iter().map(|(key, _)| row[*key].as_str().unwrap());
                tally.output(
                    id,
                    &join(parts.iter().map(|(_, part)| *part).collect()),
                    &join(theirs.collect()),
                );
            }
            (Err(ours), Some(theirs)) => tally.text(id, &ours.to_string(), theirs),
            (ours, theirs) => tally.wrong(id, &format!("{ours:?} instead of {theirs:?}")),
        }
    }
    tally.report();
}
