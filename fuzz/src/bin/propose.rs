//! `propose`: what is checked is in `src/targets/propose.rs`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| bumpwright_fuzz::targets::propose::check(input));
