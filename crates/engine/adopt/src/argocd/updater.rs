//! `ImageUpdater` objects: which Applications each rule of theirs is for, and what it says.

use bumpwright_api::tree::Node;
use bumpwright_re2::{Budget, Regexp};

use super::application::Application;
use super::settings::{Forge, Image, Settings, WriteBack};
use crate::fields::{below, text_below};
use crate::glob;
use crate::remarks::{At, Told};

const GROUP: &str = "argocd-image-updater.argoproj.io/";

/// Steps of a search in a name; names are short.
const SEARCH_STEPS: u64 = 1_000_000;

pub(super) struct Updater<'n> {
    pub(super) file: usize,
    pub(super) node: &'n Node,
    pub(super) name: String,
    pub(super) namespace: Option<String>,
    /// From the most specific to the least, as the updater tries them.
    pub(super) rules: Vec<ApplicationRule<'n>>,
}

/// A rule for some Applications.
pub(super) struct ApplicationRule<'n> {
    pub(super) node: &'n Node,
    pub(super) pattern: &'n str,
    pub(super) images: Vec<Image>,
    pub(super) write_back: WriteBack,
    /// Whether the annotations of the Applications say the rest.
    pub(super) annotated: bool,
    /// The key that signatures are verified with.
    pub(super) verify: Option<Told<(String, String)>>,
}

impl<'n> Updater<'n> {
    pub(super) fn read(file: usize, node: &'n Node) -> Option<Self> {
        let is_one = node.field_text("apiVersion")?.starts_with(GROUP) && node.field_text("kind")? == "ImageUpdater";
        if !is_one {
            return None;
        }
        let spec = node.field("spec")?;
        let reader = Reader { file };
        let rules = spec.items_of("applicationRefs");
        let mut rules: Vec<ApplicationRule<'n>> = rules.iter().filter_map(|rule| reader.rule(spec, rule)).collect();
        rules.sort_by_key(|rule| std::cmp::Reverse(rule.specificity()));
        Some(Self {
            file,
            node,
            name: text_below(node, &["metadata", "name"]).unwrap_or_default().to_owned(),
            namespace: text_below(node, &["metadata", "namespace"]).map(str::to_owned),
            rules,
        })
    }

    pub(super) fn at(&self) -> At {
        let place = self.node.place;
        At { file: self.file, place }
    }

    pub(super) fn subject(&self) -> String {
        match &self.namespace {
            Some(namespace) => format!("ImageUpdater {namespace}/{}", self.name),
            None => format!("ImageUpdater {}", self.name),
        }
    }

    /// The rule for an Application: the first that fits. Applications of other namespaces are not its own.
    pub(super) fn rule_for(&self, application: &Application<'_>) -> Option<&ApplicationRule<'n>> {
        let elsewhere =
            self.namespace.is_some() && application.namespace.is_some() && self.namespace != application.namespace;
        if elsewhere {
            return None;
        }
        self.rules.iter().find(|rule| rule.fits(application))
    }
}

impl ApplicationRule<'_> {
    /// As the updater counts: a name without wildcards is before all, then labels, then letters.
    fn specificity(&self) -> usize {
        let mut score = if self.pattern.contains(['*', '?', '[', ']']) {
            0
        } else {
            1_000_000
        };
        let (mut in_set, mut letters) = (false, 0);
        for c in self.pattern.chars() {
            match c {
                '[' => in_set = true,
                ']' => in_set = false,
                '*' | '?' => {}
                _ if !in_set => letters += 1,
                _ => {}
            }
        }
        score += letters;
        if let Some(labels) = self.node.field("labelSelectors") {
            let equal = labels.field("matchLabels").map_or(0, |map| map.entries().len());
            let terms = labels.field("matchExpressions").map_or(0, |list| list.items().len());
            score += 10_000 + 100 * (equal + terms);
        }
        score
    }

    fn fits(&self, application: &Application<'_>) -> bool {
        let named = glob::pattern(self.pattern).is_some_and(|pattern| {
            let regexp = Regexp::new(pattern).ok();
            let mut budget = Budget::new(SEARCH_STEPS, 1 << 20);
            regexp.is_some_and(|regexp| {
                regexp
                    .is_match(application.name.as_bytes(), &mut budget)
                    .is_ok_and(|fits| fits)
            })
        });
        named && self.selects(application)
    }

    fn selects(&self, application: &Application<'_>) -> bool {
        let Some(labels) = self.node.field("labelSelectors") else {
            return true;
        };
        let equal = labels.entries_of("matchLabels");
        let terms = labels.items_of("matchExpressions");
        equal
            .iter()
            .all(|entry| application.label(entry.name()) == entry.node.text())
            && terms.iter().all(|term| meets(application, term))
    }
}

fn meets(application: &Application<'_>, term: &Node) -> bool {
    let label = application.label(term.text_of("key"));
    let values = term.items_of("values");
    let among = values.iter().any(|value| label.is_some() && value.text() == label);
    match term.field_text("operator") {
        Some("In") => among,
        Some("NotIn") => !among,
        Some("Exists") => label.is_some(),
        Some("DoesNotExist") => label.is_none(),
        _ => false,
    }
}

/// Reads fields of a file.
struct Reader {
    file: usize,
}

impl Reader {
    fn at(&self, node: &Node) -> At {
        At {
            file: self.file,
            place: node.place,
        }
    }

    fn told(&self, node: &Node, path: &[&str]) -> Option<Told<String>> {
        let (found, name) = (below(node, path)?, *path.last()?);
        let value = found.text()?.trim();
        (!value.is_empty()).then(|| Told {
            value: value.to_owned(),
            at: self.at(found),
            name: name.to_owned(),
        })
    }

    fn list(&self, node: &Node, key: &str) -> Option<Told<Vec<String>>> {
        let list = node.field(key)?;
        let items = list.items().iter().filter_map(|item| item.text());
        let value: Vec<String> = items.map(str::to_owned).filter(|item| !item.is_empty()).collect();
        let (at, name) = (self.at(list), key.to_owned());
        Some(Told { value, at, name })
    }

    fn settings(&self, node: &Node) -> Settings {
        let Some(node) = node.field("commonUpdateSettings") else {
            return Settings::default();
        };
        Settings {
            strategy: self.told(node, &["updateStrategy"]),
            allow: self.told(node, &["allowTags"]),
            ignore: self.list(node, "ignoreTags"),
            secret: self.told(node, &["pullSecret"]),
            platforms: self.list(node, "platforms"),
        }
    }

    fn write_back(&self, node: &Node) -> WriteBack {
        let Some(node) = node.field("writeBackConfig") else {
            return WriteBack::default();
        };
        let request = below(node, &["gitConfig", "pullRequest"]);
        let forge = request.and_then(|request| {
            let forges = [("github", Forge::GitHub), ("gitlab", Forge::GitLab)];
            let (name, value) = forges.into_iter().find(|(key, _)| request.get(key).is_some())?;
            let (at, name) = (self.at(request), format!("pullRequest.{name}"));
            Some(Told { value, at, name })
        });
        let labels = request.and_then(|request| {
            let labels = request.field("labels")?;
            let (at, name) = (self.at(labels), "pullRequest.labels".to_owned());
            (!labels.items().is_empty()).then_some(Told { value: (), at, name })
        });
        WriteBack {
            method: self.told(node, &["method"]),
            target: self.told(node, &["gitConfig", "writeBackTarget"]),
            branch: self.told(node, &["gitConfig", "branch"]),
            repository: self.told(node, &["gitConfig", "repository"]),
            request: forge,
            labels,
        }
    }

    /// The key, unless verification is off; what is nearer counts.
    fn verify(&self, nodes: &[&Node]) -> Option<Told<(String, String)>> {
        let blocks = || nodes.iter().filter_map(|node| node.field("imagesVerification"));
        if blocks().find_map(|block| block.field_text("enabled")) == Some("false") {
            return None;
        }
        let key = blocks().find_map(|block| block.field("cosignKey"))?;
        let text = |field| key.text_of(field).to_owned();
        Some(Told {
            value: (text("secretName"), text("key")),
            at: self.at(key),
            name: "imagesVerification.cosignKey".to_owned(),
        })
    }

    fn rule<'n>(&self, spec: &'n Node, rule: &'n Node) -> Option<ApplicationRule<'n>> {
        let settings = self.settings(rule).or(&self.settings(spec));
        let images = rule.items_of("images");
        let images = images
            .iter()
            .filter_map(|image| self.image(spec, rule, image, &settings));
        let annotated = rule.field_text("useAnnotations") == Some("true");
        Some(ApplicationRule {
            node: rule,
            pattern: rule.field_text("namePattern")?,
            images: if annotated { Vec::new() } else { images.collect() },
            write_back: self.write_back(rule).or(&self.write_back(spec)),
            annotated,
            // With annotations only what the rule itself says counts.
            verify: self.verify(&[rule]),
        })
    }

    fn image(&self, spec: &Node, rule: &Node, image: &Node, settings: &Settings) -> Option<Image> {
        let target = |path: [&str; 2]| self.told(image, &["manifestTargets", path[0], path[1]]);
        Some(Image {
            alias: image.text_of("alias").to_owned(),
            name: self.told(image, &["imageName"])?,
            settings: self.settings(image).or(settings),
            helm_name: target(["helm", "name"]),
            helm_tag: target(["helm", "tag"]),
            helm_spec: target(["helm", "spec"]),
            kustomize: target(["kustomize", "name"]),
            plugin_name: target(["plugin", "name"]),
            plugin_tag: target(["plugin", "tag"]),
            plugin_spec: target(["plugin", "spec"]),
            verify: self.verify(&[image, rule, spec]),
        })
    }
}
