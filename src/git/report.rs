//! The answer to a push: report-status, and what hooks said (gitprotocol-pack, *Report Status*).

use std::collections::BTreeMap;
use std::io::BufRead;

use super::GitError;
use super::listing::short;
use super::pktline::PacketReader;
use super::send::Receiver;
use super::sideband::SideBand;
use super::transfer::stopped;

/// Parts of the reasons that servers give when somebody else was faster: git (all versions), JGit and Gerrit, GitHub,
/// GitLab.
const RACES: [&str; 15] = [
    "failed to update ref",
    "failed to lock",
    "cannot lock ref",
    "couldn't set",
    "lock error",
    "lock failure",
    "incorrect old value",
    "invalid old id",
    "reference already exists",
    "reference does not exist",
    "but expected",
    "stale info",
    "fetch first",
    "non-fast-forward",
    "remote ref updated since checkout",
];

/// More lines than this are no report.
const MAX_LINES: usize = 100_000;

/// What a server says about one reference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Done,
    Refused {
        reason: String,
        /// The reason is one that is given when a reference has moved.
        race: bool,
    },
}

/// The whole answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Report {
    /// `None` when the objects were taken.
    unpack: Option<String>,
    refs: BTreeMap<String, Option<String>>,
    /// The server's words, cleaned.
    pub(super) words: String,
}

impl Report {
    pub(super) fn read(reader: impl BufRead, receiver: &Receiver) -> Result<Self, GitError> {
        let mut packets = PacketReader::new(reader);
        if !receiver.side_band {
            return Self::read_lines(&mut packets);
        }
        let mut band = SideBand::new(&mut packets, None);
        let report = Self::read_lines(&mut PacketReader::new(&mut band));
        match report {
            Ok(report) => {
                band.drain().map_err(stopped)?;
                Ok(Self {
                    words: band.words(),
                    ..report
                })
            }
            Err(error) => Err(band.take_failure().map_or(error, stopped)),
        }
    }

    fn read_lines(packets: &mut PacketReader<impl BufRead>) -> Result<Self, GitError> {
        let mut report = Self::default();
        let mut unpacked = false;
        for _ in 0..MAX_LINES {
            let Some(line) = packets.line()? else {
                return if unpacked {
                    Ok(report)
                } else {
                    Err(GitError::protocol("the report on the push is empty"))
                };
            };
            let line = String::from_utf8_lossy(line);
            let (word, rest) = line.split_once(' ').unwrap_or((&line, ""));
            match word {
                "unpack" => {
                    unpacked = true;
                    report.unpack = (rest != "ok").then(|| rest.to_owned());
                }
                "ok" => {
                    report.refs.insert(rest.to_owned(), None);
                }
                "ng" => {
                    let (name, reason) = rest.split_once(' ').unwrap_or((rest, "no reason given"));
                    report.refs.insert(name.to_owned(), Some(reason.to_owned()));
                }
                // Version 2 of the report tells what a hook made of the update.
                "option" => {}
                _ => {
                    return Err(GitError::protocol(format!(
                        "not a report on a push: \"{}\"",
                        short(line.as_bytes())
                    )));
                }
            }
        }
        Err(GitError::protocol("the report on the push does not end"))
    }

    /// What became of one reference.
    pub(super) fn verdict(&self, reference: &str) -> Verdict {
        if let Some(reason) = &self.unpack {
            return Verdict::Refused {
                reason: format!("the server could not take the objects: {reason}"),
                race: false,
            };
        }
        match self.refs.get(reference) {
            Some(None) => Verdict::Done,
            Some(Some(reason)) => {
                let lower = reason.to_lowercase();
                Verdict::Refused {
                    reason: reason.clone(),
                    race: RACES.iter().any(|race| lower.contains(race)),
                }
            }
            None => Verdict::Refused {
                reason: "the server's report does not mention it".to_owned(),
                race: true,
            },
        }
    }
}
