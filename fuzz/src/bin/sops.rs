//! `sops`: what is checked is in `src/targets/sops.rs`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| bumpwright_fuzz::targets::sops::check(input));
