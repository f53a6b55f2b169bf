//! `tar`: what is checked is in `src/targets/artifact.rs`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| bumpwright_fuzz::targets::artifact::tar(input));
