//! Packet lines by hand, and a listing of branches over any transport.

use std::io::{BufRead, Read, Write};
use std::process::Stdio;

use bumpwright_git::{Protocol, Service, Transport, TransportError};

use crate::repo::{Repo, git};

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

/// Pushes `new`, all of which must be in `from`, to a new reference; returns the lines of the report.
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

/// The answer to a version 2 fetch with another pack, in valid frames.
pub fn repack(answer: &[u8], change: impl Fn(Vec<u8>) -> Vec<u8>) -> Vec<u8> {
    let (mut out, mut pack, mut at) = (Vec::new(), Vec::new(), 0);
    let mut in_pack = false;
    while at < answer.len() {
        let digits = std::str::from_utf8(&answer[at..at + 4]).unwrap();
        let length = usize::from_str_radix(digits, 16).unwrap().max(4);
        let line = &answer[at..at + length];
        at += length;
        match &line[4..] {
            [1, data @ ..] if in_pack => pack.extend_from_slice(data),
            _ if in_pack => {}
            data => {
                in_pack = data.starts_with(b"packfile");
                out.extend_from_slice(line);
            }
        }
    }
    assert!(in_pack, "no pack in {:?}", String::from_utf8_lossy(answer));
    for part in change(pack).chunks(60_000) {
        out.extend(frame(&[b"\x01", part].concat()));
    }
    out.extend(b"0000");
    out
}

/// One packet line with these bytes.
pub fn frame(data: &[u8]) -> Vec<u8> {
    [format!("{:04x}", data.len() + 4).as_bytes(), data].concat()
}

/// A pack with these entries (header and compressed data each) and the right checksum at its end.
pub fn pack_of(entries: &[Vec<u8>]) -> Vec<u8> {
    let count = u32::try_from(entries.len()).unwrap().to_be_bytes();
    sealed([b"PACK\0\0\0\x02", &count[..], &entries.concat()].concat())
}

/// These bytes and their checksum.
pub fn sealed(mut bytes: Vec<u8>) -> Vec<u8> {
    use sha1::Digest;
    let sum = sha1::Sha1::digest(&bytes);
    bytes.extend_from_slice(&sum);
    bytes
}

/// The header of an entry: type code and inflated size.
pub fn entry_head(code: u8, size: usize) -> Vec<u8> {
    let (mut rest, mut byte, mut out) = (size >> 4, code << 4 | (size & 15) as u8, Vec::new());
    while rest != 0 {
        out.push(byte | 0x80);
        byte = (rest & 0x7f) as u8;
        rest >>= 7;
    }
    out.push(byte);
    out
}

/// Compressed as in a pack.
pub fn deflated(data: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(data).unwrap();
    encoder.finish().unwrap()
}

/// Incompressible bytes.
pub fn noise(length: usize) -> Vec<u8> {
    let mut random = fastrand::Rng::with_seed(1);
    std::iter::repeat_with(|| random.u8(..)).take(length).collect()
}
