//! Who commits and with which words (CLI.md, *TARGET*, rule 8).

use std::path::Path;

use super::author;
use super::typed::Typed;
use crate::api::ImageUpdateAutomation;
use crate::automation::{Author, DEFAULT_MESSAGE};

impl Typed<'_> {
    /// Rule 8: the flag, the automation's author, git's own settings.
    pub(super) fn author(
        &self,
        automation: Option<&ImageUpdateAutomation>,
        folder: Option<&Path>,
    ) -> Result<Author, String> {
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
        let found = author::from_git(folder);
        match found {
            // A preview makes no commit: it need not fail for want of a name.
            None if self.args.dry_run => Ok(Author {
                name: String::new(),
                email: "nobody@localhost".to_owned(),
            }),
            found => found.ok_or_else(|| {
                "no author for the commit: give --author 'Name <mail>', or set git's user.name and user.email"
                    .to_owned()
            }),
        }
    }

    /// The message, and why the commit cannot be made as the automation wants it: said in a preview, else an error.
    pub(super) fn message_of(
        &self,
        automation: Option<&ImageUpdateAutomation>,
        notes: &mut Vec<String>,
    ) -> Result<String, String> {
        let commit = automation.and_then(|a| a.spec.git.as_ref()).map(|git| &git.commit);
        if commit.is_some_and(|commit| commit.signing_key.is_some()) {
            self.unsupported(
                "spec.git.commit.signingKey: signing is not supported yet, and unsigned commits are not pushed instead",
                notes,
            )?;
        }
        if let Some(message) = &self.message {
            return Ok(message.clone());
        }
        let template = commit
            .and_then(|commit| commit.message_template.as_deref())
            .filter(|text| !text.is_empty());
        let template = template.unwrap_or(DEFAULT_MESSAGE);
        if template.contains("{{") {
            self.unsupported(
                "spec.git.commit.messageTemplate: templates are not supported yet; give --message",
                notes,
            )?;
        }
        Ok(template.to_owned())
    }

    fn unsupported(&self, what: &str, notes: &mut Vec<String>) -> Result<(), String> {
        if !self.args.dry_run {
            return Err(what.to_owned());
        }
        notes.push(what.to_owned());
        Ok(())
    }
}
