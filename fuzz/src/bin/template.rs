//! `template`: what is checked is in `src/targets/template.rs`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| bumpwright_fuzz::targets::template::check(input));
