//! Which crates have examples in their docs: rustdoc takes seconds for each crate, so those without say `doctest = false`.

/// Crates whose manifest does not agree with their docs, one sentence each.
pub fn faults(files: &[(String, String)], manifest: impl Fn(&str) -> String) -> Vec<String> {
    let mut crates: Vec<(&str, bool)> = Vec::new();
    for (path, text) in files {
        let Some((package, _)) = path.split_once("src/") else {
            continue;
        };
        match crates.iter_mut().find(|(known, _)| *known == package) {
            Some((_, examples)) => *examples |= has_example(text),
            None => crates.push((package, has_example(text))),
        }
    }
    crates
        .into_iter()
        .filter_map(|(package, examples)| {
            let path = format!("{package}Cargo.toml");
            let is_off = manifest(&path).lines().any(|line| line == "doctest = false");
            let fault = if examples {
                "doctest is off, and the docs have an example that would not be tested"
            } else {
                "the docs have no example; say doctest = false below [lib]"
            };
            (examples == is_off).then(|| format!("{path}: {fault}"))
        })
        .collect()
}

/// Whether docs have a block of Rust that is to be compiled.
fn has_example(text: &str) -> bool {
    let fences = text.lines().filter_map(|line| {
        let line = line.trim_start();
        let doc = line.strip_prefix("///").or_else(|| line.strip_prefix("//!"))?;
        doc.trim_start().strip_prefix("```")
    });
    // Every second one closes a block.
    fences
        .step_by(2)
        .any(|language| ["", "rust", "no_run", "should_panic", "compile_fail"].contains(&language))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults_of(text: &str, manifest: &str) -> usize {
        let files = [("crates/go/a/src/lib.rs".to_owned(), text.to_owned())];
        faults(&files, |_| manifest.to_owned()).len()
    }

    #[test]
    fn manifests_say_whether_docs_have_examples() {
        let (on, off) = ("[package]\n", "[lib]\ndoctest = false\n");
        for (text, on_faults) in [
            ("//! ```\n//! a();\n//! ```\n", 0),
            ("    /// ```compile_fail\n    /// ```\n", 0),
            ("//! ```text\n//! a\n//! ```\n", 1),
            ("//! None.\n", 1),
        ] {
            assert_eq!(faults_of(text, on), on_faults, "{text}");
            assert_eq!(faults_of(text, off), 1 - on_faults, "{text}");
        }
    }
}
