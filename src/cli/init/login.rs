//! The login that an automation pushes with: that of its GitRepository.

use bumpwright_adopt::{Files, object};
use bumpwright_git::{RemoteUrl, Scheme};
use bumpwright_propose::Proposal;

/// That a proposed automation has no login to push with, and what the Secret of one has.
pub(super) fn note(files: &Files<'_>, proposal: &Proposal) -> Option<String> {
    let mut proposed = proposal.objects.iter();
    let (_, automation) = proposed.find(|(kind, _)| *kind == "ImageUpdateAutomation")?;
    let objects = files.objects().into_iter();
    let mut sources = objects.filter_map(|(file, node)| {
        let name = object(node).filter(|name| name.name == automation.name)?;
        (node.field_text("kind") == Some("GitRepository")).then_some((file, node, name))
    });
    let (Some((file, node, name)), None) = (sources.next(), sources.next()) else {
        return None;
    };
    let spec = node.field("spec")?;
    if spec.field("secretRef").is_some() || !matches!(spec.text_of("provider"), "" | "generic") {
        return None;
    }
    let keys = keys(spec.text_of("url"))?;
    let name = match name.namespace.as_str() {
        "" => name.name,
        _ => name.to_string(),
    };
    let path = &files.parsed.get(file)?.source.name;
    Some(format!(
        "{path}:{}:{}: GitRepository {name} has no secretRef, and the automation pushes with its login: add \
         `secretRef: {{name: NAME}}` to its spec, with a Secret that has {keys} and may push (docs/guides/private-git.md)",
        node.place.line, node.place.column
    ))
}

/// The keys of a Secret that logs in at an address; none where nobody logs in.
fn keys(url: &str) -> Option<&'static str> {
    match RemoteUrl::parse(url).ok()?.scheme() {
        Scheme::Http | Scheme::Https => Some("`username` and `password`"),
        Scheme::Ssh => Some("`identity` and `known_hosts`"),
        Scheme::Local => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bumpwright_adopt::SourceFile;
    use bumpwright_policy::PolicyName;

    /// The note on one GitRepository with this spec.
    fn note_on(spec: &str) -> Option<String> {
        let text = format!("kind: GitRepository\nmetadata: {{name: fleet, namespace: fs}}\nspec: {{{spec}}}\n");
        let sources = [SourceFile {
            root: 0,
            path: "source.yaml".to_owned(),
            name: "fleet/source.yaml".to_owned(),
            bytes: text.into_bytes(),
        }];
        let proposal = Proposal {
            objects: vec![("ImageUpdateAutomation", PolicyName::new("fs", "fleet"))],
            ..Proposal::default()
        };
        note(&Files::read(&sources), &proposal)
    }

    #[test]
    fn a_source_without_a_login_is_named_with_the_keys_of_its_secret() {
        let place = "fleet/source.yaml:1:1: GitRepository fs/fleet has no secretRef, and the automation pushes with its login: add \
                     `secretRef: {name: NAME}` to its spec, with a Secret that has";
        for (spec, keys) in [
            (
                "url: 'https://git.example.com/fleet'",
                Some("`username` and `password`"),
            ),
            (
                "url: 'ssh://git@git.example.com/fleet'",
                Some("`identity` and `known_hosts`"),
            ),
            ("url: 'ssh://git@git.example.com/fleet', secretRef: {name: fleet}", None),
            ("url: 'https://dev.azure.com/acme/fleet', provider: azure", None),
            ("interval: 1m", None),
        ] {
            let expected = keys.map(|keys| format!("{place} {keys} and may push (docs/guides/private-git.md)"));
            assert_eq!(note_on(spec), expected, "{spec}");
        }
        assert_eq!(note(&Files::read(&[]), &Proposal::default()), None);
    }
}
