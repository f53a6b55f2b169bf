//! The files of Kustomizations' sources: of the repository, of others that are fetched side by side, and of
//! artifacts made of them.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::copied::{Copied, Here, Lent};
use super::error::{MissingSource, SourceError};
use super::files::clean;
use super::generator::{self, Generator};
use super::meant::{self, SourceObject};
use super::repository::{Outside, Repository};
use crate::beside::beside;
use crate::build::one::is_masked;
use crate::build::settings::{GivenSource, Settings};
use crate::build::view::Fleet;
use bumpwright_api::ObjectName;
use bumpwright_json::Texts;
use bumpwright_kustomize::tree::TreeError;

pub(crate) const SOURCE_GROUP: &str = "source.toolkit.fluxcd.io";

/// The most fetches at a time.
const FETCHES: usize = 32;

/// The deepest chain of artifacts that are made of others.
const DEEPEST: usize = 8;

/// The files of a source.
pub(crate) type SourceTree<'a> = Arc<dyn Repository + 'a>;

/// Sources, and what was fetched of them.
pub(crate) struct Sources<'a> {
    pub(crate) repository: &'a dyn Repository,
    outside: &'a dyn Outside,
    settings: &'a Settings,
    /// Kind and name of the source that reconciles the entry.
    pub(crate) own: Option<(String, ObjectName)>,
    /// Its object, when an operator makes it of an object that comes out late.
    pub(crate) own_object: Option<Value>,
    /// By the keys of [`Plan::Outside`].
    fetched: BTreeMap<String, Result<Arc<dyn Repository>, Arc<SourceError>>>,
    /// By the keys of plans.
    made: BTreeMap<String, Result<SourceTree<'a>, Arc<SourceError>>>,
}

/// How the files of a source are had.
#[derive(Clone)]
pub(crate) enum Plan {
    /// From the repository: a folder of it, with the `spec.ignore` of the source.
    Here { folder: String, ignore: Option<String> },
    /// From files that the user gave.
    Given(String, Arc<dyn Repository>),
    /// Fetched. `lacks` is a Secret that it names and the fleet does not have.
    Outside {
        source: Box<SourceObject>,
        objects: Vec<Value>,
        lacks: bool,
    },
    /// Made by an ArtifactGenerator.
    Generated {
        generator: Box<Generator>,
        spec: String,
        name: String,
        sources: Vec<(String, Plan)>,
    },
    /// With files of others put into it (`spec.include`).
    Including {
        base: Box<Plan>,
        includes: Vec<Include>,
        ignore: Option<String>,
    },
    /// Not in the fleet.
    Missing(MissingSource),
}

/// An entry of `spec.include`.
#[derive(Clone)]
pub(crate) struct Include {
    plan: Plan,
    from: String,
    to: String,
}

impl Plan {
    /// What the files depend on.
    pub(crate) fn key(&self) -> String {
        match self {
            Self::Here { folder, ignore } => format!("here {folder:?} {ignore:?}"),
            Self::Given(name, _) => format!("given {name}"),
            Self::Outside { source, .. } => format!("outside {} {:?}", source.shown(), source.object),
            Self::Generated {
                spec, name, sources, ..
            } => {
                let sources = sources.iter().map(|(alias, plan)| format!("{alias}={}", plan.key()));
                format!("{name} of {spec} [{}]", sources.collect::<Vec<_>>().join(", "))
            }
            Self::Including { base, includes, ignore } => {
                let includes = includes
                    .iter()
                    .map(|one| format!("{} {} {}", one.plan.key(), one.from, one.to));
                let includes: Vec<String> = includes.collect();
                format!("{} with [{}] {ignore:?}", base.key(), includes.join(", "))
            }
            Self::Missing(error) => format!("missing {error}"),
        }
    }

    /// The Secrets and ServiceAccounts for its fetch.
    pub(crate) fn objects(&self) -> &[Value] {
        match self {
            Self::Outside { objects, .. } => objects,
            _ => &[],
        }
    }

    /// The plans that it is made of.
    fn parts(&self) -> Vec<&Self> {
        match self {
            Self::Generated { sources, .. } => sources.iter().map(|(_, plan)| plan).collect(),
            Self::Including { base, includes, .. } => {
                let includes = includes.iter().map(|include| &include.plan);
                includes.chain([&**base]).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Whether itself or a part of it is such a plan.
    fn any(&self, is: &dyn Fn(&Self) -> bool) -> bool {
        is(self) || self.parts().into_iter().any(|part| part.any(is))
    }

    /// Whether something has to be fetched.
    pub(crate) fn is_fetched(&self) -> bool {
        self.any(&|plan| matches!(plan, Self::Outside { .. }))
    }

    /// Whether something comes from the repository itself.
    pub(crate) fn is_of_repository(&self) -> bool {
        self.any(&|plan| matches!(plan, Self::Here { .. }))
    }

    /// Whether a Secret for a fetch is not in the fleet.
    pub(crate) fn lacks_secret(&self) -> bool {
        self.any(&|plan| matches!(plan, Self::Outside { lacks: true, .. }))
    }

    /// Whether something is not in the fleet.
    pub(crate) fn is_missing(&self) -> bool {
        self.any(&|plan| matches!(plan, Self::Missing(_)))
    }

    fn fetches<'p>(&'p self, found: &mut BTreeMap<String, (&'p SourceObject, &'p [Value])>) {
        if let Self::Outside { source, objects, .. } = self {
            found.insert(self.key(), (source, objects));
        }
        self.parts().into_iter().for_each(|part| part.fetches(found));
    }
}

impl<'a> Sources<'a> {
    pub(crate) fn new(repository: &'a dyn Repository, outside: &'a dyn Outside, settings: &'a Settings) -> Self {
        Self {
            repository,
            outside,
            settings,
            own: None,
            own_object: None,
            fetched: BTreeMap::new(),
            made: BTreeMap::new(),
        }
    }

    /// How the files of a source are had, with the objects that the fleet has by now.
    pub(crate) fn plan(&self, fleet: &Fleet, source: &SourceObject) -> Plan {
        self.plan_at(fleet, source, 0)
    }

    fn is_own(&self, source: &SourceObject) -> bool {
        let own = self.own.as_ref();
        own.is_some_and(|(kind, name)| (kind, name) == (&source.kind, &source.name))
    }

    fn plan_at(&self, fleet: &Fleet, source: &SourceObject, depth: usize) -> Plan {
        let shown = source.shown();
        match self.settings.sources.get(&shown) {
            Some(GivenSource::Folder(folder)) => {
                return Plan::Here {
                    folder: clean(folder),
                    ignore: None,
                };
            }
            Some(GivenSource::Files(files)) => return Plan::Given(shown, Arc::clone(files)),
            None => {}
        }
        if depth > DEEPEST {
            return Plan::Missing(MissingSource::Circular(shown));
        }
        if source.kind == "ExternalArtifact" {
            return self.generated(fleet, source, depth);
        }
        let mut source = source.clone();
        if source.object.is_none() && self.is_own(&source) {
            source.object.clone_from(&self.own_object);
        }
        let source = &source;
        let ignore = source.object.as_ref().and_then(|object| object.pointer("/spec/ignore"));
        let ignore = ignore
            .and_then(Value::as_str)
            .filter(|text| !text.is_empty())
            .map(str::to_owned);
        let base = match (&source.object, self.is_this(fleet, source)) {
            (_, true) => Plan::Here {
                folder: String::new(),
                ignore: ignore.clone(),
            },
            (None, false) => Plan::Missing(MissingSource::Absent(shown)),
            (Some(object), false) => {
                let (objects, lacks) = credentials(fleet, source, object);
                let source = Box::new(source.clone());
                Plan::Outside { source, objects, lacks }
            }
        };
        let includes = source
            .object
            .as_ref()
            .and_then(|object| object.pointer("/spec/include"));
        match includes.and_then(Value::as_array) {
            Some(includes) if source.kind == "GitRepository" && !includes.is_empty() && !self.is_artifact(&base) => {
                let include = |include: &Value| self.include(fleet, source, include, depth);
                Plan::Including {
                    base: Box::new(base),
                    includes: includes.iter().map(include).collect(),
                    ignore,
                }
            }
            _ => base,
        }
    }

    /// Whether the files of a plan are those of an artifact, which has what it includes.
    fn is_artifact(&self, plan: &Plan) -> bool {
        matches!(plan, Plan::Outside { .. }) && self.outside.has_artifacts()
    }

    fn include(&self, fleet: &Fleet, of: &SourceObject, include: &Value, depth: usize) -> Include {
        let text = |at: &str| include.text_at(at).to_owned();
        let name = text("/repository/name");
        let to = match text("/toPath") {
            to if to.is_empty() => name.clone(),
            to => to,
        };
        let source = self.object(
            fleet,
            "GitRepository",
            ObjectName::new(of.name.namespace.as_str(), name),
        );
        Include {
            plan: self.plan_at(fleet, &source, depth + 1),
            from: text("/fromPath"),
            to,
        }
    }

    /// A source with its object, if the fleet or the cluster has it.
    pub(crate) fn object(&self, fleet: &Fleet, kind: &str, name: ObjectName) -> SourceObject {
        let object = fleet
            .object(SOURCE_GROUP, kind, &name)
            .map(|object| object.value.clone());
        let mut source = SourceObject {
            kind: kind.to_owned(),
            name,
            object,
        };
        // The source of the entry itself is the repository, whatever it is in the cluster.
        if source.object.is_none() && !self.is_own(&source) {
            source.object = self.outside.object(kind, &source.name);
        }
        source
    }

    /// The plan of an ExternalArtifact: made by an ArtifactGenerator of its namespace.
    fn generated(&self, fleet: &Fleet, source: &SourceObject, depth: usize) -> Plan {
        let (namespace, name) = (&source.name.namespace, &source.name.name);
        let generators = fleet.of_kind(generator::GROUP, "ArtifactGenerator");
        let generators = generators.filter(|(_, object)| object.id().name.namespace == *namespace);
        let mut generators = generators.filter_map(|(_, object)| Some((object, Generator::of(&object.value)?)));
        let Some((object, generator)) = generators.find(|(_, generator)| generator.may_make(name)) else {
            let found = self.object(fleet, &source.kind, source.name.clone());
            if found.object.is_some() && self.outside.has_artifacts() {
                return Plan::Outside {
                    source: Box::new(found),
                    objects: Vec::new(),
                    lacks: false,
                };
            }
            return Plan::Missing(MissingSource::NoGenerator(source.shown()));
        };
        let sources = generator.sources.iter().map(|reference| {
            let namespace = match reference.namespace.as_str() {
                "" => namespace,
                namespace => namespace,
            };
            let name = ObjectName::new(namespace, reference.name.as_str());
            let source = self.object(fleet, &reference.kind, name);
            (reference.alias.clone(), self.plan_at(fleet, &source, depth + 1))
        });
        Plan::Generated {
            sources: sources.collect(),
            spec: object.value.value_at("/spec").to_string(),
            name: name.clone(),
            generator: Box::new(generator),
        }
    }

    /// Whether a source is the repository itself: the one that reconciles the entry, or one with the same address and
    /// reference. Without a Kustomization that reconciles the entry, it is a GitRepository that is not among the
    /// objects: something else made it.
    fn is_this(&self, fleet: &Fleet, source: &SourceObject) -> bool {
        if self.is_own(source) {
            return true;
        }
        if source.kind != "GitRepository" {
            return false;
        }
        let own = self.own.as_ref();
        let own = own.and_then(|(kind, name)| fleet.object(SOURCE_GROUP, kind, name));
        match (&source.object, own) {
            (None, _) => self.own.is_none(),
            (Some(_), Some(own)) => {
                let own = SourceObject {
                    object: Some(own.value.clone()),
                    ..source.clone()
                };
                let is_same_url = match (source.url(), own.url()) {
                    (Some(one), Some(other)) => meant::is_same(one, other),
                    _ => false,
                };
                is_same_url && source.reference() == own.reference()
            }
            (Some(_), None) => source.url().is_some_and(|url| self.settings.identity.has(url)),
        }
    }

    /// Fetches what plans need and nobody has fetched yet, side by side.
    pub(crate) fn fetch<'p>(&mut self, plans: impl Iterator<Item = &'p Plan>) {
        let mut wanted = BTreeMap::new();
        plans.for_each(|plan| plan.fetches(&mut wanted));
        wanted.retain(|key, _| !self.fetched.contains_key(key));
        let wanted: Vec<_> = wanted.into_iter().collect();
        let outside = self.outside;
        self.fetched.extend(beside(
            FETCHES,
            &wanted,
            || (),
            |(), (key, (source, objects))| (key.clone(), outside.source(source, objects)),
        ));
    }

    /// The files of a plan whose fetches are done.
    pub(crate) fn files(&mut self, plan: &Plan) -> Result<SourceTree<'a>, Arc<SourceError>> {
        let key = plan.key();
        if let Some(made) = self.made.get(&key) {
            return made.clone();
        }
        let files = self.made(plan).map_err(Arc::new);
        self.made.insert(key, files.clone());
        files
    }

    fn made(&mut self, plan: &Plan) -> Result<SourceTree<'a>, SourceError> {
        match plan {
            Plan::Here { folder, ignore } => {
                let files: Box<dyn Repository + 'a> = match ignore {
                    Some(ignore) => self.repository.ignoring(ignore)?,
                    None => Box::new(Lent(self.repository)),
                };
                let folder = folder.clone();
                Ok(Arc::new(Here { files, folder }))
            }
            Plan::Given(_, files) => Ok(Arc::clone(files) as SourceTree<'a>),
            Plan::Outside { source, .. } => match self.fetched.get(&plan.key()) {
                Some(fetched) => Ok(fetched.clone()? as SourceTree<'a>),
                None => Err(SourceError::NotFetched(source.shown())),
            },
            Plan::Generated {
                generator,
                name,
                sources,
                ..
            } => {
                let mut trees = generator::Sources::new();
                for (alias, plan) in sources {
                    trees.insert(alias.clone(), self.files(plan)?);
                }
                match generator.make(name, &trees) {
                    Ok(Some(made)) => Ok(Arc::new(made)),
                    Ok(None) => Err(SourceError::NotMade(name.clone())),
                    Err(error) => Err(SourceError::Generator {
                        name: name.clone(),
                        error,
                    }),
                }
            }
            Plan::Including { base, includes, ignore } => self.including(base, includes, ignore.as_deref()),
            Plan::Missing(missing) => Err(missing.clone().into()),
        }
    }

    fn including(
        &mut self,
        base: &Plan,
        includes: &[Include],
        ignore: Option<&str>,
    ) -> Result<SourceTree<'a>, SourceError> {
        let mut tree = Copied::default();
        let base = self.files(base)?;
        put(&mut tree, &base, "/", "/")?;
        for include in includes {
            let files = self.files(&include.plan)?;
            let (from, to) = (format!("/{}", clean(&include.from)), format!("/{}", clean(&include.to)));
            if tree.canonical(&to).is_some_and(|found| found.directory) {
                return Err(SourceError::Exists { from, to });
            }
            put(&mut tree, &files, &from, &to).map_err(|error| SourceError::Include { from, to, error })?;
        }
        let rules = tree.rules(ignore)?;
        tree.filter(&rules);
        Ok(Arc::new(tree))
    }
}

/// Puts a directory or a file of one source below a path.
fn put<'a>(all: &mut Copied<'a>, files: &SourceTree<'a>, from: &str, to: &str) -> Result<(), TreeError> {
    let number = all.add_source(files);
    let tree = files.tree();
    if tree.canonical(from)?.directory {
        all.put_directory(&*tree, number, (from, to), &|_| false)?
    } else {
        all.put_file(number, from, to)?
    }
    all.note(number, from, to);
    Ok(())
}

/// The Secrets and ServiceAccounts of a source's namespace, and whether one that it names is not among them. Secrets
/// that are encrypted count as missing.
pub(crate) fn credentials(fleet: &Fleet, source: &SourceObject, object: &Value) -> (Vec<Value>, bool) {
    let fields = ["secretRef", "certSecretRef", "proxySecretRef", "serviceAccountName"];
    let spec = object.get("spec");
    if !fields
        .iter()
        .any(|field| spec.is_some_and(|spec| spec.get(field).is_some()))
    {
        return (Vec::new(), false);
    }
    let of_kind = |kind: &'static str| {
        let objects = fleet.of_kind("", kind).map(|(_, object)| object);
        objects.filter(|object| object.id().name.namespace == source.name.namespace)
    };
    let secrets = of_kind("Secret").filter(|secret| !is_masked(&secret.value));
    let objects = secrets.chain(of_kind("ServiceAccount"));
    let objects: Vec<Value> = objects.map(|object| object.value.clone()).collect();
    let is_there = |name: &str| {
        let mut names = objects.iter().filter_map(|object| object.pointer("/metadata/name"));
        names.any(|own| own == name)
    };
    let name = |field: &&str| spec?.get(field)?.get("name")?.as_str();
    let lacks = fields.iter().filter_map(name).any(|name| !is_there(name));
    (objects, lacks)
}
