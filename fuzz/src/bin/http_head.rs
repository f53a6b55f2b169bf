//! `http_head`: what is checked is in `src/targets/http_head.rs`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| bumpwright_fuzz::targets::http_head::check(input));
