//! `adopt`: what is checked is in `src/targets/adopt.rs`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| bumpwright_fuzz::targets::adopt::check(input));
