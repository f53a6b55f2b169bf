//! `substitute`: what is checked is in `src/targets/substitute.rs`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| bumpwright_fuzz::targets::substitute::check(input));
