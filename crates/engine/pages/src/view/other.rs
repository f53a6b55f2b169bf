//! The timeline, the search, signing in, and errors.

use bumpwright_overview::Change;
use serde::Serialize;

use super::super::frame::Frame;
use super::super::listing::{Listing, ROWS};
use super::super::route::Route;
use super::super::search::{Found, Hit};
use super::View;
use super::list::List;
use super::part::{Badge, Event, Object};

pub(super) fn timeline(frame: &Frame<'_>, changes: &[Change], listing: &Listing) -> View {
    let list = List::new(
        &Route::Timeline.to_string(),
        changes,
        listing,
        &["failed", "held", "put back", "pushed", "applied", "event"],
        |change, word| change.kind.words() == word,
        |change, words| {
            let text = format!("{} {} {} {}", change.id, change.reason, change.message, change.commit);
            text.to_lowercase().contains(words)
        },
        |change| Event::new(frame.now, change),
    );
    View::new("timeline.html", "Timeline", "timeline").with("list", &list)
}

#[derive(Serialize)]
struct Result {
    object: Object,
    state: Option<Badge>,
    why: String,
}

pub(super) fn search(hits: &[Hit], listing: &Listing) -> View {
    let list = List::new(
        &Route::Search.to_string(),
        hits,
        &Listing::default(),
        &[],
        |_, _| true,
        |_, _| true,
        |hit| Result {
            object: match &hit.object {
                Found::Known(id) => Object::new(id),
                Found::Applied(entry) => Object::of_entry(entry),
                Found::Elsewhere(entry) => Object::elsewhere(entry),
            },
            state: match &hit.object {
                Found::Elsewhere(_) => Some(Badge::elsewhere()),
                _ => hit.readiness.as_ref().map(Badge::of_readiness),
            },
            why: super::part::cell(&hit.why),
        },
    );
    View::new("search.html", "Search", "search")
        .with("list", &list)
        .with("most", &ROWS)
        .with("words", &listing.words)
}

pub(super) fn sign_in(error: Option<&str>, back: &str) -> View {
    let view = View::new("sign-in.html", "Sign in", "");
    let view = view
        .with("error", &error)
        .with("back", back)
        .with("to", &Route::SignIn.to_string());
    View { is_bare: true, ..view }
}

pub(super) fn error(status: u16, message: &str) -> View {
    let words = match status {
        400 => "This request is not understood",
        401 => "Sign in first",
        403 => "You may not see this",
        404 => "There is no such page",
        405 => "This cannot be done here",
        429 => "Too many requests",
        503 => "Not ready yet",
        _ => "Something went wrong",
    };
    View::new("error.html", words, "")
        .with("words", words)
        .with("status", &status)
        .with("message", message)
}
