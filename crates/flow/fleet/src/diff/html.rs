//! Differences as a page of its own: no script, nothing fetched.

use std::fmt::Write as _;

use super::text::entry;
use super::{FleetDiff, KustomizationDiff, ObjectChange, Presence};
use bumpwright_diff::field_to_text;

const HEAD: &str = "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>bumpwright fleet diff</title>\n\
<meta name=\"viewport\" content=\"width=device-width\">\n\
<style>body{font:15px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem}\
code,li li{font-family:ui-monospace,monospace;font-size:13px}summary{cursor:pointer}\
.added{color:#116329}.removed{color:#a40e26}.changed,.moved{color:#7d4e00}.error{color:#a40e26}\
@media(prefers-color-scheme:dark){body{background:#111;color:#ddd}.added{color:#7ee787}.removed,.error{color:#ff7b72}\
.changed,.moved{color:#e3b341}}</style></head><body>\n<h1>What differs</h1>\n";

pub(super) fn render(diffs: &[FleetDiff]) -> String {
    let mut out = HEAD.to_owned();
    for diff in diffs {
        let _ = writeln!(out, "<h2>{}</h2>", escaped(&entry(diff)));
        let _ = match diff.is_empty() {
            true => writeln!(out, "<p>Nothing differs.</p>"),
            false => writeln!(out, "<p>{}.</p>", diff.counts()),
        };
        diff.kustomizations
            .iter()
            .for_each(|kustomization| one(&mut out, kustomization));
    }
    out.push_str("</body></html>\n");
    out
}

fn one(out: &mut String, kustomization: &KustomizationDiff) {
    let class = match kustomization.presence {
        Presence::Added => "added",
        Presence::Removed => "removed",
        Presence::Both => "changed",
    };
    let (name, counts) = (escaped(&kustomization.name), kustomization.counts());
    let _ = writeln!(
        out,
        "<details open><summary>Kustomization <b class=\"{class}\">{name}</b>, {counts}</summary>"
    );
    let [before, after] = &kustomization.problems;
    for (problem, words) in [(before, "could not be built"), (after, "cannot be built")] {
        if let Some(problem) = problem {
            let _ = writeln!(out, "<p class=\"error\">{words}: {}</p>", escaped(problem));
        }
    }
    out.push_str("<ul>\n");
    for object in &kustomization.objects {
        let (class, note, fields) = match &object.change {
            ObjectChange::Added => ("added", "added".to_owned(), &[][..]),
            ObjectChange::Removed => ("removed", "removed".to_owned(), &[][..]),
            ObjectChange::Changed(fields) => ("changed", "changed".to_owned(), fields.as_slice()),
            ObjectChange::Moved { from, fields } => ("moved", format!("moved from {from}"), fields.as_slice()),
        };
        let name = escaped(&object.object.to_string());
        let _ = write!(out, "<li><span class=\"{class}\">{name}</span> {}", escaped(&note));
        if !fields.is_empty() {
            out.push_str("<ul>");
            fields.iter().for_each(|field| {
                let _ = write!(out, "<li>{}</li>", escaped(&field_to_text(field)));
            });
            out.push_str("</ul>");
        }
        out.push_str("</li>\n");
    }
    out.push_str("</ul></details>\n");
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}
