//! The arguments of Flux v1's daemon: the repository, the branch, the author.

use std::collections::{BTreeMap, BTreeSet};

use crate::adopted::{Git, WriteBack};
use crate::draft::Draft;
use crate::fields::below;
use crate::remarks::{At, Weight};
use bumpwright_api::tree::Node;

/// The daemon of the files.
pub(super) struct Daemon {
    pub(super) write_back: WriteBack,
    pub(super) folders: BTreeSet<String>,
}

/// Finds the daemon: a container with the flag `--git-url`.
pub(super) fn find(draft: &mut Draft<'_>, objects: &[(usize, &Node)]) -> Option<Daemon> {
    objects.iter().find_map(|(file, node)| {
        let containers = below(node, &["spec", "template", "spec", "containers"])?;
        let arguments = containers.items().iter().find_map(|container| {
            let lists = ["args", "command"].into_iter().filter_map(|key| container.field(key));
            let words: Vec<&Node> = lists.flat_map(|list| list.items().iter().map(|item| &**item)).collect();
            flag(&words, "git-url").map(|_| words)
        })?;
        Some(read(draft, *file, &arguments))
    })
}

/// The value of a flag, and where it is.
fn flag<'n>(words: &[&'n Node], name: &str) -> Option<(&'n str, &'n Node)> {
    words.iter().find_map(|word| {
        let value = word.text()?.trim_start_matches('-').strip_prefix(name)?;
        let value = match value {
            "" => "true",
            value => value.strip_prefix('=')?,
        };
        Some((value, *word))
    })
}

fn read(draft: &mut Draft<'_>, file: usize, words: &[&Node]) -> Daemon {
    let value = |name: &str, default: &str| flag(words, name).map_or(default, |(value, _)| value).to_owned();
    let url = value("git-url", "");
    let url = match url.split_once(':') {
        Some((host, path)) if !url.contains("://") && host.contains('@') => format!("ssh://{host}/{path}"),
        _ => url,
    };
    for (name, instead) in [
        ("git-ci-skip", "write [ci skip] into spec.git.commit.messageTemplate"),
        ("git-ci-skip-message", "write it into spec.git.commit.messageTemplate"),
        (
            "git-signing-key",
            "set spec.git.commit.signingKey (docs/guides/signing.md)",
        ),
        ("registry-exclude-image", "make no policies for such images"),
        (
            "manifest-generation",
            "fields in .flux.yaml are not read; mark the fields of its sources",
        ),
    ] {
        if let Some((_, node)) = flag(words, name).filter(|(value, _)| *value != "false") {
            let at = At {
                file,
                place: node.place,
            };
            draft.tell(Weight::Left, at, "", format!("--{name}: {instead}"));
        }
    }
    let at = flag(words, "git-url").map(|(_, node)| At {
        file,
        place: node.place,
    });
    if let Some(at) = at {
        let text = "the key of Flux v1 (flux-git-deploy) is not read: name a Secret with identity and known_hosts in spec.secretRef of the \
                    GitRepository (docs/guides/private-git.md)";
        draft.tell(Weight::Note, at, "", text);
    }
    let paths = value("git-path", "");
    Daemon {
        write_back: WriteBack {
            git: Git {
                url,
                branch: value("git-branch", "master"),
                secret: None,
            },
            push: None,
            options: BTreeMap::new(),
            annotations: BTreeMap::new(),
            author: (
                value("git-user", "Weave Flux"),
                value("git-email", "support@weave.works"),
            ),
        },
        folders: paths.split(',').map(|path| path.trim_matches('/').to_owned()).collect(),
    }
}
