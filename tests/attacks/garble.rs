//! Random mutations of valid inputs.

use fastrand::Rng;

/// Mutates a few places: bytes are changed, removed and repeated, the end is truncated,
/// problematic `words` are inserted.
pub fn garbled(whole: &[u8], words: &[&str], random: &mut Rng) -> Vec<u8> {
    let mut bytes = whole.to_vec();
    for _ in 0..=random.usize(..6) {
        let (at, length) = (random.usize(..=bytes.len()), random.usize(..30));
        let end = (at + length).min(bytes.len());
        match random.usize(..6) {
            0 => bytes[at..end].iter_mut().for_each(|byte| *byte ^= 0x20),
            1 => drop(bytes.drain(at..end)),
            2 => {
                let copy = bytes[at..end].repeat(random.usize(1..=400));
                bytes.splice(at..at, copy);
            }
            3 => bytes.truncate(at.max(1)),
            _ => {
                let word = random.choice(words).unwrap().repeat(random.usize(1..4));
                bytes.splice(at..at, word.into_bytes());
            }
        }
    }
    bytes
}
