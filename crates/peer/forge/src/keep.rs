//! One open pull request for a branch: opened if missing, updated when its content differs. It is looked for
//! before anything is pushed.

use super::api::{Edited, NewPullRequest, Opened, PullRequest, PullRequestEdit};
use super::description::{Content, Description, is_ours, setup_of};
use super::setup::{self, DRAFT};
use super::{Forge, ForgeApi, ForgeError, Row};
use bumpwright_api::PullRequestSetup;
use bumpwright_text::Excerpt;

/// The longest title at both GitHub (256) and Gitea (255), in characters.
const LONGEST_TITLE: usize = 255;

/// How often an update is tried that changes of people overtake.
const EDITS: usize = 3;

/// The wanted state of a pull request.
#[derive(Clone, Debug)]
pub struct WantedPullRequest<'a> {
    /// The branch with the changes.
    pub head: &'a str,
    pub base: &'a str,
    /// The commit of `head`, in hexadecimal.
    pub commit: &'a str,
    /// The title; a default where it is empty, since forges require one.
    pub title: &'a str,
    /// The commit's whole message, without what the summary has; what is below its first line is shown.
    pub message: &'a str,
    /// All changes of `head` against `base`.
    pub changes: &'a [Row],
    /// What is bumped, in Markdown, above them; may be empty.
    pub summary: &'a str,
    /// More to say below them, in Markdown; may be empty. It is left out where it does not fit.
    pub section: &'a str,
    /// What it is given when it is opened.
    pub setup: &'a PullRequestSetup,
}

/// The result for a pull request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// Its number in the repository.
    pub number: u64,
    /// The address of its web page.
    pub url: String,
    pub state: PullRequestState,
}

/// What was done with a pull request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PullRequestState {
    Opened,
    /// Title or description were changed.
    Updated,
    /// It was up to date.
    Unchanged,
    /// It was closed without a merge and its content is the same: it stays closed.
    Declined,
    /// Somebody else has committed to its branch: both are left alone.
    Edited,
}

/// The pull request of a branch before a push.
#[derive(Debug)]
pub enum Found {
    /// None, or only some with other content.
    Nothing,
    Open(OpenPullRequest),
    /// One with the same content that somebody has closed without a merge.
    Declined(Kept),
}

/// An open pull request.
#[derive(Debug)]
pub struct OpenPullRequest(Box<PullRequest>);

impl OpenPullRequest {
    /// It is left alone, since somebody else has committed to its branch.
    #[must_use]
    pub fn edited(self) -> Kept {
        kept(*self.0, PullRequestState::Edited)
    }
}

impl Forge {
    /// Looks for the pull request from `head` to `base`. Nothing is changed.
    ///
    /// # Errors
    /// [`ForgeError`] when the forge does not answer or refuses.
    pub fn find(&self, wanted: &WantedPullRequest<'_>) -> Result<Found, ForgeError> {
        if let Some(open) = self.open_request(wanted.head, wanted.base)? {
            return Ok(Found::Open(OpenPullRequest(Box::new(open))));
        }
        let content = Content::of(wanted.changes);
        let closed = self.declined((wanted.head, wanted.base), &content, wanted.commit)?;
        Ok(closed.map_or(Found::Nothing, |closed| {
            Found::Declined(kept(closed, PullRequestState::Declined))
        }))
    }

    /// Ensures one open pull request from `head` to `base` with the wanted content, after [`Forge::find`]. Changes of
    /// people to title and description are kept.
    ///
    /// # Errors
    /// [`ForgeError`] when the forge does not answer or refuses. A retry is safe.
    pub fn keep(&self, found: Found, wanted: &WantedPullRequest<'_>) -> Result<Kept, ForgeError> {
        let content = Content::of(wanted.changes);
        match found {
            Found::Declined(kept) => return Ok(kept),
            Found::Open(open) => return self.revise(*open.0, wanted, &content),
            Found::Nothing => {}
        }
        let title = title(wanted.title);
        let body = Description::new(wanted, &title, &content).into_body("");
        let is_wip = wanted.setup.draft && self.kind == ForgeApi::Gitea;
        let new = NewPullRequest {
            title: &if is_wip { format!("{DRAFT}{title}") } else { title },
            head: wanted.head,
            base: wanted.base,
            body: &body,
            draft: wanted.setup.draft && self.kind == ForgeApi::GitHub,
        };
        match self.open(&new)? {
            Opened::PullRequest(ours) => match self.older_twin(&ours, wanted)? {
                None if setup::digest(wanted.setup).is_none() => Ok(kept(*ours, PullRequestState::Opened)),
                None => self.revise(*ours, wanted, &content).map(opened),
                Some(older) => {
                    self.close(ours.number)?;
                    self.revise(older, wanted, &content)
                }
            },
            // Another process was faster.
            Opened::Exists(refused) => match self.open_request(wanted.head, wanted.base)? {
                Some(open) => self.revise(open, wanted, &content),
                None => Err(refused),
            },
        }
    }

    /// The oldest of several open requests for the same branches. Gitea opens a second one if it is asked for both in
    /// the same moment; of the processes that asked, each but the first finds an older one here.
    fn older_twin(
        &self,
        ours: &PullRequest,
        wanted: &WantedPullRequest<'_>,
    ) -> Result<Option<PullRequest>, ForgeError> {
        if self.kind != ForgeApi::Gitea {
            return Ok(None);
        }
        let (head, base) = (wanted.head, wanted.base);
        let attempt = format!("look for other pull requests from {head} to {base}");
        // Newest first: one that was not there before ours was opened is on the first page.
        let (open, _) = self.page(&attempt, self.list("open", head, base, 1))?;
        let twins = open.into_iter().filter(|twin| twin.joins(head, base));
        Ok(twins
            .min_by_key(|twin| twin.number)
            .filter(|oldest| oldest.number < ours.number))
    }

    /// Updates the fields that differ, if any.
    fn revise(
        &self,
        mut open: PullRequest,
        wanted: &WantedPullRequest<'_>,
        content: &Content,
    ) -> Result<Kept, ForgeError> {
        let ours = title(wanted.title);
        let setup = setup::digest(wanted.setup);
        if setup.is_some() && setup != setup_of(&open.description) {
            self.equip(&open, wanted.setup, wanted.commit)?;
        }
        let mut tries = 0;
        loop {
            let old = open.description.as_str();
            let (draft, present) = match open.title.trim().strip_prefix(DRAFT) {
                Some(rest) if self.kind == ForgeApi::Gitea => (DRAFT, rest.trim()),
                _ => ("", open.title.trim()),
            };
            let new_title = (is_ours(present, old) && ours != present).then(|| format!("{draft}{ours}"));
            let description = Description::new(wanted, &ours, content).given(setup.clone());
            let body = description.into_body(old);
            let new_body = Some(body.as_str()).filter(|new| !same_lines(new, old));
            if new_title.is_none() && new_body.is_none() {
                return Ok(kept(open, PullRequestState::Unchanged));
            }
            let edit = PullRequestEdit {
                title: new_title.as_deref(),
                body: new_body,
                content_version: open.content_version.filter(|_| new_body.is_some()),
                state: None,
            };
            tries += 1;
            match self.edit(open.number, &edit)? {
                Edited::PullRequest(found) => return Ok(kept(*found, PullRequestState::Updated)),
                Edited::Outdated(refused) if tries >= EDITS => return Err(refused),
                Edited::Outdated(_) => open = self.request(open.number)?,
            }
        }
    }
}

fn kept(found: PullRequest, state: PullRequestState) -> Kept {
    Kept {
        number: found.number,
        url: found.html_url,
        state,
    }
}

/// One that was opened a moment ago.
fn opened(kept: Kept) -> Kept {
    Kept {
        state: PullRequestState::Opened,
        ..kept
    }
}

/// The first line of a text, or a default: forges require a title.
fn title(message: &str) -> String {
    let line = message.lines().map(str::trim).find(|line| !line.is_empty());
    let clean: String = line
        .unwrap_or("Update images")
        .chars()
        .filter(|c| !c.is_control())
        .collect();
    clean.fitted(LONGEST_TITLE).into_owned()
}

/// Compares without carriage returns, which web forms add.
fn same_lines(a: &str, b: &str) -> bool {
    a.lines().map(str::trim_end).eq(b.lines().map(str::trim_end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_is_the_title() {
        assert_eq!(title("\n Bump app \n\nWords"), "Bump app");
        assert_eq!(title(""), "Update images");
        let long = title(&"ü".repeat(300));
        assert_eq!((long.chars().count(), long.ends_with("ü…")), (255, true));
        assert_eq!(title(&"x".repeat(255)).len(), 255);
    }

    #[test]
    fn line_ends_do_not_matter() {
        assert!(same_lines("a\nb\n", "a\r\nb"));
        assert!(!same_lines("a\nb", "a\nc"));
    }
}
