//! `edit`: what is checked is in `src/targets/edit.rs`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| bumpwright_fuzz::targets::edit::check(input));
