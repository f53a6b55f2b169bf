//! `kubeconfig`: what is checked is in `src/targets/kube.rs`.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| bumpwright_fuzz::targets::kube::kubeconfig(input));
