//! The source of the program, without its tests: what it reads is found by the texts in it.

use std::path::Path;

/// The files of the program, by path from the root.
pub fn files() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    collect(root, Path::new("src"), &mut files);
    collect(root, Path::new("crates"), &mut files);
    files.sort();
    files
}

fn collect(root: &Path, folder: &Path, files: &mut Vec<(String, String)>) {
    for entry in std::fs::read_dir(root.join(folder)).unwrap() {
        let entry = entry.unwrap();
        let path = folder.join(entry.file_name());
        let name = path.to_str().unwrap().to_owned();
        let is_of_tests = ["/tests", "/testkit", "/corpora", "/benches", "_tests.rs"];
        if is_of_tests.iter().any(|part| name.ends_with(part)) {
            continue;
        }
        if entry.file_type().unwrap().is_dir() {
            collect(root, &path, files);
        } else if name.ends_with(".rs") {
            let text = std::fs::read_to_string(root.join(&path)).unwrap();
            files.push((name, shipped(&text)));
        }
    }
}

/// Without the module of tests, and without comments.
fn shipped(text: &str) -> String {
    let end = text.find("\n#[cfg(test)]\n").filter(|end| {
        let after = text[*end..].lines().skip(2).find(|line| !line.starts_with("#["));
        after.is_some_and(|line| line.starts_with("mod ") && line.ends_with('{'))
    });
    let text = end.map_or(text, |end| &text[..end]);
    let lines = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    lines.collect::<Vec<_>>().join("\n")
}

/// The texts in quotes that are within one line, each with what stands before it in the line.
pub fn texts(source: &str) -> impl Iterator<Item = (&str, &str)> {
    source.lines().flat_map(|line| {
        let quotes: Vec<usize> = line.match_indices('"').map(|(at, _)| at).collect();
        let pairs = quotes.windows(2).map(|pair| (pair[0], pair[1])).collect::<Vec<_>>();
        pairs
            .into_iter()
            .map(|(begin, end)| (&line[..begin], &line[begin + 1..end]))
    })
}

#[test]
fn tests_and_comments_are_no_source() {
    let text = "a(\"X\");\n// \"Y\"\n#[cfg(test)]\n#[allow(x)]\nmod tests {\n    b(\"Z\");\n}\n";
    assert_eq!(shipped(text), "a(\"X\");");
    assert_eq!(
        texts("var(\"A\", \"B\")").map(|(_, text)| text).collect::<Vec<_>>(),
        ["A", ", ", "B"]
    );
}
