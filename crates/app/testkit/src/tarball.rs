//! Archives as tar.gz, entry by entry: with links, and with unusual names.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;

/// The block before an entry. `kind` is `b'0'` for a file, `b'1'` for a hard link and `b'2'` for a
/// symbolic link to `target`.
pub fn header(name: &str, size: usize, kind: u8, target: &str) -> [u8; 512] {
    let mut block = [0; 512];
    block[..name.len()].copy_from_slice(name.as_bytes());
    block[100..108].copy_from_slice(b"0000644\0");
    block[124..136].copy_from_slice(format!("{size:011o}\0").as_bytes());
    block[136..148].copy_from_slice(b"00000000000\0");
    block[156] = kind;
    block[157..157 + target.len()].copy_from_slice(target.as_bytes());
    block[257..265].copy_from_slice(b"ustar\x0000");
    block[148..156].fill(b' ');
    let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
    block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    block
}

/// These entries as an archive.
pub fn packed<'a>(entries: impl IntoIterator<Item = ([u8; 512], &'a [u8])>) -> Vec<u8> {
    let mut out = GzEncoder::new(Vec::new(), Compression::default());
    for (header, bytes) in entries {
        out.write_all(&header).unwrap();
        out.write_all(bytes).unwrap();
        out.write_all(&vec![0; bytes.len().next_multiple_of(512) - bytes.len()])
            .unwrap();
    }
    out.write_all(&[0; 1024]).unwrap();
    out.finish().unwrap()
}

/// An archive of files.
pub fn archive(files: &[(&str, &[u8])]) -> Vec<u8> {
    let entry = |(name, bytes): &(&str, &'_ [u8])| header(name, bytes.len(), b'0', "");
    packed(files.iter().map(|file| (entry(file), file.1)))
}
