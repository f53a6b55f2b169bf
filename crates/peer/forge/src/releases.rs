//! Releases of a repository at its forge.

use serde::Deserialize;

use super::{Forge, ForgeError};
use bumpwright_http::Request;

/// The longest text that is read of a release, in bytes; the rest is left out.
const LONGEST: usize = 64 << 10;

/// A release (GitHub REST API 2022-11-28, *Releases*; Gitea API v1, *repository*).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Release {
    /// Its title; may be empty.
    pub title: String,
    /// Its page.
    pub url: String,
    /// Its text, in Markdown as its author wrote it.
    pub text: String,
}

impl Forge {
    /// The release of a tag; `None` if it does not exist, or is a draft.
    ///
    /// # Errors
    /// [`ForgeError`] when the forge does not answer, or refuses.
    pub fn release(&self, tag: &str) -> Result<Option<Release>, ForgeError> {
        #[derive(Deserialize)]
        struct Answered {
            html_url: String,
            #[serde(default)]
            name: Option<String>,
            #[serde(default)]
            body: Option<String>,
            #[serde(default)]
            draft: bool,
        }
        let attempt = format!("look at the release {tag}");
        let url = self.repository.url(&["releases", "tags", tag]);
        let answer = self.send(&attempt, Request::get(url))?;
        if answer.status.as_u16() == 404 {
            return Ok(None);
        }
        if !answer.status.is_success() {
            return Err(self.refused(&attempt, &answer));
        }
        let found: Answered = self.read(&attempt, &answer)?;
        if found.draft {
            return Ok(None);
        }
        let mut text = found.body.unwrap_or_default();
        let end = (0..=LONGEST.min(text.len()))
            .rev()
            .find(|end| text.is_char_boundary(*end));
        text.truncate(end.unwrap_or_default());
        Ok(Some(Release {
            title: found.name.unwrap_or_default(),
            url: found.html_url,
            text,
        }))
    }
}
