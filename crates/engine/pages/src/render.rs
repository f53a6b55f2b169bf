//! From a page to HTML.

use super::frame::Frame;
use super::page::Page;

/// A page that cannot be made: a fault of a template.
#[derive(Debug, thiserror::Error)]
#[error("the page cannot be made: {0}")]
pub struct RenderError(String);

/// The HTML of a page.
///
/// # Errors
/// [`RenderError`] for a fault of a template.
pub fn render(frame: &Frame<'_>, page: &Page<'_>) -> Result<String, RenderError> {
    let mut tera = tera::Tera::new();
    tera.set_escape_fn(super::escape::html);
    tera.add_raw_template("base.html", include_str!("../../../../templates/ui/base.html"))
        .map_err(|error| RenderError(error.to_string()))?;
    let mut context = tera::Context::new();
    context.insert("path", frame.path);
    context.insert("text", &format!("{page:?}"));
    tera.render("base.html", &context)
        .map_err(|error| RenderError(error.to_string()))
}
