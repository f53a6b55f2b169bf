//! The answer to a push: report-status, and the output of hooks (gitprotocol-pack, *Report Status*).

use std::collections::BTreeMap;
use std::io::BufRead;

use super::listing::short;
use super::pktline::PacketReader;
use super::send::Receiver;
use super::sideband::{ServerText, SideBand};
use super::transfer::stopped;
use crate::GitError;

/// Parts of the reasons that servers report for a lost race: git (all versions), JGit and Gerrit, GitHub, GitLab.
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

/// The most lines of a report.
const MAX_LINES: usize = 10_000;

/// The server's result for one reference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Done,
    Refused {
        reason: String,
        /// The reason is one of a reference that has moved.
        race: bool,
    },
}

/// What a server's hook made of a successful update (gitprotocol-pack, *Report Status*, version 2): AGit's
/// `refs/for/…` becomes a pull request with a reference of its own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HookOutcome {
    /// The reference that it changed, when it is another one.
    pub reference: Option<String>,
    /// Whether that reference is new; `None` when its old value is not reported.
    pub created: Option<bool>,
    /// Whether its old value was replaced by force.
    pub forced: bool,
}

impl HookOutcome {
    /// Applies the rest of an `option` line.
    fn add(&mut self, option: &str) {
        match option.split_once(' ').unwrap_or((option, "")) {
            ("refname", name) => self.reference = Some(name.to_owned()),
            ("old-oid", id) => self.created = Some(id.bytes().all(|digit| digit == b'0')),
            ("forced-update", _) => self.forced = true,
            _ => {}
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Report {
    /// `None` when the objects were accepted.
    unpack: Option<String>,
    refs: BTreeMap<String, Option<String>>,
    became: BTreeMap<String, HookOutcome>,
    /// The server's output, cleaned.
    pub(crate) words: String,
}

impl Report {
    pub(crate) fn read(reader: impl BufRead, receiver: &Receiver) -> Result<Self, GitError> {
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
        let mut done = None;
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
                    report.unpack = (rest != "ok").then(|| ServerText::clean(rest.as_bytes()));
                }
                "ok" => {
                    report.refs.insert(rest.to_owned(), None);
                    done = Some(rest.to_owned());
                }
                "ng" => {
                    done = None;
                    let (name, reason) = rest.split_once(' ').unwrap_or((rest, "no reason given"));
                    let reason = ServerText::clean(reason.as_bytes());
                    report.refs.insert(name.to_owned(), Some(reason));
                }
                "option" => {
                    if let Some(name) = done.clone() {
                        report.became.entry(name).or_default().add(rest);
                    }
                }
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

    /// What the server's hook made of one reference, when reported.
    pub(crate) fn became(&self, reference: &str) -> Option<&HookOutcome> {
        self.became.get(reference)
    }

    /// The result for one reference.
    pub(crate) fn verdict(&self, reference: &str) -> Verdict {
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

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;
    use crate::wire::pktline::PacketWriter;

    fn receiver(side_band: bool) -> Receiver {
        let mut capabilities = vec!["report-status".to_owned()];
        if side_band {
            capabilities.push("side-band-64k".to_owned());
        }
        Receiver::new(&capabilities, gix::hash::Kind::Sha1)
    }

    fn lines(lines: &[&str]) -> Vec<u8> {
        let mut body = PacketWriter::default();
        for line in lines {
            body.line(line);
        }
        body.flush();
        body.into_bytes()
    }

    fn reason(report: &Report, reference: &str) -> (String, bool) {
        match report.verdict(reference) {
            Verdict::Refused { reason, race } => (reason, race),
            Verdict::Done => panic!("{reference} is done"),
        }
    }

    #[test]
    fn each_reference_has_its_verdict() {
        let bytes = lines(&[
            "unpack ok\n",
            "ok refs/heads/a\n",
            "option refname refs/heads/other\n",
            "ng refs/heads/b hook declined\n",
            "ng refs/heads/c",
        ]);
        let report = Report::read(&bytes[..], &receiver(false)).unwrap();
        assert_eq!(report.verdict("refs/heads/a"), Verdict::Done);
        assert_eq!(reason(&report, "refs/heads/b"), ("hook declined".to_owned(), false));
        assert_eq!(reason(&report, "refs/heads/c"), ("no reason given".to_owned(), false));
        assert!(reason(&report, "refs/heads/d").1);
        let other = HookOutcome {
            reference: Some("refs/heads/other".to_owned()),
            ..HookOutcome::default()
        };
        assert_eq!(report.became("refs/heads/a"), Some(&other));
        assert_eq!(report.became("refs/heads/b"), None);
    }

    #[test]
    fn a_hook_tells_what_it_made_of_an_update() {
        let bytes = lines(&[
            "unpack ok\n",
            "ok refs/for/main\n",
            "option refname refs/pull/3/head\n",
            "option old-oid 1111111111111111111111111111111111111111\n",
            "option forced-update\n",
            "ok refs/for/next\n",
            "option refname refs/pull/4/head\n",
            "option old-oid 0000000000000000000000000000000000000000\n",
            "ng refs/for/none no\n",
            "option refname refs/pull/5/head\n",
        ]);
        let report = Report::read(&bytes[..], &receiver(false)).unwrap();
        let made = |name: &str, created, forced| HookOutcome {
            reference: Some(name.to_owned()),
            created: Some(created),
            forced,
        };
        assert_eq!(
            report.became("refs/for/main"),
            Some(&made("refs/pull/3/head", false, true))
        );
        assert_eq!(
            report.became("refs/for/next"),
            Some(&made("refs/pull/4/head", true, false))
        );
        assert_eq!(report.became("refs/for/none"), None);
    }

    #[test]
    fn objects_that_were_not_taken_fail_every_reference() {
        let bytes = lines(&["unpack index-pack abnormal exit\n", "ng refs/heads/a unpacker error\n"]);
        let report = Report::read(&bytes[..], &receiver(false)).unwrap();
        assert!(reason(&report, "refs/heads/a").0.contains("index-pack abnormal exit"));
    }

    #[test]
    fn the_reasons_of_a_lost_race_are_known() {
        for words in [
            "failed to update ref",
            "incorrect old value provided",
            "reference already exists",
            "cannot lock ref 'refs/heads/a': is at 1 but expected 2",
            "Lock failure",
            "fetch first",
        ] {
            let bytes = lines(&["unpack ok\n", &format!("ng refs/heads/a {words}\n")]);
            let report = Report::read(&bytes[..], &receiver(false)).unwrap();
            assert!(reason(&report, "refs/heads/a").1, "{words}");
        }
    }

    #[test]
    fn words_come_beside_the_report() {
        let mut body = PacketWriter::default();
        let inner = lines(&["unpack ok\n", "ok refs/heads/a\n"]);
        let (first, second) = inner.split_at(9);
        body.data(b"\x02remote says\n");
        // The report may be split anywhere.
        for part in [first, second] {
            body.data(&[b"\x01", part].concat());
        }
        body.data(b"\x02and more\n").flush();
        let report = Report::read(&body.into_bytes()[..], &receiver(true)).unwrap();
        assert_eq!(
            (report.verdict("refs/heads/a"), report.words.as_str()),
            (Verdict::Done, "remote says\nand more")
        );
    }

    #[test]
    fn what_is_no_report_is_a_protocol_error() {
        let endless = "000aok a/b".repeat(MAX_LINES + 1);
        let mut fatal = PacketWriter::default();
        fatal.data(b"\x03out of disk\n").flush();
        for (bytes, side_band) in [
            (lines(&["hello"]), false),
            (lines(&[]), false),
            (endless.into_bytes(), false),
            (fatal.into_bytes(), true),
            (b"zzzz".to_vec(), true),
            (b"0005\x010000".to_vec(), true),
        ] {
            let shown = short(&bytes);
            let error = Report::read(&bytes[..], &receiver(side_band)).unwrap_err();
            let cut = matches!(&error, GitError::Transport(error) if error.to_string().contains("is truncated"));
            assert!(cut || matches!(error, GitError::Protocol(_)), "{shown}: {error}");
        }
    }
}
