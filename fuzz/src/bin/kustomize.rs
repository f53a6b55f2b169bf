//! `kustomize`: what is checked is in `src/targets/kustomize.rs`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| bumpwright_fuzz::targets::kustomize::check(input));
