//! The index of a repository while it arrives: read piece by piece, and whole only where it is not of the form that
//! Helm writes.

use bumpwright_budget::{Exceeded, Reservation};
use bumpwright_helm::{Index, IndexError, TableScan};
use bumpwright_http::Job;
use std::io::{self, Read};

/// Bytes that are read at once.
const PIECE: usize = 64 << 10;

/// Bytes that are kept as text while their form may still turn out to be another one.
const KEPT: usize = 2 << 20;

#[derive(Debug)]
pub(super) enum Arrived {
    /// The charts of an index in Helm's form.
    Table(Index),
    /// A text of another form.
    Text(Text),
    /// Another form, which was recognized when the beginning of the text was no longer in memory: fetch it whole.
    Late,
}

/// A text, on the account of the job.
#[derive(Debug)]
pub(super) struct Text {
    pub(super) bytes: Vec<u8>,
    held: Reservation,
}

/// Why an index is not read to its end.
#[derive(Debug, thiserror::Error)]
pub(super) enum ArrivalError {
    /// The server's answer breaks off, or is too large.
    #[error(transparent)]
    Answer(#[from] io::Error),
    /// The account of the job has too little left for a text of another form.
    #[error(transparent)]
    Memory(#[from] Exceeded),
    #[error(transparent)]
    Index(#[from] IndexError),
}

impl Text {
    fn add(&mut self, piece: &[u8]) -> Result<(), Exceeded> {
        self.held.grow(piece.len() as u64)?;
        self.bytes.extend_from_slice(piece);
        Ok(())
    }
}

/// Reads an index to its end, on the account of the job; with a name, the entries of that chart only.
pub(super) fn arrived(mut from: impl Read, chart: Option<&str>) -> Result<Arrived, ArrivalError> {
    let account = Job::account();
    let mut scan = TableScan::new(chart, account.nothing());
    let mut text = Some(Text {
        bytes: Vec::new(),
        held: account.nothing(),
    });
    let mut buffer = vec![0; PIECE];
    loop {
        let count = match from.read(&mut buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            count => count?,
        };
        let Some(piece) = buffer.get(..count).filter(|piece| !piece.is_empty()) else {
            break;
        };
        scan.push(piece);
        if let Some(text) = &mut text {
            text.add(piece)?;
        }
        let is_long = text.as_ref().is_some_and(|text| text.bytes.len() > KEPT);
        match scan.is_declined() {
            true if text.is_none() => return Ok(Arrived::Late),
            false if is_long => text = None,
            _ => {}
        }
    }
    Ok(match (scan.finish()?, text) {
        (Some(index), _) => Arrived::Table(index),
        (None, Some(text)) => Arrived::Text(text),
        (None, None) => Arrived::Late,
    })
}

#[cfg(test)]
mod tests {
    use super::{Arrived, KEPT, arrived};
    use bumpwright_budget::Memory;
    use bumpwright_http::Job;

    /// An index of so many versions of two charts, with half a KiB of text each.
    fn text(versions: usize) -> String {
        let mut text = "apiVersion: v1\nentries:\n".to_owned();
        for name in ["db", "web"] {
            text.push_str(&format!("  {name}:\n"));
            for minor in 0..versions {
                text.push_str(&format!(
                    "  - name: {name}\n    version: 1.{minor}.0\n    description: {}\n    urls:\n    - {name}-1.{minor}.0.tgz\n",
                    "x".repeat(512)
                ));
            }
        }
        text
    }

    #[test]
    fn a_large_index_is_read_in_less_memory_than_its_text() {
        let text = text(8_000);
        assert!(text.len() > 4 * KEPT);
        let memory = Memory::single(6 << 20, "--fetch-memory");
        let arrived = Job::on(memory.of("a")).run(|| arrived(text.as_bytes(), Some("web")));
        let Ok(Arrived::Table(index)) = arrived else {
            panic!("{arrived:?}");
        };
        assert_eq!(index.names().collect::<Vec<_>>(), ["web"]);
        let newest = index.newest("web", "").unwrap().unwrap();
        assert_eq!((&*newest.version, &*newest.urls[0]), ("1.7999.0", "web-1.7999.0.tgz"));
        assert_eq!(memory.held(), 0);
    }

    #[test]
    fn another_form_is_given_as_text_unless_it_is_recognized_late() {
        let entry = r#"{"version":"1.0.0","urls":["a.tgz"]}"#;
        let one_line = format!(
            r#"{{"apiVersion":"v1","entries":{{"a":[{}]}}}}"#,
            vec![entry; 80_000].join(",")
        );
        assert!(one_line.len() > KEPT);
        for text in ["", "apiVersion: v1\nentries: {}\n", &one_line] {
            let Ok(Arrived::Text(read)) = arrived(text.as_bytes(), None) else {
                panic!("{text:.40}");
            };
            assert!(read.bytes == text.as_bytes());
        }
        let odd = format!("{}  # a comment\n", text(3_000));
        assert!(odd.len() > KEPT + (64 << 10));
        assert!(matches!(arrived(odd.as_bytes(), None), Ok(Arrived::Late)));
    }
}
