//! Bodies that are read whole, on the account of their tenant.

use std::io::{self, Read};

use url::Url;

use super::{Deadline, NetError};
use bumpwright_budget::{Exceeded, Reservation, Share};

/// The memory for the first bytes of a body; each further step is half of what was read.
const FIRST: usize = 8 << 10;

/// Why a body was not read.
#[derive(Debug)]
pub(super) enum Unread {
    Broken(io::Error),
    /// The body does not fit into memory.
    NoMemory(Exceeded),
}

impl Unread {
    /// The error of a request.
    pub(super) fn at(self, url: &Url, deadline: Deadline) -> NetError {
        match self {
            Self::Broken(error) => NetError::of(error.into(), url, deadline),
            Self::NoMemory(exceeded) => NetError::no_memory(url, exceeded),
        }
    }
}

/// Reads a body, `most` bytes at most. Memory is taken from the account before bytes arrive: what a server claims about
/// the size, and how small the compressed body is, say nothing.
#[expect(
    clippy::disallowed_methods,
    reason = "the bytes of an answer, step by step; bound: of the request; account: memory of fetches"
)]
pub(super) fn read_whole(body: &mut impl Read, most: usize, account: &Share) -> Result<(Vec<u8>, Reservation), Unread> {
    let mut bytes = Vec::new();
    let mut held = account.nothing();
    while bytes.len() < most {
        let step = FIRST.max(bytes.len() / 2).min(most - bytes.len());
        held.grow(step as u64).map_err(Unread::NoMemory)?;
        bytes.reserve_exact(step);
        // It does not read beyond its limit, and so does not allocate more.
        let read = body.by_ref().take(step as u64).read_to_end(&mut bytes);
        if read.map_err(Unread::Broken)? < step {
            break;
        }
    }
    let spare = held.bytes().saturating_sub(bytes.len() as u64);
    bytes.shrink_to_fit();
    held.shrink(spare);
    Ok((bytes, held))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;
    use bumpwright_budget::Memory;

    #[test]
    fn a_body_is_on_the_account_as_long_as_it_is_kept() {
        let memory = Memory::shared(200_000, "--fetch-memory");
        let account = memory.of("a");
        for (size, most) in [
            (0, 10),
            (10, 0),
            (10, 10),
            (9_000, 100_000),
            (80_000, 80_000),
            (1 << 20, 50_000),
        ] {
            let body = vec![7; size];
            let (bytes, held) = read_whole(&mut body.as_slice(), most, &account).unwrap();
            assert_eq!(bytes, vec![7; size.min(most)]);
            assert_eq!((held.bytes(), memory.held()), (bytes.len() as u64, bytes.len() as u64));
        }
        assert_eq!(memory.held(), 0);
    }

    #[test]
    fn a_body_beyond_the_account_is_not_read_on() {
        let memory = Memory::shared(200_000, "--fetch-memory");
        let mut body = io::repeat(1).take(1 << 40);
        let Err(Unread::NoMemory(exceeded)) = read_whole(&mut body, usize::MAX, &memory.of("a")) else {
            panic!("it was read");
        };
        let taken = (1_u64 << 40) - body.limit();
        assert!(taken <= 100_000, "{taken} bytes were read");
        assert_eq!(memory.held(), 0);
        let url = "https://r.example/v2/?secret".parse().unwrap();
        assert_eq!(
            NetError::no_memory(&url, exceeded).to_string(),
            "https://r.example/v2/: no memory for the answer: more than 100000 bytes of memory at once; --fetch-memory raises the bound"
        );
    }
}
