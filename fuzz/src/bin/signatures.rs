//! `signatures`: what is checked is in `src/targets/signatures.rs`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| bumpwright_fuzz::targets::signatures::check(input));
