//! A push: reported before it is made, confirmed by a person if only a manifest asks for it, and waited for when
//! the run is interrupted.

use std::fmt;
use std::io::{BufRead as _, IsTerminal as _, Write as _, stderr, stdin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

use super::args::{Output, Update};
use crate::cli::console::say;
use crate::cli::error::{Attempt as _, CliError};
use crate::cli::process::progress;
use crate::cli::words;
use bumpwright_kustomize::tree::public_url;
use bumpwright_update::{Announce, AnnounceError, Announced, RemoteJob, interrupted};

/// What the pushes of a run have in common.
#[derive(Debug)]
pub(super) struct Pushes {
    /// Whether a push may be under way.
    begun: AtomicBool,
    /// Whether each one is reported.
    tells: bool,
    /// Whether the next one is asked for. Held while the question is open, so that there is one at a time.
    asks: Mutex<bool>,
}

impl Pushes {
    /// As the flags say, and the terminal. A repository that is typed is meant to be pushed to; where only a manifest
    /// names it, people at a terminal are asked, and programs are not (docs/decisions.md, *asking before a push*).
    pub(super) fn new(args: &Update) -> Arc<Self> {
        let is_manual = stdin().is_terminal() && stderr().is_terminal();
        Arc::new(Self {
            begun: AtomicBool::new(false),
            tells: matches!(args.output, Output::Text | Output::Diff),
            asks: Mutex::new(is_manual && args.target.is_none() && !args.push),
        })
    }

    /// Whether a push may have reached its server.
    pub(super) fn has_begun(&self) -> bool {
        self.begun.load(Ordering::SeqCst)
    }

    /// Has the push of a job reported.
    pub(super) fn attend(self: &Arc<Self>, job: &mut RemoteJob) {
        job.edits.hooks.announce = Some(Arc::new(Push {
            of: Arc::clone(self),
            url: job.url.clone(),
        }));
    }

    /// Asks whether to push.
    fn may_push(&self) -> Result<(), CliError> {
        let mut asks = self.asks.lock();
        if !*asks {
            return Ok(());
        }
        let answer = progress::aside(|| {
            let _ = write!(stderr(), "push? [y]es, [n]o, [a]ll (--push does not ask): ");
            let mut answer = String::new();
            stdin().lock().read_line(&mut answer).map(|_| answer)
        });
        let answer = answer.at("cannot read the answer").hint("--push does not ask")?;
        match answer.trim().to_ascii_lowercase().as_str() {
            "y" | "yes" => Ok(()),
            "a" | "all" => {
                *asks = false;
                Ok(())
            }
            _ => Err(CliError::new("not pushed, as answered").hint("--dry-run shows what would be pushed")),
        }
    }
}

/// The pushes of one job.
struct Push {
    of: Arc<Pushes>,
    url: String,
}

impl fmt::Debug for Push {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Push({})", self.url)
    }
}

impl Announce for Push {
    fn announce(&self, commit: &Announced<'_>) -> Result<(), AnnounceError> {
        if self.of.tells {
            progress::aside(|| say("pushing", &line(commit, &self.url)));
        }
        self.of.may_push().map_err(|error| error.to_string())?;
        self.of.begun.store(true, Ordering::SeqCst);
        match interrupted() {
            None => Ok(()),
            Some(_) => Err("not pushed: the run was interrupted before".into()),
        }
    }
}

/// What is pushed where, and as whom.
fn line(commit: &Announced<'_>, url: &str) -> String {
    let id = commit.commit.to_string();
    let short = id.get(..7).unwrap_or(&id);
    let names = commit
        .references
        .iter()
        .map(|name| name.strip_prefix("refs/heads/").unwrap_or(name));
    let references: Vec<&str> = names.collect();
    let what = words::changed(commit.changes);
    let again = commit.again.map(|reason| format!(" ({reason})"));
    format!(
        "{what} as {short} to {} of {}, by {}{}",
        references.join(" and "),
        public_url(url),
        commit.author,
        again.as_deref().unwrap_or("")
    )
}
