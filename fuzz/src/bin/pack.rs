//! `pack`: what is checked is in `src/targets/pack.rs`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| bumpwright_fuzz::targets::pack::check(input));
