//! `helm`: what is checked is in `src/targets/helm.rs`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| bumpwright_fuzz::targets::helm::check(input));
