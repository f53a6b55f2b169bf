//! The fuzz targets: functions of bytes that panic where a reader of foreign bytes breaks a promise. `src/bin` has a program of libFuzzer
//! for each; `crates/app/corpora/tests/fuzzed.rs` runs all of them over the stored inputs. README.md says how they are used.

pub mod targets;
