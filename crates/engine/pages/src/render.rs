//! From a page to HTML.

use std::sync::LazyLock;

use serde::Serialize;
use tera::{Context, Tera};

use super::assets::{script_path, style_path};
use super::escape;
use super::frame::Frame;
use super::page::Page;
use super::route::Route;
use super::view;

/// A page that cannot be made: a fault of a template.
#[derive(Debug, thiserror::Error)]
pub enum RenderError {
    /// A template cannot be read.
    #[error("the page cannot be made: {0}")]
    Template(&'static tera::Error),
    #[error("the page cannot be made: {0}")]
    Render(#[from] tera::Error),
}

macro_rules! templates {
    ($($folder:literal: $($name:literal)*;)*) => {
        [$(&[$(($name, include_str!(concat!("../../../../templates/", $folder, "/", $name)))),*]),*]
    };
}

/// The templates. The names end with `.html`: whatever they show is escaped.
const TEMPLATES: [&[(&str, &str)]; 2] = templates! {
    "ui": "parts.html" "base.html" "overview.html" "attention.html" "images.html" "policy.html" "automations.html" "automation.html"
        "kustomizations.html" "kustomization.html" "releases.html" "release.html" "sources.html" "source.html" "timeline.html" "object.html" "search.html"
        "reviews.html" "review.html" "sign-in.html" "error.html";
    "report": "report.html";
};

/// Read when the first page is asked for, so that a process without readers has none of it.
static TERA: LazyLock<Result<Tera, tera::Error>> = LazyLock::new(|| {
    let mut tera = Tera::new();
    tera.set_escape_fn(escape::html);
    let added = tera.add_raw_templates(TEMPLATES.iter().copied().flatten().copied());
    added.map(|()| tera)
});

/// A part of the navigation.
#[derive(Serialize)]
struct Part {
    name: &'static str,
    href: String,
    is_current: bool,
}

/// The HTML of a page.
///
/// # Errors
/// [`RenderError`] for a fault of a template.
pub fn render(frame: &Frame<'_>, page: &Page<'_>) -> Result<String, RenderError> {
    let view = view::of(frame, page);
    let part = |key: &str, name, route: Route| Part {
        name,
        href: route.to_string(),
        is_current: view.part == key,
    };
    let reviews = frame.has_reviews.then(|| part("reviews", "Reviews", Route::Reviews));
    let parts = [
        part("overview", "Overview", Route::Overview),
        part("images", "Images", Route::Images),
        part("automations", "Automations", Route::Automations),
        part("kustomizations", "Kustomizations", Route::Kustomizations),
        part("sources", "Sources", Route::Sources),
    ];
    let parts = parts.into_iter().chain(reviews);
    let parts: Vec<Part> = parts.chain([part("timeline", "Timeline", Route::Timeline)]).collect();
    let mut context = view.context;
    context.insert("title", &view.title);
    context.insert("is_bare", &view.is_bare);
    context.insert("parts", &parts);
    context.insert("person", &frame.person);
    context.insert("csrf", &frame.csrf);
    context.insert("can_sign_out", &(frame.can_sign_out && frame.csrf.is_some()));
    context.insert("sign_out", &Route::SignOut.to_string());
    context.insert("version", frame.version);
    context.insert("cluster", frame.cluster);
    context.insert("live", &frame.live.map(|seen| format!("{}?seen={seen}", Route::Events)));
    context.insert("attention", &frame.attention);
    context.insert("attention_href", &Route::Attention.to_string());
    context.insert("notice", &frame.notice);
    context.insert("is_partial", &frame.is_partial);
    context.insert("search_href", &Route::Search.to_string());
    context.insert("style", style_path());
    context.insert("script", script_path());
    context.insert("made", &view::made(frame.now));
    filled(view.template, &context)
}

/// A template with values.
pub(crate) fn filled(template: &str, context: &Context) -> Result<String, RenderError> {
    let tera = TERA.as_ref().map_err(RenderError::Template)?;
    Ok(tera.render(template, context)?)
}
