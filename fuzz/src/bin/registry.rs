//! `registry`: what is checked is in `src/targets/registry.rs`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| bumpwright_fuzz::targets::registry::answer(input));
