//! Links between the pages, and between those of the book that mdBook makes of them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::page::Page;

pub fn faults(pages: &[Page]) -> Vec<String> {
    let by_path: BTreeMap<&str, &Page> = pages.iter().map(|page| (page.path.as_str(), page)).collect();
    let mut faults = Vec::new();
    for page in pages {
        for link in page.links.iter().filter(|link| !is_elsewhere(&link.target)) {
            let (path, anchor) = link.target.split_once('#').unwrap_or((&link.target, ""));
            let path = resolved(&page.path, path);
            let fault = match by_path.get(path.as_str()) {
                _ if !path.starts_with("docs/") => {
                    format!("{} leads out of docs/: name the file in backticks", link.target)
                }
                None if !path.ends_with(".md") && Path::new(env!("CARGO_MANIFEST_DIR")).join(&path).is_file() => {
                    continue;
                }
                None => format!("there is no {path}"),
                Some(known) if !anchor.is_empty() && !known.anchors.contains(anchor) => {
                    format!("{path} has no heading #{anchor}")
                }
                Some(_) => continue,
            };
            faults.push(format!("{}:{}: {fault}", page.path, link.line));
        }
    }
    faults
}

fn is_elsewhere(target: &str) -> bool {
    ["https://", "http://", "mailto:"]
        .iter()
        .any(|scheme| target.starts_with(scheme))
}

/// The path from the root of what `link` names in a file; the file itself if it is empty.
fn resolved(file: &str, link: &str) -> String {
    if link.is_empty() {
        return file.to_owned();
    }
    let mut parts: Vec<&str> = file.split('/').collect();
    parts.pop();
    for part in link.split('/') {
        match part {
            "." | "" => {}
            ".." => drop(parts.pop()),
            _ => parts.push(part),
        }
    }
    parts.join("/")
}

/// The links of all pages of a book that name no file of it, or no element of that file.
pub fn faults_of_book(book: &Path) -> Vec<String> {
    let (mut folders, mut files) = (vec![book.to_owned()], BTreeMap::new());
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display())) {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let is_page = path.extension().is_some_and(|ending| ending == "html");
            let text = is_page.then(|| std::fs::read_to_string(&path).unwrap());
            let name = path.strip_prefix(book).unwrap().to_str().unwrap().to_owned();
            files.insert(name, text.unwrap_or_default());
        }
    }
    let ids: BTreeMap<&str, BTreeSet<&str>> = files
        .iter()
        .map(|(name, text)| (name.as_str(), values(text, " id=\"").collect()))
        .collect();
    assert!(files.len() > 50, "{} has only {} files", book.display(), files.len());
    let mut faults = BTreeSet::new();
    // 404.html is served at any path; its links are absolute, or from the root of the site.
    for (name, text) in files.iter().filter(|(name, _)| *name != "404.html") {
        for target in values(text, " href=\"").filter(|target| !is_elsewhere(target) && *target != "/") {
            let (path, id) = target.split_once('#').unwrap_or((target, ""));
            let path = resolved(name, path.split('?').next().unwrap());
            match ids.get(path.as_str()) {
                Some(known) if id.is_empty() || known.contains(id) => {}
                _ => drop(faults.insert(format!("{name}: {target}"))),
            }
        }
    }
    faults.into_iter().collect()
}

fn values<'a>(text: &'a str, attribute: &'a str) -> impl Iterator<Item = &'a str> {
    text.split(attribute)
        .skip(1)
        .filter_map(|rest| Some(rest.split_once('"')?.0))
}
