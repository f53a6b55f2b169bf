//! Which part of Helm's error decides (`../shared/helm/README.md`).

/// The pieces that our error has to have.
pub(super) fn decisive(err: &str) -> Vec<String> {
    let lines: Vec<&str> = err.lines().collect();
    let start = lines.iter().position(|line| line.starts_with("Error:")).unwrap_or(0);
    let is_noise = |line: &str| {
        let logs = ["level=", "time=", "WARNING", "walk.go", "coalesce.go"];
        line.trim().is_empty()
            || logs.iter().any(|log| line.starts_with(log))
            || line.trim() == "Use --debug flag to render out invalid YAML"
    };
    let lines: Vec<&str> = lines[start..].iter().copied().filter(|line| !is_noise(line)).collect();
    let faults = lines
        .iter()
        .map(|line| line.trim())
        .filter(|line| line.starts_with("- at "));
    let faults: Vec<String> = faults.map(str::to_owned).collect();
    if !faults.is_empty() {
        return faults;
    }
    let Some(line) = lines.last() else { return Vec::new() };
    let line = line.trim();
    vec![last_link(line.strip_prefix("Error: ").unwrap_or(line))]
}

/// What follows the last `: ` outside of quotes and angle brackets.
fn last_link(line: &str) -> String {
    for words in ["incompatible types for comparison: ", "non-comparable type "] {
        if let Some(at) = line.find(words) {
            return line[at..].to_owned();
        }
    }
    let bytes = line.as_bytes();
    let (mut cuts, mut quote, mut angle, mut at) = (Vec::new(), None, 0_usize, 0);
    while at < bytes.len() {
        let byte = bytes[at];
        let follows = |byte: u8| bytes[at + 1..].contains(&byte);
        match (quote, byte) {
            (Some(b'"'), b'\\') => at += 1,
            (Some(open), close) if open == close => quote = None,
            (Some(_), _) => {}
            (None, b'"' | b'`') if follows(byte) => quote = Some(byte),
            (None, b'<') if follows(b'>') => angle += 1,
            (None, b'>') if angle > 0 => angle -= 1,
            _ if angle == 0 && line.as_bytes()[at..].starts_with(b": ") => cuts.push(at + 2),
            _ => {}
        }
        at += 1;
    }
    let cut = cuts.into_iter().rev().find(|cut| line.len() - cut >= 8);
    let text = cut.map_or(line, |cut| &line[cut..]);
    text.split(" into Go ").next().unwrap().to_owned()
}
