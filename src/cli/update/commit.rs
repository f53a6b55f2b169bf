//! Author and message of commits (docs/cli.md, *TARGET*, rule 8).

use std::path::Path;

use super::author;
use super::typed::Typed;
use crate::cli::error::CliError;
use bumpwright_api::ImageUpdateAutomation;
use bumpwright_update::{Author, CommitMessage};

impl Typed<'_> {
    /// The author by rule 8: the flag, the automation's author, git's own settings.
    pub(super) fn author(
        &self,
        automation: Option<&ImageUpdateAutomation>,
        folder: Option<&Path>,
    ) -> Result<Author, CliError> {
        if let Some(author) = &self.author {
            return Ok(author.clone());
        }
        let commit = automation.and_then(|a| a.spec.git.as_ref()).map(|git| &git.commit);
        if let Some(commit) = commit {
            let author = &commit.author;
            return Ok(Author {
                name: author.name.clone(),
                email: author.email.clone(),
            });
        }
        let author = author::from_git(folder);
        match author {
            // A preview creates no commit and works without an author.
            None if self.is_dry(automation) => Ok(Author {
                name: String::new(),
                email: "nobody@localhost".to_owned(),
            }),
            author => author.ok_or_else(|| {
                CliError::new(
                    "no author for the commit: give --author 'Name <mail>', or set git's user.name and user.email",
                )
            }),
        }
    }

    /// The message: the flag's template, or the automation's.
    pub(super) fn message_of(&self, automation: Option<&ImageUpdateAutomation>) -> CommitMessage {
        let mut message = automation.map(CommitMessage::of).unwrap_or_default();
        if let Some(template) = &self.message {
            message.template.clone_from(template);
        }
        message
    }
}
