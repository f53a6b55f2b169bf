//! The objects as one YAML file for people.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::adopted::{Access, Git, Objects, Policy, Repository, Rule};
use bumpwright_api::RepositoryKind;
use bumpwright_policy::PolicyName;

/// Of ImageRepositories without an exclusion list; one with a list has it besides, so that signatures are
/// no tags there either.
const SIGNATURES: &str = r"^.*\.sig$";

/// Entries that an exclusion list may have.
const MAX_EXCLUSIONS: usize = 25;

/// All objects: what is scanned, what is chosen, where it is committed.
pub(crate) fn render(objects: &Objects, interval: &str) -> String {
    let mut documents = Vec::new();
    let repositories = objects.repositories.made.iter();
    documents.extend(repositories.map(|(name, object)| repository(name, object, interval)));
    let policies = objects.policies.made.iter();
    documents.extend(policies.map(|(name, object)| policy(name, object, interval)));
    let sources = objects.sources.made.iter();
    documents.extend(sources.map(|(name, object)| source(name, object, interval)));
    let automations = objects.automations.made.iter();
    documents.extend(automations.map(|(name, object)| object.render(name, interval)));
    documents.join("---\n")
}

fn head(group: &str, kind: &str, name: &PolicyName, annotations: &BTreeMap<String, String>) -> String {
    labelled(group, kind, name, &BTreeMap::new(), annotations)
}

fn labelled(
    group: &str,
    kind: &str,
    name: &PolicyName,
    labels: &BTreeMap<String, String>,
    annotations: &BTreeMap<String, String>,
) -> String {
    let mut out = format!(
        "apiVersion: {group}.toolkit.fluxcd.io/v1\nkind: {kind}\nmetadata:\n  name: {}\n  namespace: {}\n",
        scalar(&name.name),
        scalar(&name.namespace)
    );
    map(&mut out, 2, "labels", labels);
    map(&mut out, 2, "annotations", annotations);
    out.push_str("spec:\n");
    out
}

fn map(out: &mut String, indent: usize, key: &str, entries: &BTreeMap<String, String>) {
    if entries.is_empty() {
        return;
    }
    let _ = writeln!(out, "{:indent$}{key}:", "");
    let deeper = indent + 2;
    for (key, value) in entries {
        let _ = writeln!(out, "{:deeper$}{}: {}", "", scalar(key), scalar(value));
    }
}

#[must_use]
pub fn repository(name: &PolicyName, object: &Repository, interval: &str) -> String {
    let mut annotations = BTreeMap::new();
    if object.kind != RepositoryKind::Oci {
        annotations.insert("bumpwright.dev/kind".to_owned(), object.kind.as_str().to_owned());
    }
    let mut out = head("image", "ImageRepository", name, &annotations);
    let _ = writeln!(out, "  image: {}\n  interval: {interval}", scalar(&object.image));
    access(&mut out, &object.access);
    if !object.exclusions.is_empty() {
        out.push_str("  exclusionList:\n");
        let own = if object.exclusions.len() < MAX_EXCLUSIONS {
            object.exclusions.clone()
        } else {
            vec![object.exclusions.join("|")]
        };
        for pattern in own.iter().map(String::as_str).chain([SIGNATURES]) {
            let _ = writeln!(out, "    - {}", scalar(pattern));
        }
    }
    out
}

fn access(out: &mut String, access: &Access) {
    let texts = [
        ("provider", &access.provider),
        ("serviceAccountName", &access.service_account),
    ];
    for (key, value) in texts {
        if let Some(value) = value {
            let _ = writeln!(out, "  {key}: {}", scalar(value));
        }
    }
    if access.insecure {
        out.push_str("  insecure: true\n");
    }
    let secrets = [
        ("secretRef", &access.secret),
        ("certSecretRef", &access.certificates),
        ("proxySecretRef", &access.proxy),
    ];
    for (key, name) in secrets {
        if let Some(name) = name {
            let _ = writeln!(out, "  {key}:\n    name: {}", scalar(name));
        }
    }
}

#[must_use]
pub fn policy(name: &PolicyName, object: &Policy, interval: &str) -> String {
    let mut out = labelled("image", "ImagePolicy", name, &object.labels, &object.annotations);
    let _ = writeln!(out, "  imageRepositoryRef:\n    name: {}", scalar(&object.repository));
    if let Some(pattern) = &object.filter {
        let _ = writeln!(out, "  filterTags:\n    pattern: {}", scalar(pattern));
        if let Some(extract) = &object.extract {
            let _ = writeln!(out, "    extract: {}", scalar(extract));
        }
    }
    out.push_str("  policy:\n");
    let _ = match &object.rule {
        Rule::Semver(range) => writeln!(out, "    semver:\n      range: {}", scalar(range)),
        Rule::Alphabetical => writeln!(out, "    alphabetical:\n      order: asc"),
        Rule::Numerical => writeln!(out, "    numerical:\n      order: asc"),
    };
    if object.digest {
        let _ = writeln!(out, "  digestReflectionPolicy: Always\n  interval: {interval}");
    }
    out
}

fn source(name: &PolicyName, object: &Git, interval: &str) -> String {
    let mut out = head("source", "GitRepository", name, &BTreeMap::new());
    let _ = writeln!(out, "  url: {}\n  interval: {interval}", scalar(&object.url));
    let _ = writeln!(out, "  ref:\n    branch: {}", scalar(&object.branch));
    if let Some(secret) = &object.secret {
        let _ = writeln!(out, "  secretRef:\n    name: {}", scalar(secret));
    }
    out
}

/// What an automation commits, and where.
#[derive(Clone, Copy, Debug)]
pub struct Commits<'a> {
    /// Annotations of the automation.
    pub annotations: &'a BTreeMap<String, String>,
    /// Why it is suspended, if it is, for a comment.
    pub suspended: Option<&'a str>,
    /// The GitRepository: its namespace if that is another one, and its name.
    pub source: (Option<&'a str>, &'a str),
    /// The branch that is read; none means that of the GitRepository.
    pub branch: Option<&'a str>,
    pub author: (&'a str, &'a str),
    /// The branch to push to, if it is another one, with push options.
    pub push: Option<(&'a str, &'a BTreeMap<String, String>)>,
    /// The template of the message, if there is one: printable lines, none of which begins with a blank.
    pub message: Option<&'a str>,
    /// Labels of the policies that it takes; all policies of its namespace when there are none.
    pub selector: &'a BTreeMap<String, String>,
    /// The folder with fields to update; empty for all.
    pub path: &'a str,
}

#[must_use]
pub fn automation(name: &PolicyName, commits: &Commits<'_>, interval: &str) -> String {
    let mut out = head("image", "ImageUpdateAutomation", name, commits.annotations);
    if let Some(why) = commits.suspended {
        let _ = writeln!(out, "  suspend: true # {why}");
    }
    let (namespace, source) = commits.source;
    let _ = writeln!(
        out,
        "  interval: {interval}\n  sourceRef:\n    kind: GitRepository\n    name: {}",
        scalar(source)
    );
    if let Some(namespace) = namespace {
        let _ = writeln!(out, "    namespace: {}", scalar(namespace));
    }
    out.push_str("  git:\n");
    if let Some(branch) = commits.branch {
        let _ = writeln!(out, "    checkout:\n      ref:\n        branch: {}", scalar(branch));
    }
    let (author, email) = commits.author;
    let _ = writeln!(
        out,
        "    commit:\n      author:\n        name: {}\n        email: {}",
        scalar(author),
        scalar(email)
    );
    if let Some(message) = commits.message {
        out.push_str("      messageTemplate: |\n");
        for line in message.lines() {
            let _ = match line {
                "" => writeln!(out),
                line => writeln!(out, "        {line}"),
            };
        }
    }
    if let Some((branch, options)) = commits.push {
        let _ = writeln!(out, "    push:\n      branch: {}", scalar(branch));
        map(&mut out, 6, "options", options);
    }
    if !commits.selector.is_empty() {
        out.push_str("  policySelector:\n");
        map(&mut out, 4, "matchLabels", commits.selector);
    }
    let _ = writeln!(
        out,
        "  update:\n    strategy: Setters\n    path: {}",
        path(commits.path)
    );
    out
}

/// The path of a folder in a repository.
pub(crate) fn path(folder: &str) -> String {
    scalar(&format!("./{folder}"))
}

/// A text as a scalar of YAML: plain if nobody could read it as anything else.
pub(crate) fn scalar(text: &str) -> String {
    let is_plain = text.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '.' | '/'))
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "._/:@-".contains(c))
        && text.contains(|c: char| c.is_ascii_alphabetic() || c == '/')
        && !text.ends_with(':')
        && ![
            "true", "false", "null", "yes", "no", "on", "off", "y", "n", ".inf", ".nan",
        ]
        .contains(&text.to_ascii_lowercase().as_str());
    if is_plain {
        return text.to_owned();
    }
    if text.chars().any(char::is_control) {
        let escaped: String = text.chars().map(escaped).collect();
        format!("\"{escaped}\"")
    } else {
        format!("'{}'", text.replace('\'', "''"))
    }
}

fn escaped(c: char) -> String {
    match c {
        '"' | '\\' => format!("\\{c}"),
        '\n' => "\\n".to_owned(),
        c if c.is_control() => format!("\\u{:04x}", u32::from(c)),
        c => c.to_string(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;
    use bumpwright_api::tree::{Value, parse};

    #[test]
    fn scalars_are_read_back_as_text() {
        for text in [
            "web",
            "./",
            "~1.4",
            "1.20",
            "*",
            ">=1.0, <2.0",
            "true",
            "it's",
            "a: b",
            "x #y",
            "",
            "line\nbreak\t\"q\" \\",
            "https://git.example.com/acme/fleet.git",
            "registry:5000/web",
            "2026-01-02T03:04:05Z",
            "bumpwright.dev/hold",
        ] {
            let written = scalar(text);
            let root = &parse(&format!("k: {written}\n")).0[0];
            let node = root.get("k").unwrap();
            assert_eq!(node.text(), Some(text), "{written}");
            let plain = matches!(node.value, Value::Scalar { plain: true, .. });
            assert_eq!(plain, !written.starts_with(['\'', '"']));
        }
        assert_eq!(scalar("1.20"), "'1.20'");
        assert_eq!(scalar("web"), "web");
    }
}
