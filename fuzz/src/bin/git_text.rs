//! `git_text`: what is checked is in `src/targets/git.rs`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| bumpwright_fuzz::targets::git::text(input));
