//! `policy`: what is checked is in `src/targets/policy.rs`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| bumpwright_fuzz::targets::policy::check(input));
