//! Packs with deltas, from a server whose greeting and framing are sound: of the bytes, the entries are made.

use std::io::Write as _;
use std::sync::Arc;

use bumpwright_budget::{Budgets, FETCH_MEMORY, Memory};
use bumpwright_git::{Checkout, Mirror, MirrorOptions};
use flate2::Compression;
use flate2::write::ZlibEncoder;
use sha1::{Digest as _, Sha1};

use super::git::{folder, walked};

/// The kinds of entries, by their numbers in packs.
const KINDS: [u8; 6] = [1, 2, 3, 4, 6, 7];

struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn one(&mut self) -> usize {
        let (first, rest) = self.0.split_first().unwrap_or((&0, b""));
        self.0 = rest;
        usize::from(*first)
    }

    fn take(&mut self, count: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(count.min(self.0.len()));
        self.0 = rest;
        taken
    }
}

fn id(kind: u8, content: &[u8]) -> [u8; 20] {
    let name = ["", "commit", "tree", "blob", "tag"]
        .get(usize::from(kind))
        .copied()
        .unwrap_or_default();
    let mut hash = Sha1::new();
    hash.update(format!("{name} {}\0", content.len()));
    hash.update(content);
    hash.finalize().into()
}

fn hex(id: &[u8; 20]) -> String {
    id.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn entry_head(out: &mut Vec<u8>, kind: u8, size: usize) {
    let mut rest = size >> 4;
    let more = |rest: usize| if rest > 0 { 0x80 } else { 0 };
    out.push(more(rest) | kind << 4 | (size & 0xf) as u8);
    while rest > 0 {
        let low = (rest & 0x7f) as u8;
        rest >>= 7;
        out.push(more(rest) | low);
    }
}

fn distance(out: &mut Vec<u8>, mut distance: usize) {
    let mut bytes = vec![distance as u8 & 0x7f];
    while distance > 0x7f {
        distance = (distance >> 7) - 1;
        bytes.push(distance as u8 | 0x80);
    }
    bytes.reverse();
    out.extend(bytes);
}

/// A pack of the entries that the bytes describe, and the id of its first commit.
fn pack_of(input: &[u8]) -> (Vec<u8>, [u8; 20]) {
    let mut input = Bytes(input);
    let count = input.one() % 24 + 1;
    let mut pack = b"PACK\0\0\0\x02".to_vec();
    pack.extend((count as u32).to_be_bytes());
    let (mut places, mut ids, mut tip) = (Vec::new(), Vec::new(), [0x11; 20]);
    for _ in 0..count {
        let (how, base) = (input.one(), input.one());
        let length = input.one() << 4 | input.one() & 0xf;
        let content = input.take(length);
        let kind = KINDS[how % KINDS.len()];
        // One of sixteen says another size.
        let size = if how >> 4 == 15 {
            content.len() + base
        } else {
            content.len()
        };
        let place = pack.len();
        entry_head(&mut pack, kind, size);
        match kind {
            6 if !places.is_empty() => distance(&mut pack, place - places[base % places.len()]),
            6 => distance(&mut pack, base),
            7 => pack.extend(ids.get(base % ids.len().max(1)).unwrap_or(&[0x22; 20])),
            _ => {}
        }
        let mut zlib = ZlibEncoder::new(&mut pack, Compression::fast());
        zlib.write_all(content).expect("it is in memory");
        zlib.finish().expect("it is in memory");
        places.push(place);
        ids.push(id(kind, content));
        if kind == 1 && tip == [0x11; 20] {
            tip = id(kind, content);
        }
    }
    let sum = Sha1::digest(&pack);
    pack.extend(sum);
    (pack, tip)
}

fn packet(out: &mut Vec<u8>, data: &[u8]) {
    out.extend(format!("{:04x}", data.len() + 4).as_bytes());
    out.extend(data);
}

/// Entries: number, then of each kind, base, length and content.
pub fn check(input: &[u8]) {
    let (pack, tip) = pack_of(input);
    let mut stream = Vec::new();
    packet(
        &mut stream,
        format!(
            "{} refs/heads/main\0side-band-64k ofs-delta shallow agent=git/2\n",
            hex(&tip)
        )
        .as_bytes(),
    );
    stream.extend(b"0000");
    packet(&mut stream, b"NAK\n");
    for piece in pack.chunks(60_000) {
        packet(&mut stream, &[b"\x01", piece].concat());
    }
    stream.extend(b"0000");
    let memory = Memory::single(32 << 20, FETCH_MEMORY);
    let budget = Budgets::new(memory.clone(), 10_000, 64 << 20).of("");
    let folder = folder();
    let server = Arc::new(super::git::server(&stream));
    let mirror =
        Mirror::open(folder.path(), "m", server, MirrorOptions { shallow: false }).expect("a mirror is opened");
    if let Ok(fetched) = mirror.within(budget).fetch(&Checkout::Branch("main".to_owned()), &[]) {
        walked(&fetched.objects, fetched.tip.tree, 0);
    }
    assert_eq!(memory.held(), 0, "memory is still held");
}
