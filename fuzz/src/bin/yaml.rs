//! `yaml`: what is checked is in `src/targets/yaml.rs`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| bumpwright_fuzz::targets::yaml::check(input));
