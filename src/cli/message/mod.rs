//! `bumpwright message`: renders a commit message's template.

pub mod args;
mod changes;

use std::io::{IsTerminal, Read, Write};
use std::path::Path;
use std::process::ExitCode;

use crate::cli::console::{cannot_print, end, say};
use crate::cli::error::{Attempt as _, CliError};
use crate::cli::load;
use crate::cli::words;
use args::Message;
use bumpwright_api::ImageUpdateAutomation;
use bumpwright_message::{self as message, Data, MessageError, ObjectName};
use bumpwright_template::Limits;
use bumpwright_update::{CommitMessage, Machine};
use changes::Recorded;

/// One message to render.
struct Item {
    /// `namespace/name` of its automation.
    heading: String,
    message: CommitMessage,
    data: Data,
}

#[must_use]
pub fn run(args: &Message) -> ExitCode {
    end(items(args).and_then(|items| show(&items)))
}

/// The messages that the arguments ask for.
fn items(args: &Message) -> Result<Vec<Item>, CliError> {
    let objects = load::load(&args.filenames, load::unknown_fields(args.allow_unknown_fields))?;
    let automations: Vec<&ImageUpdateAutomation> = objects.automations().collect();
    if !args.filenames.is_empty() && automations.is_empty() && args.template.is_none() {
        return Err(CliError::new(
            "there is no ImageUpdateAutomation in -f: give one, or --template",
        ));
    }
    let template = args.template.as_deref().map(text_or_file).transpose()?;
    let mut items = match &args.from_json {
        Some(file) => {
            let recorded = changes::read(&text_of(file)?).at(shown(file))?;
            of_runs(recorded, &automations, &objects, template.as_deref())?
        }
        None => of_data(args, &automations)?,
    };
    if let Some(template) = template {
        for item in &mut items {
            item.message.template.clone_from(&template);
        }
    }
    Ok(items)
}

/// One message for each automation, or one without any.
fn of_data(args: &Message, automations: &[&ImageUpdateAutomation]) -> Result<Vec<Item>, CliError> {
    let data = match &args.data {
        Some(file) => message::read(&text_of(file)?).at(shown(file))?,
        None => {
            say("note", "no --data or --from-json: these are the changes of an example");
            message::EXAMPLE.clone()
        }
    };
    if automations.is_empty() {
        return Ok(vec![Item {
            heading: String::new(),
            message: CommitMessage::default(),
            data,
        }]);
    }
    let is_example = args.data.is_none();
    let item = |automation: &&ImageUpdateAutomation| {
        let mut data = data.clone();
        if is_example || data.automation == ObjectName::default() {
            data.automation = name_of(automation);
        }
        // The example has no API version; the data of a file has its own.
        item_of(automation, data, is_example)
    };
    Ok(automations.iter().map(item).collect())
}

/// One message for each run with changes.
fn of_runs(
    recorded: Vec<Recorded>,
    automations: &[&ImageUpdateAutomation],
    objects: &bumpwright_api::Objects,
    template: Option<&str>,
) -> Result<Vec<Item>, CliError> {
    let mut items = Vec::new();
    for run in recorded.into_iter().filter(|run| !run.changes.is_empty()) {
        let name = run.automation.clone().unwrap_or_default();
        let automation = automations
            .iter()
            .find(|automation| automation.metadata.object_name().to_string() == name);
        let automation = match (automation, automations) {
            (Some(automation), _) => Some(automation),
            // A plain run is rendered as if the only automation had made it.
            (None, [only]) if run.automation.is_none() => Some(only),
            (None, []) => None,
            (None, _) => continue,
        };
        let below = automation.map_or("", |automation| automation.path());
        let mut read = run.data(below, objects);
        let message = automation
            .map(|automation| CommitMessage::of(automation))
            .unwrap_or_default();
        let template = template.unwrap_or(&message.template);
        let shows_images = ["Updated", "ImageResult"].iter().any(|field| template.contains(field));
        for policy in std::mem::take(&mut read.unknown_images)
            .into_iter()
            .filter(|_| shows_images)
        {
            say(
                "note",
                &format!(
                    "the image of policy {policy} is not known, so .Updated leaves it out: give its manifest with -f"
                ),
            );
        }
        items.push(match automation {
            Some(automation) => {
                read.data.automation = name_of(automation);
                item_of(automation, read.data, true)
            }
            None => Item {
                heading: name,
                message: CommitMessage::default(),
                data: read.data,
            },
        });
    }
    if items.is_empty() {
        Err(CliError::new(
            "--from-json: no run in it changed anything (for the automations in -f)",
        ))
    } else {
        Ok(items)
    }
}

fn item_of(automation: &ImageUpdateAutomation, mut data: Data, own_era: bool) -> Item {
    let message = CommitMessage::of(automation);
    if data.values.is_none() {
        data.values.clone_from(&message.values);
    }
    if own_era {
        data.era = message.era;
    }
    Item {
        heading: automation.metadata.object_name().to_string(),
        message,
        data,
    }
}

fn name_of(automation: &ImageUpdateAutomation) -> ObjectName {
    ObjectName {
        namespace: automation.metadata.namespace_or_default().to_owned(),
        name: automation.metadata.name.clone(),
    }
}

/// Prints the messages, up to the first that cannot be rendered.
fn show(items: &[Item]) -> Result<(), CliError> {
    let mut out = std::io::stdout().lock();
    for item in items {
        let template = &item.message.template;
        let rendered = message::render(template, &item.data, Limits::default(), &Machine)
            .map_err(|error| pointed(template, &error))?;
        let heading = match items.len() {
            1 => String::new(),
            _ => format!("==> {} <==\n", words::inline(&item.heading)),
        };
        // Verbatim, so that it can be compared or hashed; only on a terminal or before another message a
        // line end is added.
        let ends = (items.len() > 1 || out.is_terminal()) && !rendered.ends_with(b"\n");
        let written = out
            .write_all(heading.as_bytes())
            .and_then(|()| out.write_all(&rendered))
            .and_then(|()| out.write_all(if ends { b"\n" } else { b"" }));
        match written {
            Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => return Ok(()),
            written => written.map_err(cannot_print)?,
        }
    }
    Ok(())
}

/// The error with the template line that it is about.
fn pointed(template: &str, error: &MessageError) -> CliError {
    let place = error.place();
    let line = template
        .split('\n')
        .nth(place.line.saturating_sub(1))
        .unwrap_or_default();
    let number = place.line.to_string();
    let margin = " ".repeat(number.len());
    let (line, column) = window(line, place.column.saturating_sub(1));
    // Tabs stay tabs, so that the mark is below its character.
    let before = line.chars().take(column);
    let before: String = before.map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
    let mut text = format!(
        "{error}\n{margin}--> message template, line {}, column {}\n{margin} |\n{number} | {line}\n{margin} | {before}^",
        place.line, place.column
    );
    if let Some(hint) = error.hint() {
        text.push_str(&format!("\n{margin} = {hint}"));
    }
    CliError::new(text)
}

/// The part of a line around a column, and the column in it. Lines of templates can be very long.
fn window(line: &str, column: usize) -> (String, usize) {
    const AROUND: usize = 60;
    let start = column.saturating_sub(AROUND);
    let mut shown: String = line.chars().skip(start).take(2 * AROUND).collect();
    if line.chars().nth(start + 2 * AROUND).is_some() {
        shown.push('…');
    }
    match start {
        0 => (shown, column),
        _ => (format!("…{shown}"), column - start + 1),
    }
}

fn text_or_file(text: &str) -> Result<String, CliError> {
    match text.strip_prefix('@') {
        Some(file) => text_of(Path::new(file)),
        None => Ok(text.to_owned()),
    }
}

/// The name of a file in errors.
fn shown(file: &Path) -> String {
    match file.to_str() {
        Some("-") => "standard input".to_owned(),
        _ => file.display().to_string(),
    }
}

/// The text of a file; `-` is standard input.
fn text_of(file: &Path) -> Result<String, CliError> {
    if file.as_os_str() == "-" {
        let mut text = String::new();
        let read = std::io::stdin().read_to_string(&mut text);
        return read.map(|_| text).at(shown(file));
    }
    std::fs::read_to_string(file).at(shown(file))
}
