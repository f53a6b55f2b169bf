//! `cel`: what is checked is in `src/targets/cel.rs`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| bumpwright_fuzz::targets::cel::check(input));
