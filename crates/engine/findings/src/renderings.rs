//! A report in each of its formats.

use crate::report::Report;
use crate::{github, html, json, junit, sarif, text, words};

impl Report {
    /// `2 errors, 1 warning in 5 Kustomizations, 3 accepted`.
    #[must_use]
    pub fn summary(&self) -> String {
        words::summary(self)
    }

    /// Lines for people, and a summary. Colours are always included: the output stream removes them.
    #[must_use]
    pub fn text(&self) -> String {
        text::render(self)
    }

    /// A JSON document (docs/reference/findings.schema.json), with a final line feed.
    #[must_use]
    pub fn json(&self) -> String {
        json::render(self)
    }

    /// What the JSON document has besides its version, for a part of a larger document.
    #[must_use]
    pub fn view(&self) -> impl serde::Serialize + '_ {
        json::view(self)
    }

    /// A SARIF 2.1.0 log, as GitHub's code scanning wants it, with a final line feed.
    #[must_use]
    pub fn sarif(&self) -> String {
        sarif::render(self)
    }

    /// A JUnit XML document: a test suite for each Kustomization.
    #[must_use]
    pub fn junit(&self) -> String {
        junit::render(self)
    }

    /// Workflow commands of GitHub Actions, which make annotations, and a summary.
    #[must_use]
    pub fn github(&self) -> String {
        github::render(self)
    }

    /// The findings as a part of a page.
    #[must_use]
    pub fn section(&self) -> bumpwright_pages::report::Section {
        html::section(self)
    }

    /// A page of its own.
    ///
    /// # Errors
    /// [`bumpwright_pages::RenderError`] for a fault of a template.
    pub fn html(&self) -> Result<String, bumpwright_pages::RenderError> {
        html::render(self)
    }
}
