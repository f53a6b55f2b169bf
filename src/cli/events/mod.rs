//! `bumpwright events`: events about the objects of Flux's kinds, in kubectl's columns.

pub mod args;

use std::collections::BTreeSet;
use std::process::ExitCode;

use serde::Serialize;

use crate::cli::console::{cannot_print, end_with, print, print_styled};
use crate::cli::error::CliError;
use crate::cli::images::now;
use crate::cli::view::args::Shape;
use crate::cli::view::events::{of_kinds, of_object};
use crate::cli::view::table::{Cell, Table};
use crate::cli::view::text::{WARN, age, columns};
use crate::cli::view::{at, document, kinds};
use crate::cli::words;
use args::{EventType, Events};
use bumpwright_kube::Cluster;
use bumpwright_overview::EventFacts;

/// An event as documents have it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Event {
    /// The object, as `Kind/namespace/name`.
    id: String,
    #[serde(skip)]
    namespace: String,
    #[serde(skip)]
    object: String,
    #[serde(rename = "type")]
    kind: String,
    reason: String,
    message: String,
    /// In seconds since 1970-01-01 UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    first: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last: Option<i64>,
    count: i64,
}

/// The document of `-o json` and `-o yaml`.
#[derive(Serialize)]
struct Document<'a> {
    version: u32,
    events: &'a [Event],
}

#[must_use]
pub(super) fn run(args: &Events) -> ExitCode {
    end_with(at(&args.places.place, async |cluster| show(args, &cluster).await))
}

async fn show(args: &Events, cluster: &Cluster) -> Result<u8, CliError> {
    let namespace = args.places.namespace();
    let objects = match &args.object {
        Some(object) => {
            let (kind, name) = object_of(object)?;
            of_object(cluster, namespace, kind, &name).await?
        }
        None => {
            let kinds: BTreeSet<&str> = kinds::all().map(|kind| kind.kind).collect();
            of_kinds(cluster, namespace, &kinds).await?
        }
    };
    let mut events: Vec<Event> = objects.into_iter().map(Event::of).collect();
    events.retain(|event| args.types.is_empty() || args.types.iter().any(|kind| name_of(*kind) == event.kind));
    events.sort_by(|a, b| a.last.cmp(&b.last).then_with(|| a.id.cmp(&b.id)));
    let document = Document {
        version: document::VERSION,
        events: &events,
    };
    let printed = match args.output {
        Shape::Json => print(document::json(&document)?.as_bytes()),
        Shape::Yaml => print(document::yaml(&document)?.as_bytes()),
        Shape::Text if events.is_empty() => {
            say_nothing(namespace);
            Ok(())
        }
        Shape::Text => print_styled(&table(&events, args).render(!args.no_header, 0, columns())),
    };
    printed.map_err(cannot_print)?;
    Ok(0)
}

/// The kind and the name of `--for`.
fn object_of(object: &str) -> Result<(&'static str, String), CliError> {
    match kinds::typed(&[object.to_owned()])?.objects.as_slice() {
        [(kind, name)] => Ok((kind.kind, name.clone())),
        _ => Err(CliError::new(format!("--for: {object:?} is not KIND/NAME"))),
    }
}

fn name_of(kind: EventType) -> &'static str {
    match kind {
        EventType::Normal => "Normal",
        EventType::Warning => "Warning",
    }
}

impl Event {
    fn of(event: EventFacts) -> Self {
        let name = event.involved_object.from(&event.metadata.namespace);
        let (first, last) = (event.first(), event.at());
        let kind = event.involved_object.kind;
        Self {
            id: format!("{kind}/{name}"),
            object: format!("{}/{}", kind.to_lowercase(), name.name),
            namespace: name.namespace,
            kind: event.kind,
            reason: event.reason,
            message: event.message,
            first,
            last,
            count: event.count.unwrap_or(1).max(1),
        }
    }

    /// As kubectl has it: `2m (x5 over 10m)`.
    fn seen(&self, now: i64) -> String {
        let last = age(now, self.last);
        match self.count {
            1 => last,
            count => format!("{last} (x{count} over {})", age(now, self.first)),
        }
    }
}

fn table(events: &[Event], args: &Events) -> Table {
    let now = now().unix_seconds();
    let namespaced = args.places.all_namespaces;
    let headings = ["LAST SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE"];
    let row = |event: &Event| {
        let kind = match event.kind.as_str() {
            "Warning" => Cell::styled("Warning", WARN),
            other => Cell::new(other),
        };
        let lines: Vec<&str> = event.message.lines().map(str::trim).collect();
        let namespace = namespaced.then(|| Cell::new(&event.namespace));
        let cells = [
            Cell::new(event.seen(now)),
            kind,
            Cell::new(&event.reason),
            Cell::new(&event.object),
            Cell::new(lines.join(" ")),
        ];
        namespace.into_iter().chain(cells).collect()
    };
    Table {
        headings: namespaced.then_some("NAMESPACE").into_iter().chain(headings).collect(),
        rows: events.iter().map(row).collect(),
    }
}

/// In kubectl's words.
fn say_nothing(namespace: Option<&str>) {
    let text = match namespace {
        Some(namespace) => format!("No events found in {namespace} namespace."),
        None => "No events found.".to_owned(),
    };
    let _ = std::io::Write::write_all(&mut std::io::stderr(), format!("{}\n", words::inline(&text)).as_bytes());
}
