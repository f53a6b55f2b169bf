//! `webhook`: what is checked is in `src/targets/webhook.rs`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| bumpwright_fuzz::targets::webhook::check(input));
