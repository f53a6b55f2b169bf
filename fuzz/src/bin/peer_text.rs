//! `peer_text`: what is checked is in `src/targets/peer.rs`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| bumpwright_fuzz::targets::peer::text(input));
