//! `manifests`: what is checked is in `src/targets/manifests.rs`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| bumpwright_fuzz::targets::manifests::check(input));
