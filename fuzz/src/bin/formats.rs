//! `formats`: what is checked is in `src/targets/formats.rs`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| bumpwright_fuzz::targets::formats::formats(input));
