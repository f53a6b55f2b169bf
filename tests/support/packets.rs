//! Packet lines by hand, and a listing of branches over any transport.

use std::io::{BufRead, Read, Write};
use std::process::Stdio;

use bumpwright::git::{Protocol, Service, Transport, TransportError};

use super::repo::{Repo, git};

/// A version 2 request for all branches.
pub const LS_REFS: &[u8] = b"0014command=ls-refs\n0001001bref-prefix refs/heads/\n0000";

/// One packet line: none for a flush, delimiter or response end.
pub fn packet(reader: &mut dyn Read) -> Option<Vec<u8>> {
    let mut head = [0; 4];
    reader.read_exact(&mut head).unwrap();
    let length = usize::from_str_radix(std::str::from_utf8(&head).unwrap(), 16).unwrap();
    let mut line = vec![0; length.checked_sub(4)?];
    reader.read_exact(&mut line).unwrap();
    Some(line)
}

/// The lines up to a flush packet; an error of the stream comes before the first.
pub fn read(mut reader: Box<dyn BufRead + Send + '_>) -> Result<Vec<String>, TransportError> {
    reader.fill_buf().map_err(|e| TransportError::from_stream("test", e))?;
    Ok(std::iter::from_fn(|| packet(&mut reader))
        .map(|line| String::from_utf8(line).unwrap())
        .collect())
}

/// Lists the branches in version 2, as lines of `id name`.
pub fn list(transport: &dyn Transport) -> Result<Vec<String>, TransportError> {
    let mut connection = transport.connect(Service::UploadPack, Protocol::V2)?;
    let lines = read(connection.advertisement()?)?;
    assert_eq!(lines.first().map(String::as_str), Some("version 2\n"), "{lines:?}");
    let lines = read(connection.request(LS_REFS)?)?;
    if !connection.stateless() {
        connection.request(b"0000")?;
    }
    connection.finish()?;
    Ok(lines)
}

/// Pushes `new`, all of which must be in `from`, to a reference that is not there yet; gives the lines of the report.
pub fn push(transport: &dyn Transport, from: &Repo, new: &str, reference: &str) -> Result<Vec<String>, TransportError> {
    let mut connection = transport.connect(Service::ReceivePack, Protocol::V0)?;
    read(connection.advertisement()?)?;
    let command = format!("{} {new} {reference}\0report-status", "0".repeat(new.len()));
    let mut body = format!("{:04x}{command}0000", command.len() + 4).into_bytes();
    body.extend(pack(from, new));
    let report = read(connection.request(&body)?)?;
    connection.finish()?;
    Ok(report)
}

fn pack(from: &Repo, tip: &str) -> Vec<u8> {
    let mut child = git(&from.dir)
        .args(["pack-objects", "--stdout", "--revs", "-q"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    writeln!(child.stdin.take().unwrap(), "{tip}").unwrap();
    child.wait_with_output().unwrap().stdout
}

/// Bytes that no compression makes smaller.
pub fn noise(length: usize) -> Vec<u8> {
    let mut seed = 1u64;
    let next = || {
        seed = seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        seed.to_be_bytes()[0]
    };
    std::iter::repeat_with(next).take(length).collect()
}
