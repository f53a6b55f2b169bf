//! What a sender that has proved itself is told: forges show it beside the delivery.

use super::event::shown;
use super::{Event, Image, Push};

/// One line of plain text for the answer (status 202) and the log. Names of objects are not in it.
#[must_use]
pub fn answer(events: &[Event], selected: usize) -> String {
    let told = events.first().map_or_else(|| "nothing".to_owned(), told);
    let more = match events.len() {
        0 | 1 => String::new(),
        number => format!(" and {} more", number - 1),
    };
    let changes = events
        .iter()
        .any(|event| matches!(event, Event::Push(_) | Event::Image(_)));
    match (changes, selected) {
        (false, _) => format!("{told}{more}"),
        (true, 0) => format!("{told}{more}: no object follows that"),
        (true, 1) => format!("{told}{more}: 1 object is asked to look"),
        (true, number) => format!("{told}{more}: {number} objects are asked to look"),
    }
}

fn told(event: &Event) -> String {
    match event {
        Event::Push(Push {
            addresses, reference, ..
        }) => {
            let address = addresses.first().map(ToString::to_string).unwrap_or_default();
            let reference = reference.as_deref().unwrap_or("any reference");
            format!("push to {} of {}", shown(reference, 100), shown(&address, 100))
        }
        Event::Image(Image { names, tag, .. }) => {
            let name = names.first().map(ToString::to_string).unwrap_or_default();
            let tag = tag.as_deref().unwrap_or("any");
            format!("push of tag {} of {}", shown(tag, 100), shown(&name, 100))
        }
        Event::Ping => "the token is right".to_owned(),
        Event::Ignored(what) => format!("ignored: {}", shown(what, 100)),
    }
}
