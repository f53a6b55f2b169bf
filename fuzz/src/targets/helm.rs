//! Charts: their archive, or their files with the user's values.

use super::template::{Still, is_slow};
use bumpwright_helm::{
    Capabilities, Chart, File, IgnoreRules, Release, Selection, Settings, Values, read_values, render,
};
use bumpwright_template::Limits;

/// Files follow each other, each with its path on the line above it: `-- templates/a.yaml --`. What precedes them are the values
/// of the user.
fn files(input: &[u8]) -> (Vec<u8>, Vec<File>) {
    let (mut values, mut files): (Vec<u8>, Vec<File>) = (Vec::new(), Vec::new());
    for line in input.split_inclusive(|byte| *byte == b'\n') {
        let name = line
            .trim_ascii()
            .strip_prefix(b"-- ")
            .and_then(|rest| rest.strip_suffix(b" --"));
        match (name, files.last_mut()) {
            (Some(name), _) => files.push(File {
                name: String::from_utf8_lossy(name).into_owned(),
                data: Vec::new(),
            }),
            (None, Some(file)) => file.data.extend_from_slice(line),
            (None, None) => values.extend_from_slice(line),
        }
    }
    (values, files)
}

fn rendered(chart: &Chart, values: &Values) -> Option<String> {
    let release = Release {
        name: "rel".to_owned(),
        namespace: "ns".to_owned(),
        is_upgrade: false,
    };
    let settings = Settings {
        skip_schemas: false,
        leave_unfetched: false,
        limits: Limits {
            steps: 50_000,
            output: 1 << 20,
            produced: 32 << 20,
            ..Limits::default()
        },
    };
    let rendered = render(chart, values, &release, &Capabilities::default(), settings, &Still).ok()?;
    rendered
        .text(&Selection {
            crds: true,
            ..Selection::default()
        })
        .ok()
}

/// Any chart: it is rendered twice alike, or fails.
pub fn check(input: &[u8]) {
    if let Ok(chart) = Chart::from_archive(input) {
        let _ = rendered(&chart, &Values::new());
    }
    let (values, files) = files(input);
    if files.iter().any(|file| is_slow(&String::from_utf8_lossy(&file.data)))
        || is_slow(&String::from_utf8_lossy(&values))
    {
        return;
    }
    let ignored = files.iter().find(|file| file.name == ".helmignore");
    let _ = ignored.map(|file| IgnoreRules::parse(&file.data).map(|rules| rules.ignores("templates/a.yaml", false)));
    let Ok(values) = read_values(&values) else { return };
    let Ok(chart) = Chart::from_files(files) else { return };
    let text = rendered(&chart, &values);
    assert!(text == rendered(&chart, &values), "two renderings differ");
}
