//! The response to an authenticated sender, which forges show beside the delivery.

use super::event::shown;
use super::{Event, Image, Push};

/// A line of plain text for the response (status 202) and the log, without names of objects.
#[must_use]
pub fn answer(events: &[Event], selected: usize) -> String {
    let first = events.first().map_or_else(|| "nothing".to_owned(), describe);
    let more = match events.len() {
        0 | 1 => String::new(),
        number => format!(" and {} more", number - 1),
    };
    let changes = events
        .iter()
        .any(|event| matches!(event, Event::Push(_) | Event::Image(_)));
    match (changes, selected) {
        (false, _) => format!("{first}{more}"),
        (true, 0) => format!("{first}{more}: no object follows it"),
        (true, 1) => format!("{first}{more}: 1 object will be reconciled"),
        (true, number) => format!("{first}{more}: {number} objects will be reconciled"),
    }
}

/// An event has at least one address or name; its others are the same repository.
fn first(all: &[impl ToString]) -> String {
    all.first().map_or_else(String::new, ToString::to_string)
}

fn describe(event: &Event) -> String {
    match event {
        Event::Push(Push {
            addresses, reference, ..
        }) => {
            let address = first(addresses);
            let reference = reference.as_deref().unwrap_or("any reference");
            format!("push to {} of {}", shown(reference, 100), shown(&address, 100))
        }
        Event::Image(Image { names, tag, .. }) => {
            let name = first(names);
            let tag = tag.as_deref().unwrap_or("any");
            format!("push of tag {} of {}", shown(tag, 100), shown(&name, 100))
        }
        Event::Ping => "the token matches".to_owned(),
        Event::Ignored(what) => format!("ignored: {}", shown(what, 100)),
    }
}
