//! Applications of Argo CD, and the templates of ApplicationSets.

use bumpwright_api::tree::Node;

use crate::fields::below;
use crate::files::{Files, join};
use crate::remarks::At;

const GROUP: &str = "argoproj.io/";

/// An Application, or the template of many.
#[derive(Clone, Debug)]
pub(super) struct Application<'n> {
    pub(super) file: usize,
    /// The object, for places.
    pub(super) node: &'n Node,
    pub(super) metadata: Option<&'n Node>,
    pub(super) spec: Option<&'n Node>,
    /// Of the set, if the name of its Applications is made by a generator.
    pub(super) name: String,
    pub(super) namespace: Option<String>,
    /// Whether it is a template.
    pub(super) is_set: bool,
}

/// Where an Application has manifests from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Source<'n> {
    pub(super) node: &'n Node,
}

/// What makes manifests of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Helm,
    Kustomize,
    Plugin,
    Plain,
}

impl<'n> Source<'n> {
    pub(super) fn text(&self, key: &str) -> Option<&'n str> {
        self.node.field_text(key).map(str::trim).filter(|text| !text.is_empty())
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.node.field(key).is_some()
    }

    /// Its folder in its repository; none for a chart of a registry of charts.
    pub(super) fn path(&self) -> Option<String> {
        let path = self.text("path").filter(|_| !self.has("chart"))?;
        Some(join("", path))
    }

    fn says(&self) -> Option<Kind> {
        let kinds = [
            ("helm", Kind::Helm),
            ("chart", Kind::Helm),
            ("kustomize", Kind::Kustomize),
            ("plugin", Kind::Plugin),
        ];
        kinds.into_iter().find(|(key, _)| self.has(key)).map(|(_, kind)| kind)
    }

    /// The kind that it is, by its fields or by the files of its folder, as Argo CD finds it out.
    pub(super) fn kind(&self, files: &Files<'_>, home: usize) -> Kind {
        let by_files = || {
            let path = self.path()?;
            let root = files.folder(home, &path)?;
            let chart = files.at(root, &join(&path, "Chart.yaml"));
            match (chart, files.kustomization(root, &path)) {
                (Some(_), _) => Some(Kind::Helm),
                (None, Some(_)) => Some(Kind::Kustomize),
                (None, None) => None,
            }
        };
        self.says().or_else(by_files).unwrap_or(Kind::Plain)
    }
}

impl<'n> Application<'n> {
    /// Reads an object that is one.
    pub(super) fn read(file: usize, node: &'n Node) -> Option<Self> {
        if !node.field_text("apiVersion")?.starts_with(GROUP) {
            return None;
        }
        let own = |key| node.field("metadata").and_then(|metadata| metadata.field_text(key));
        let is_set = match node.field_text("kind")? {
            "Application" => false,
            "ApplicationSet" => true,
            _ => return None,
        };
        let template = if is_set {
            below(node, &["spec", "template"])?
        } else {
            node
        };
        let metadata = template.field("metadata");
        let given = |key| metadata.and_then(|metadata| metadata.field_text(key));
        let name = given("name").filter(|name| !is_template(name));
        let namespace = given("namespace").filter(|name| !is_template(name));
        Some(Self {
            file,
            node,
            metadata,
            spec: template.field("spec"),
            name: name.or(own("name")).unwrap_or_default().to_owned(),
            namespace: namespace.or(own("namespace")).map(str::to_owned),
            is_set,
        })
    }

    pub(super) fn at(&self) -> At {
        let place = self.node.place;
        At { file: self.file, place }
    }

    /// `Application argocd/web`
    pub(super) fn subject(&self) -> String {
        let kind = if self.is_set { "ApplicationSet" } else { "Application" };
        match &self.namespace {
            Some(namespace) => format!("{kind} {namespace}/{}", self.name),
            None => format!("{kind} {}", self.name),
        }
    }

    pub(super) fn annotations(&self) -> Option<&'n Node> {
        self.metadata?.field("annotations")
    }

    pub(super) fn label(&self, key: &str) -> Option<&'n str> {
        self.metadata?.field("labels")?.field_text(key)
    }

    pub(super) fn sources(&self) -> Vec<Source<'n>> {
        let Some(spec) = self.spec else { return Vec::new() };
        let many = spec.items_of("sources");
        if !many.is_empty() {
            return many.iter().map(|node| Source { node }).collect();
        }
        let dry = below(spec, &["sourceHydrator", "drySource"]);
        let source = dry.or_else(|| spec.field("source"));
        source.map(|node| Source { node }).into_iter().collect()
    }

    /// The source that images are written for: of this kind if there are several.
    pub(super) fn source(&self, kind: Option<Kind>, files: &Files<'_>) -> Option<Source<'n>> {
        let sources = self.sources();
        if sources.len() < 2 {
            return sources.first().copied();
        }
        let root = files.get(self.file).map_or(0, |file| file.source.root);
        let wanted = |source: &&Source<'_>| Some(source.kind(files, root)) == kind;
        let says = |source: &&Source<'_>| source.says().is_some() && source.says() == kind;
        let any = |source: &&Source<'_>| source.says().is_some();
        let source = sources
            .iter()
            .find(says)
            .or_else(|| sources.iter().find(wanted))
            .or_else(|| sources.iter().find(any));
        source.or(sources.first()).copied()
    }
}

/// Whether a generator of an ApplicationSet fills something in.
pub(super) fn is_template(text: &str) -> bool {
    text.contains("{{")
}
