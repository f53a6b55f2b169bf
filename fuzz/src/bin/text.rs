//! `text`: what is checked is in `src/targets/text.rs`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| bumpwright_fuzz::targets::text::check(input));
