//! Pull requests that are known by their numbers: those that a push to `refs/for/…` has opened (AGit).

use super::{Forge, ForgeError};

/// A pull request that is identified by its number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Numbered {
    /// Its number in the repository.
    pub number: u64,
    /// The address of its web page.
    pub url: String,
    pub title: String,
    /// The branch to merge into.
    pub base: String,
    /// Whether it is open, closed or merged.
    pub end: End,
}

/// The end of a pull request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Open,
    Merged,
    /// It was closed without a merge.
    Closed,
}

impl Forge {
    /// Gets a pull request.
    ///
    /// # Errors
    /// [`ForgeError`] when the forge does not answer or refuses.
    pub fn numbered(&self, number: u64) -> Result<Numbered, ForgeError> {
        let request = self.request(number)?;
        let end = match (&request.merged_at, &request.closed_at) {
            (Some(_), _) => End::Merged,
            (None, Some(_)) => End::Closed,
            (None, None) => End::Open,
        };
        Ok(Numbered {
            number: request.number,
            base: request.base_branch().to_owned(),
            url: request.html_url,
            title: request.title,
            end,
        })
    }
}
