//! Releases of a repository at its forge.

use serde::Deserialize;

use super::api::null_as_empty;
use super::{Forge, ForgeError, GitLab};
use bumpwright_http::Request;

/// The longest text that is kept of a release, in bytes; the rest is left out.
const LONGEST: usize = 64 << 10;

/// The same for its title and its page. A server may write megabytes there, too; no page that is shown is as long.
const LONGEST_LINE: usize = 4 << 10;

/// A release (GitHub REST API 2022-11-28, *Releases*; Gitea API v1, *repository*; GitLab REST API v4, *Releases*).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Release {
    /// Its title; may be empty.
    pub title: String,
    /// Its page; may be empty at GitLab.
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
            #[serde(default, deserialize_with = "null_as_empty")]
            name: String,
            #[serde(default, deserialize_with = "null_as_empty")]
            body: String,
            #[serde(default)]
            draft: bool,
        }
        let attempt = format!("look at the release {tag}");
        let url = self.repository.url(&["releases", "tags", tag]);
        let answer = self.calls.send(&attempt, Request::get(url))?;
        if answer.status.as_u16() == 404 {
            return Ok(None);
        }
        if !answer.status.is_success() {
            return Err(self.calls.refused(&attempt, &answer));
        }
        let found: Answered = self.calls.read(&attempt, &answer)?;
        if found.draft {
            return Ok(None);
        }
        Ok(Some(Release {
            title: bounded(found.name, LONGEST_LINE),
            url: bounded(found.html_url, LONGEST_LINE),
            text: bounded(found.body, LONGEST),
        }))
    }
}

impl GitLab {
    /// The release of a tag; `None` if it does not exist, or may not be seen.
    ///
    /// # Errors
    /// [`ForgeError`] when GitLab does not answer, or refuses.
    pub fn release(&self, tag: &str) -> Result<Option<Release>, ForgeError> {
        #[derive(Deserialize)]
        struct Answered {
            #[serde(default, deserialize_with = "null_as_empty")]
            name: String,
            #[serde(default, deserialize_with = "null_as_empty")]
            description: String,
            #[serde(default, rename = "_links", deserialize_with = "null_as_empty")]
            links: Links,
        }
        #[derive(Default, Deserialize)]
        struct Links {
            #[serde(default, rename = "self", deserialize_with = "null_as_empty")]
            own: String,
        }
        let attempt = format!("look at the release {tag}");
        let answer = self.calls.send(&attempt, Request::get(self.url(&["releases", tag])))?;
        if answer.status.as_u16() == 404 {
            return Ok(None);
        }
        if !answer.status.is_success() {
            return Err(self.calls.refused(&attempt, &answer));
        }
        let found: Answered = self.calls.read(&attempt, &answer)?;
        Ok(Some(Release {
            title: bounded(found.name, LONGEST_LINE),
            url: bounded(found.links.own, LONGEST_LINE),
            text: bounded(found.description, LONGEST),
        }))
    }
}

/// The first bytes of a text, without the memory of the others.
fn bounded(mut text: String, longest: usize) -> String {
    text.truncate(text.floor_char_boundary(longest));
    text.shrink_to_fit();
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_takes_no_more_memory_than_is_kept_of_it() {
        let text = bounded("ä".repeat(1 << 20), 4097);
        assert_eq!(text.len(), 4096);
        assert!(text.capacity() < 1 << 16, "{}", text.capacity());
        assert_eq!(bounded("v1".to_owned(), 4097), "v1");
    }
}
