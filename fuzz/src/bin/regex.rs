//! `regex`: what is checked is in `src/targets/re2.rs`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| bumpwright_fuzz::targets::re2::check(input));
