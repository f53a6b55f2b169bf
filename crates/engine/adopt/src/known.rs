//! Existing objects: those that say what is wanted are used, and automations that commit in the
//! same repository are known.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::adopted::{Git, Known, Said};
use super::draft::Draft;
use super::fields::{below, text_below};
use super::files::{Files, common, is_within, object};
use super::remarks::{At, Weight};
use super::render::{path, scalar};
use bumpwright_api::tree::{self, Node};
use bumpwright_api::{LabelSelector, Requirement};
use bumpwright_policy::PolicyName;

/// Why an automation is suspended for which nothing has moved.
pub(crate) const WAITS: &str = "none of its Applications has moved yet";

/// What counts whether it is wanted or not: tags that are left out would be missing.
const EXCLUDED: &str = "exclusionList";

impl Known {
    pub(crate) fn of(files: &Files<'_>) -> Self {
        let objects = files.objects().into_iter().filter_map(|(_, node)| {
            let kind = node.field_text("kind")?;
            matches!(kind, "ImageRepository" | "ImagePolicy" | "GitRepository")
                .then(|| Some((kind.to_owned(), object(node)?, Said::of(node))))?
        });
        let objects = objects.collect();
        Self { objects }
    }

    fn find(&self, kind: &str, namespace: &str, is_it: impl Fn(&Said) -> bool) -> Option<String> {
        self.all(kind, namespace, is_it).next()
    }

    fn all(&self, kind: &str, namespace: &str, is_it: impl Fn(&Said) -> bool) -> impl Iterator<Item = String> {
        let objects = self.objects.iter();
        let found = objects.filter(move |(own, name, said)| own == kind && name.namespace == namespace && is_it(said));
        found.map(|(_, name, _)| name.name.clone())
    }

    /// The policy that says exactly this, but for its interval and further labels and annotations.
    pub(crate) fn policy(&self, namespace: &str, written: &str) -> Option<String> {
        let wanted = Said::read(written)?;
        self.find("ImagePolicy", namespace, |known| {
            let spec = |said: &Said| said.get("spec").map(|spec| spec.clone().without("interval"));
            spec(known) == spec(&wanted) && known.meta_says(&wanted)
        })
    }

    /// The labels of a policy of the files, and its image if its repository is among them, too.
    pub(crate) fn chooser(&self, policy: &PolicyName) -> Option<(BTreeMap<String, String>, Option<String>)> {
        let said = self.object("ImagePolicy", policy)?;
        let labels = match said.get("metadata").and_then(|metadata| metadata.get("labels")) {
            Some(Said::Map(labels)) => labels.clone(),
            _ => BTreeMap::new(),
        };
        let labels = labels
            .into_iter()
            .filter_map(|(key, value)| Some((key, value.text()?.to_owned())));
        let reference = said.get("spec").and_then(|spec| spec.get("imageRepositoryRef"));
        let text = |key: &str| reference.and_then(|reference| reference.get(key))?.text();
        let repository = text("name").and_then(|name| {
            let namespace = text("namespace").unwrap_or(&policy.namespace);
            self.object("ImageRepository", &PolicyName::new(namespace, name))
        });
        let image = repository.and_then(|said| said.get("spec")?.get("image")?.text());
        Some((labels.collect(), image.map(str::to_owned)))
    }

    /// The policies of the files.
    pub(crate) fn policies(&self) -> impl Iterator<Item = &PolicyName> {
        let policies = self.objects.iter().filter(|(kind, ..)| kind == "ImagePolicy");
        policies.map(|(_, name, _)| name)
    }

    fn object(&self, kind: &str, name: &PolicyName) -> Option<&Said> {
        let mut objects = self.objects.iter();
        let found = objects.find(|(own, other, _)| own == kind && other == name);
        found.map(|(.., said)| said)
    }

    /// The repositories that say this; they may say more, as how they log in.
    pub(crate) fn repositories(&self, namespace: &str, written: &str) -> Vec<String> {
        let Some(wanted) = Said::read(written) else {
            return Vec::new();
        };
        let says_it = |known: &Said| known.says_spec(&wanted) && known.meta_says(&wanted);
        self.all("ImageRepository", namespace, says_it).collect()
    }

    /// The GitRepositories of this address and branch, in the order of the files; they may say more, as
    /// how they log in.
    pub(crate) fn sources(&self, namespace: &str, git: &Git) -> Vec<String> {
        let found = self.all("GitRepository", namespace, |known| {
            let text = |keys: &[&str]| keys.iter().try_fold(known, |said, key| said.get(key))?.text();
            let is_branch =
                known
                    .get("spec")
                    .and_then(|spec| spec.get("ref"))
                    .is_some_and(|reference| match reference {
                        Said::Map(fields) => fields.len() == 1,
                        _ => false,
                    });
            text(&["spec", "url"]) == Some(&git.url)
                && is_branch
                && text(&["spec", "ref", "branch"]) == Some(&git.branch)
                && git
                    .secret
                    .as_deref()
                    .is_none_or(|secret| text(&["spec", "secretRef", "name"]) == Some(secret))
        });
        let mut names: Vec<String> = Vec::new();
        for name in found {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }
}

impl Said {
    fn of(node: &Node) -> Self {
        if !node.entries().is_empty() {
            let entries = node.entries().iter();
            return Self::Map(
                entries
                    .map(|entry| (entry.name().to_owned(), Self::of(&entry.node)))
                    .collect(),
            );
        }
        if !node.items().is_empty() {
            return Self::List(node.items().iter().map(|item| Self::of(item)).collect());
        }
        Self::Text(node.scalar_text().to_owned())
    }

    fn read(text: &str) -> Option<Self> {
        tree::parse(text).0.first().map(|node| Self::of(node))
    }

    fn get(&self, key: &str) -> Option<&Self> {
        match self {
            Self::Map(fields) => fields.get(key),
            _ => None,
        }
    }

    fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    fn without(mut self, key: &str) -> Self {
        if let Self::Map(fields) = &mut self {
            fields.remove(key);
        }
        self
    }

    /// Whether it says all that is wanted, and of what counts exactly no more.
    fn says(&self, wanted: &Self) -> bool {
        match (self, wanted) {
            (Self::Map(own), Self::Map(wanted)) => {
                let has = |(key, value): (&String, &Self)| {
                    key == "interval" || own.get(key).is_some_and(|own| own.says(value))
                };
                wanted.iter().all(has) && own.contains_key(EXCLUDED) == wanted.contains_key(EXCLUDED)
            }
            _ => self == wanted,
        }
    }

    fn says_spec(&self, wanted: &Self) -> bool {
        matches!((self.get("spec"), wanted.get("spec")), (Some(own), Some(wanted)) if own.says(wanted))
    }

    /// Whether it has the labels and annotations.
    fn meta_says(&self, wanted: &Self) -> bool {
        ["labels", "annotations"].iter().all(|key| {
            let get = |said: &Self| said.get("metadata").and_then(|metadata| metadata.get(key)).cloned();
            get(wanted).is_none_or(|wanted| get(self).is_some_and(|own| own.says(&wanted)))
        })
    }
}

/// An automation that exists in the files.
#[derive(Clone, Debug)]
pub(crate) struct Standing {
    pub(crate) name: PolicyName,
    /// Which of the files has it.
    pub(crate) file: usize,
    /// The address of its repository, if its GitRepository is among the files.
    pub(crate) url: Option<String>,
    /// The branch that it reads.
    pub(crate) branch: Option<String>,
    /// The branch that it pushes to, if it is another one.
    pub(crate) push: Option<String>,
    pub(crate) secret: Option<String>,
    /// The file of its GitRepository, and the bytes of `url` there.
    address: Option<(usize, Range<usize>)>,
    pub(crate) annotations: BTreeMap<String, String>,
    pub(crate) selector: Option<LabelSelector>,
    /// Its `update.path`, and the bytes of it if it is written.
    pub(crate) path: String,
    pub(crate) span: Option<Range<usize>>,
    /// The place and the bytes of `suspend`, if it is.
    suspend: Option<(At, Range<usize>)>,
}

impl Standing {
    /// All of the files.
    pub(crate) fn all(files: &Files<'_>) -> Vec<Self> {
        let objects = files.objects();
        let sources: Vec<(PolicyName, usize, &Node)> = objects
            .iter()
            .filter(|(_, node)| node.field_text("kind") == Some("GitRepository"))
            .filter_map(|(file, node)| Some((object(node)?, *file, *node)))
            .collect();
        let of_kind = objects
            .iter()
            .filter(|(_, node)| node.field_text("kind") == Some("ImageUpdateAutomation"));
        of_kind
            .filter_map(|(file, node)| Self::read(*file, node, &sources))
            .collect()
    }

    fn read(file: usize, node: &Node, sources: &[(PolicyName, usize, &Node)]) -> Option<Self> {
        let name = object(node)?;
        let spec = node.field("spec")?;
        let text = |keys: &[&str]| text_below(spec, keys).map(str::to_owned);
        let namespace = text(&["sourceRef", "namespace"]).unwrap_or_else(|| name.namespace.clone());
        let reference = PolicyName::new(namespace, text(&["sourceRef", "name"]).unwrap_or_default());
        let source = sources
            .iter()
            .find(|(name, ..)| *name == reference)
            .map(|(_, file, node)| (*file, *node));
        let of_source = |keys: &[&str]| source.and_then(|(_, node)| text_below(node, keys)).map(str::to_owned);
        let address = source.and_then(|(file, node)| {
            let entries = node.field("spec")?.entries();
            let url = entries.iter().find(|entry| entry.is("url"))?;
            Some((file, url.node.span.clone()))
        });
        let branch = text(&["git", "checkout", "ref", "branch"]).or_else(|| of_source(&["spec", "ref", "branch"]));
        let own_path = below(spec, &["update", "path"]);
        let shown = own_path.map_or("", Node::scalar_text);
        Some(Self {
            file,
            url: of_source(&["spec", "url"]),
            push: text(&["git", "push", "branch"]).filter(|push| branch.as_ref() != Some(push)),
            branch,
            secret: of_source(&["spec", "secretRef", "name"]),
            address,
            annotations: texts(below(node, &["metadata", "annotations"])),
            selector: spec.field("policySelector").map(selector),
            path: shown.trim_start_matches(['.', '/']).trim_end_matches('/').to_owned(),
            span: own_path.map(|node| node.span.clone()),
            suspend: spec
                .field("suspend")
                .filter(|node| node.text() == Some("true"))
                .map(|node| {
                    let place = node.place;
                    (At { file, place }, node.span.clone())
                }),
            name,
        })
    }

    /// Whether it reads a file or folder of this path.
    pub(crate) fn covers(&self, path: &str) -> bool {
        path == self.path || is_within(path, &self.path)
    }

    /// Whether it is in the file of objects, which may be changed.
    pub(crate) fn is_ours(&self, draft: &Draft<'_>) -> bool {
        draft.options.manifests == Some(self.file)
    }

    /// Has one of the file of objects look at these folders, too.
    pub(crate) fn widen(&self, draft: &mut Draft<'_>, folders: &BTreeSet<String>) {
        let is_new = folders.iter().any(|folder| !self.covers(folder));
        let Some(span) = self.span.clone().filter(|_| is_new && self.is_ours(draft)) else {
            return;
        };
        let paths = folders.iter().map(String::as_str).chain([self.path.as_str()]);
        draft.rewrite(span, path(&common(paths)));
    }

    /// Ends the suspension of one of the file of objects that was made so, and has it look at these folders alone;
    /// whether there was one.
    pub(crate) fn resume(&self, draft: &mut Draft<'_>, folders: &BTreeSet<String>) -> bool {
        let Some(suspended) = self.waits(draft) else {
            return false;
        };
        draft.rewrite(suspended, "false".to_owned());
        if let Some(span) = self.span.clone() {
            draft.rewrite(span, path(&common(folders.iter().map(String::as_str))));
        }
        true
    }

    /// That what moves to one which somebody has suspended waits with it.
    pub(crate) fn tell_suspended(&self, draft: &mut Draft<'_>) {
        let Some((at, _)) = self.suspend else { return };
        let subject = format!("ImageUpdateAutomation {}", self.name);
        let text = "it is suspended, so that nothing updates the fields that move to it: set spec.suspend to false";
        draft.tell(Weight::Note, at, &subject, text);
    }

    /// The bytes that suspend it, with the comment that says why.
    fn waits(&self, draft: &Draft<'_>) -> Option<Range<usize>> {
        let (_, span) = self.suspend.clone().filter(|_| self.is_ours(draft))?;
        let comment = draft.files.get(self.file)?.text.get(span.end..)?.lines().next()?;
        let is_made = comment.trim().strip_prefix("# ") == Some(WAITS);
        is_made.then(|| span.start..span.end + comment.len())
    }

    /// Whether its GitRepository is in the file of objects, where a Secret can be named below its address.
    pub(crate) fn may_name_secret(&self, draft: &Draft<'_>) -> bool {
        self.with_secret(draft, "x").is_some()
    }

    /// Has its GitRepository log in with a Secret, where it names none.
    pub(crate) fn name_secret(&self, draft: &mut Draft<'_>, secret: Option<&str>) {
        let secret = secret.filter(|_| self.secret.is_none());
        if let Some((span, new)) = secret.and_then(|secret| self.with_secret(draft, secret)) {
            draft.rewrite(span, new);
        }
    }

    /// The address with a Secret below it: where `url` begins its line.
    fn with_secret(&self, draft: &Draft<'_>, secret: &str) -> Option<(Range<usize>, String)> {
        let (file, span) = self.address.clone()?;
        let parsed = draft.files.get(file)?;
        let is_ours = draft.options.manifests == Some(file);
        let (url, before) = (parsed.text.get(span.clone())?, parsed.text.get(..span.start)?);
        let blanks = before.rsplit('\n').next()?.trim_end().strip_suffix("url:")?;
        let is_first = blanks.trim().is_empty();
        (is_ours && is_first).then(|| {
            let new = format!("{url}\n{blanks}secretRef:\n{blanks}  name: {}", scalar(secret));
            (span, new)
        })
    }

    /// Whether it takes policies with these labels.
    pub(crate) fn takes(&self, labels: &BTreeMap<String, String>) -> bool {
        // One whose selector is not valid takes none now, and may be mended.
        self.selector
            .as_ref()
            .is_none_or(|selector| selector.matches(labels).unwrap_or(true))
    }
}

fn texts(map: Option<&Node>) -> BTreeMap<String, String> {
    let entries = map.into_iter().flat_map(Node::entries);
    let texts = entries.map(|entry| (entry.name().to_owned(), entry.node.scalar_text().to_owned()));
    texts.collect()
}

fn selector(node: &Node) -> LabelSelector {
    let terms = node.items_of("matchExpressions");
    let term = |term: &std::rc::Rc<Node>| Requirement {
        key: term.text_of("key").to_owned(),
        operator: term.text_of("operator").to_owned(),
        values: term
            .items_of("values")
            .iter()
            .filter_map(|value| value.text().map(str::to_owned))
            .collect(),
    };
    LabelSelector {
        match_labels: texts(node.field("matchLabels")),
        match_expressions: terms.iter().map(term).collect(),
    }
}

/// The repository at an address, however that is written: by ssh or https, with or without `.git`.
pub(crate) fn place(url: &str) -> String {
    let (host, path) = match url.split_once("://") {
        Some((_, rest)) => rest.split_once('/').unwrap_or((rest, "")),
        None => url.split_once(':').unwrap_or((url, "")),
    };
    let host = host.rsplit('@').next().unwrap_or(host);
    let host = host.split(':').next().unwrap_or(host);
    let path = path.trim_matches('/');
    let path = path.strip_suffix(".git").unwrap_or(path);
    format!("{host}/{path}").to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repository_is_one_however_its_address_is_written() {
        for url in [
            "git@git.example.com:acme/fleet.git",
            "https://git.example.com/acme/fleet",
            "https://bot@git.example.com/Acme/fleet/",
            "ssh://git@git.example.com:2222/acme/fleet.git",
        ] {
            assert_eq!(place(url), "git.example.com/acme/fleet", "{url}");
        }
        assert_ne!(
            place("https://git.example.com/acme/apps"),
            place("https://git.example.com/acme/fleet")
        );
    }
}
