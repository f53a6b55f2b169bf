//! What templates show, page by page: texts, links and classes, without markup.

mod automations;
mod graph;
mod images;
mod kustomizations;
mod list;
mod object;
mod other;
mod overview;
mod part;
mod releases;
mod review;
mod reviews;
mod sources;

pub(crate) use part::{DiffLine, diff, is_safe};
use tera::Context;

use super::frame::Frame;
use super::page::Page;

/// A page as its template gets it.
pub(crate) struct View {
    /// The name of the template.
    pub template: &'static str,
    /// The title of the document.
    pub title: String,
    /// The part of the navigation that it belongs to.
    pub part: &'static str,
    /// Whether it is shown to people who are not signed in.
    pub is_bare: bool,
    pub context: Context,
}

impl View {
    fn new(template: &'static str, title: impl Into<String>, part: &'static str) -> Self {
        Self {
            template,
            title: title.into(),
            part,
            is_bare: false,
            context: Context::new(),
        }
    }

    fn with(mut self, name: &'static str, value: &(impl serde::Serialize + ?Sized)) -> Self {
        self.context.insert(name, value);
        self
    }
}

/// The view of a page.
pub(crate) fn of(frame: &Frame<'_>, page: &Page<'_>) -> View {
    match *page {
        Page::Overview(overview) => overview::overview(frame, overview),
        Page::Attention(all, listing) => overview::attention(frame, all, listing),
        Page::Images(images, listing) => images::board(frame, images, listing),
        Page::Policy {
            image,
            rule,
            tags,
            listing,
        } => images::policy(frame, image, (rule, tags), listing),
        Page::Automations(all, listing) => automations::list(frame, all, listing),
        Page::Automation {
            automation,
            runs,
            note,
            images,
        } => automations::one(frame, automation, (runs, note), images),
        Page::Kustomizations(all, graph, listing) => kustomizations::list(frame, all, graph, listing),
        Page::Kustomization {
            kustomization,
            tree,
            inventory,
            differences,
            listing,
        } => {
            let more = kustomizations::Objects {
                tree,
                inventory,
                differences,
            };
            kustomizations::one(frame, kustomization, &more, listing)
        }
        Page::Releases(all, listing) => releases::list(frame, all, listing),
        Page::Release {
            release,
            tree,
            inventory,
            changes,
            listing,
        } => releases::one(frame, release, (tree, inventory), changes, listing),
        Page::Sources(all, listing) => sources::list(frame, all, listing),
        Page::Source {
            source,
            automations,
            changes,
        } => sources::one(frame, source, automations, changes),
        Page::Reviews { changes, note, listing } => reviews::list(frame, changes, note, listing),
        Page::Review { change, listing } => review::one(frame, change, listing),
        Page::Timeline(changes, listing) => other::timeline(frame, changes, listing),
        Page::Object(object) => object::one(frame, object),
        Page::Search(hits, listing) => other::search(hits, listing),
        Page::SignIn { error, back } => other::sign_in(error, back),
        Page::Error { status, message } => other::error(status, message),
    }
}

/// When a page was made.
pub(crate) fn made(now: i64) -> impl serde::Serialize {
    part::When::new(now, now)
}
