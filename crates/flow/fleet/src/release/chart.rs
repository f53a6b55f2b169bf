//! The chart of a release: which one it is, and its files.

use std::cell::Cell;
use std::sync::Arc;

use bumpwright_api::ObjectName;
use bumpwright_budget::{Reservation, Share};
use bumpwright_helm::{Chart, Dependency, Folder, FolderEntry, MAX_CHART_BYTES, Values, merge_tables, read_values};
use bumpwright_kustomize::tree::{Tree, TreeError, path};
use serde_json::Value;

use super::inputs::{OfRepository, of_chart};
use super::spec::{ChartSpec, ReleaseSpec};
use crate::entry::clean;
use crate::memo::Digest;
use crate::reads::{BuildFiles, Reads, Recorder};
use crate::repository::Outside;
use crate::source::SourceObject;
use crate::sources::{Plan, SOURCE_GROUP, SourceTree, Sources, credentials};
use crate::view::Fleet;

/// The deepest charts within charts of folders.
const DEEPEST: usize = 16;

/// A chart of a HelmRepository.
#[derive(Clone, Debug, PartialEq)]
pub struct RepositoryChart {
    /// The HelmRepository, with its object.
    pub repository: SourceObject,
    /// The name of the chart.
    pub name: String,
    /// A version or a range; empty for the newest one.
    pub version: String,
}

/// Where the chart of a release is.
#[derive(Clone)]
pub(super) struct ChartPlan {
    pub(super) from: From,
    /// Files that replace `values.yaml`, merged.
    values_files: Vec<String>,
    ignore_missing: bool,
}

/// Where a chart is.
#[derive(Clone)]
pub(super) enum From {
    /// In the files of a source, at a path; without one it is all there is.
    Files { plan: Plan, path: Option<String> },
    /// In a HelmRepository; `objects` are the Secrets of its namespace.
    Repository {
        chart: RepositoryChart,
        objects: Vec<Value>,
    },
    /// It is not in the fleet.
    Missing(String),
}

impl ChartPlan {
    /// The plan for a release.
    pub(super) fn of(fleet: &Fleet, sources: &Sources<'_>, name: &ObjectName, spec: &ReleaseSpec) -> Self {
        if let Some(template) = &spec.chart {
            return Self::of_spec(fleet, sources, &name.namespace, &template.spec);
        }
        let Some(reference) = &spec.chart_ref else {
            return Self::missing("one of spec.chart and spec.chartRef is required".to_owned());
        };
        let namespace = Some(reference.namespace.as_str());
        let referred = ObjectName::referred_from(&name.namespace, namespace, &reference.name);
        if reference.kind == "HelmChart" {
            let Some(object) = fleet.object(SOURCE_GROUP, "HelmChart", &referred) else {
                return Self::missing(format!("HelmChart/{referred} is not in the fleet"));
            };
            let spec = object.value.get("spec").cloned().unwrap_or_default();
            return match serde_json::from_value::<ChartSpec>(spec) {
                Ok(spec) => Self::of_spec(fleet, sources, &referred.namespace, &spec),
                Err(error) => Self::missing(format!("HelmChart/{referred}: spec: {error}")),
            };
        }
        let source = sources.object(fleet, &reference.kind, referred);
        Self {
            from: From::Files {
                plan: sources.plan(fleet, &source),
                path: None,
            },
            values_files: Vec::new(),
            ignore_missing: false,
        }
    }

    fn missing(why: String) -> Self {
        Self {
            from: From::Missing(why),
            values_files: Vec::new(),
            ignore_missing: false,
        }
    }

    /// The plan of a HelmChart in a namespace.
    fn of_spec(fleet: &Fleet, sources: &Sources<'_>, namespace: &str, spec: &ChartSpec) -> Self {
        let reference = &spec.source_ref;
        let name = ObjectName::referred_from(namespace, Some(&reference.namespace), &reference.name);
        let source = sources.object(fleet, &reference.kind, name);
        let from = match (reference.kind.as_str(), &source.object) {
            ("HelmRepository", None) => From::Missing(format!("{} is not in the fleet", source.shown())),
            ("HelmRepository", Some(object)) => {
                let (objects, _) = credentials(fleet, &source, object);
                From::Repository {
                    objects,
                    chart: RepositoryChart {
                        repository: source,
                        name: spec.chart.clone(),
                        version: spec.version.clone(),
                    },
                }
            }
            _ => From::Files {
                plan: sources.plan(fleet, &source),
                path: Some(clean(&spec.chart)),
            },
        };
        Self {
            from,
            values_files: spec.values_files.clone(),
            ignore_missing: spec.ignore_missing_values_files,
        }
    }

    /// What the chart depends on.
    pub(super) fn key(&self) -> String {
        let from = match &self.from {
            From::Files { plan, path } => format!("{path:?} of {}", plan.key()),
            From::Repository { chart, .. } => format!(
                "{} {} of {} {:?}",
                chart.name,
                chart.version,
                chart.repository.shown(),
                chart.repository.object
            ),
            From::Missing(why) => why.clone(),
        };
        format!("{from} with {:?} {}", self.values_files, self.ignore_missing)
    }

    /// What it has of the repository: a chart of a folder may need those beside it, and links are not followed here.
    pub(super) fn of_repository(&self) -> OfRepository {
        let From::Files { plan, path } = &self.from else {
            return OfRepository::Nothing;
        };
        match (plan, path) {
            (plan, _) if !plan.is_of_repository() => OfRepository::Nothing,
            (Plan::Here { folder, .. }, Some(path)) => {
                let at = |path: &str| clean(&format!("{folder}/{path}"));
                let chart = at(path);
                let beside = chart.rsplit_once('/').map(|(above, _)| above.to_owned());
                let values = self.values_files.iter().map(|name| at(&clean(name)));
                OfRepository::These(values.chain([beside.unwrap_or_default()]).collect())
            }
            _ => OfRepository::These(vec![String::new()]),
        }
    }

    /// What it is called in a message.
    pub(super) fn shown(&self) -> String {
        match &self.from {
            From::Files { path: Some(path), .. } => path.clone(),
            From::Files { .. } | From::Missing(_) => String::new(),
            From::Repository { chart, .. } => chart.name.clone(),
        }
    }

    /// The chart, from the files of its source where it is in some.
    ///
    /// # Errors
    /// It cannot be had or read; for users.
    pub(super) fn load(&self, tree: Option<&dyn Tree>, outside: &dyn Outside) -> Result<Chart, ChartError> {
        let mut chart = match (&self.from, tree) {
            (From::Missing(why), _) => return Err(ChartError::Unavailable(why.clone())),
            (From::Repository { chart, objects }, _) => Chart::clone(&*outside.chart(chart, objects)?),
            (From::Files { path, .. }, Some(tree)) => {
                let place = match path {
                    Some(path) => format!("/{path}"),
                    None => only(tree)?,
                };
                let mut chart = read(tree, &place)?;
                complete(&mut chart, tree, &place, outside, 0)?;
                chart
            }
            (From::Files { .. }, None) => return Err(ChartError::Unavailable("its source was not read".to_owned())),
        };
        if let Some(values) = self.values(&chart, tree)? {
            chart.values = values;
            chart.values_file = None;
        }
        let checked = chart.check_installable();
        checked.map_err(|error| ChartError::Broken(error.to_string()))?;
        Ok(chart)
    }

    /// The values of `valuesFiles`; none without such files.
    fn values(&self, chart: &Chart, tree: Option<&dyn Tree>) -> Result<Option<Values>, ChartError> {
        if self.values_files.is_empty() {
            return Ok(None);
        }
        let mut values = Values::new();
        for name in &self.values_files {
            let own = || {
                let name = clean(name);
                let values = chart.values_file.iter().filter(|_| name == "values.yaml");
                let mut files = values.chain(chart.files.iter().filter(|file| file.name == name));
                files.next().map(|file| file.data.clone())
            };
            let found = match tree {
                None => own(),
                Some(tree) => match tree.read(&format!("/{}", clean(name))) {
                    Ok(bytes) => Some(bytes.into_owned()),
                    Err(TreeError::Missing(_)) => None,
                    Err(error) => return Err(ChartError::Broken(error.to_string())),
                },
            };
            match found {
                Some(bytes) => {
                    let read = read_values(&bytes).map_err(|error| ChartError::Broken(format!("{name}: {error}")))?;
                    merge_tables(&mut values, read);
                }
                None if self.ignore_missing => {}
                None => return Err(ChartError::Broken(format!("no values file found at path '{name}'"))),
            }
        }
        Ok(Some(values))
    }
}

/// Why a release has no chart.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChartError {
    /// It cannot be had here, though it may exist.
    #[error("{0}")]
    Unavailable(String),
    /// It does not exist, or is not valid.
    #[error("{0}")]
    Broken(String),
}

fn broken(error: impl std::fmt::Display) -> ChartError {
    ChartError::Broken(error.to_string())
}

/// The path of the chart in the files of an artifact: its only folder or archive.
fn only(tree: &dyn Tree) -> Result<String, ChartError> {
    let is_chart = |folder: &str| tree.canonical(&format!("{folder}/Chart.yaml")).is_ok();
    if is_chart("") {
        return Ok("/".to_owned());
    }
    let names = tree.list("/").map_err(broken)?;
    let mut places = names.iter().map(|name| format!("/{name}"));
    match (places.next(), places.next()) {
        (Some(place), None) => Ok(place),
        _ => Err(broken("the artifact has no chart: expected one folder with Chart.yaml")),
    }
}

/// The chart in a folder, or in an archive.
fn read(tree: &dyn Tree, place: &str) -> Result<Chart, ChartError> {
    let found = tree.canonical(place).map_err(broken)?;
    if !found.directory {
        let archive = tree.read(place).map_err(broken)?;
        return match archive.len() as u64 > MAX_CHART_BYTES {
            true => Err(broken(format!("{place}: more than {MAX_CHART_BYTES} bytes"))),
            false => Chart::from_archive(&archive).map_err(broken),
        };
    }
    let folder = Inside {
        left: Cell::new(MAX_CHART_BYTES),
        tree,
        folder: place,
        root: &found.path,
    };
    Chart::from_folder(&folder).map_err(broken)
}

/// Adds the charts that a chart of a folder needs and does not contain: source-controller fetches them.
fn complete(
    chart: &mut Chart,
    tree: &dyn Tree,
    place: &str,
    outside: &dyn Outside,
    depth: usize,
) -> Result<(), ChartError> {
    if depth > DEEPEST {
        return Err(broken(format!("{}: charts within charts without end", chart.name())));
    }
    let locked = locked(chart);
    for wanted in chart.metadata.dependencies.clone().into_iter().flatten().flatten() {
        if chart.dependencies.iter().any(|one| one.name() == wanted.name) {
            continue;
        }
        let version = locked.iter().find(|(name, _)| *name == wanted.name);
        let version = version.map_or(wanted.version.as_str(), |(_, version)| version);
        let dependency = dependency(&wanted, version, tree, place, outside, depth)?;
        chart.dependencies.push(dependency);
    }
    Ok(())
}

fn dependency(
    wanted: &Dependency,
    version: &str,
    tree: &dyn Tree,
    place: &str,
    outside: &dyn Outside,
    depth: usize,
) -> Result<Chart, ChartError> {
    if let Some(folder) = wanted.repository.strip_prefix("file://") {
        let place = path::join(place, folder);
        let mut chart = read(tree, &place)?;
        complete(&mut chart, tree, &place, outside, depth + 1)?;
        return Ok(chart);
    }
    let repository = SourceObject {
        kind: "HelmRepository".to_owned(),
        name: ObjectName::new("", wanted.repository.as_str()),
        object: Some(serde_json::json!({"spec": {"url": wanted.repository}})),
    };
    let chart = RepositoryChart {
        repository,
        name: wanted.name.clone(),
        version: version.to_owned(),
    };
    Ok(Chart::clone(&*outside.chart(&chart, &[])?))
}

/// The versions of `Chart.lock`, by name.
fn locked(chart: &Chart) -> Vec<(String, String)> {
    let locks = chart.files.iter().find(|file| file.name == "Chart.lock");
    let values = locks.and_then(|file| read_values(&file.data).ok()).unwrap_or_default();
    let all = values.get("dependencies").and_then(Value::as_array);
    let pair = |one: &Value| {
        let text = |key: &str| Some(one.get(key)?.as_str()?.to_owned());
        Some((text("name")?, text("version")?))
    };
    all.into_iter().flatten().filter_map(pair).collect()
}

/// The folder of a chart in the files of a source. Links do not lead out of it.
struct Inside<'a> {
    tree: &'a dyn Tree,
    folder: &'a str,
    /// The folder with links resolved.
    root: &'a str,
    /// Bytes that may still be read.
    left: Cell<u64>,
}

impl Inside<'_> {
    fn at(&self, path: &str) -> String {
        match path {
            "" => self.folder.to_owned(),
            path => path::join(self.folder, path),
        }
    }
}

impl Folder for Inside<'_> {
    fn entry(&self, path: &str) -> Result<FolderEntry, String> {
        match self.tree.canonical(&self.at(path)) {
            Ok(found) if !path::is_within(&found.path, self.root) => Err(format!("{path}: a link out of the chart")),
            Ok(found) if found.directory => Ok(FolderEntry::Folder),
            Ok(_) => Ok(FolderEntry::File),
            Err(TreeError::Missing(_)) => Ok(FolderEntry::Absent),
            Err(error) => Err(error.to_string()),
        }
    }

    fn names(&self, path: &str) -> Result<Vec<String>, String> {
        self.tree.list(&self.at(path)).map_err(|error| error.to_string())
    }

    fn read(&self, path: &str, most: u64) -> Result<Vec<u8>, String> {
        let bytes = self.tree.read(&self.at(path)).map_err(|error| error.to_string())?;
        let size = bytes.len() as u64;
        if size > most {
            return Err(format!("chart file {path} is larger than the maximum file size {most}"));
        }
        let left = self.left.get().checked_sub(size);
        let left = left.ok_or_else(|| format!("the chart has more than {MAX_CHART_BYTES} bytes"))?;
        self.left.set(left);
        Ok(bytes.into_owned())
    }
}

/// A chart that several releases share.
pub(super) struct Loaded {
    pub(super) chart: Result<Arc<Chart>, ChartError>,
    pub(super) digest: Digest,
    /// What it has of the repository.
    pub(super) reads: Reads,
    /// Its memory, on the account of a tenant.
    _held: Option<Reservation>,
}

/// Bytes of the files of a chart.
fn size(chart: &Chart) -> u64 {
    let files = chart.templates.iter().chain(&chart.files).chain(&chart.schema);
    let own: usize = files.chain(&chart.values_file).map(|file| file.data.len()).sum();
    own as u64 + chart.dependencies.iter().map(size).sum::<u64>()
}

impl Loaded {
    /// Reads the chart of a plan from the files of its source, if these are there.
    pub(super) fn of(
        plan: &ChartPlan,
        files: Option<&Result<SourceTree<'_>, String>>,
        outside: &dyn Outside,
        account: Option<&Share>,
    ) -> Self {
        let (chart, reads) = match files {
            Some(Err(error)) => (Err(ChartError::Unavailable(error.clone())), Reads::default()),
            None => (plan.load(None, outside), Reads::default()),
            Some(Ok(files)) => {
                let tree = files.tree();
                let source = Some(&**files);
                let recorder = Recorder::new(BuildFiles { tree: &*tree, source });
                let chart = plan.load(Some(&recorder), outside);
                (chart, recorder.into_answers().reads(source))
            }
        };
        let held = match (account, &chart) {
            (Some(account), Ok(chart)) => account.reserve(size(chart)).map(Some),
            _ => Ok(None),
        };
        let (chart, held) = match held {
            Ok(held) => (chart, held),
            Err(error) => (Err(ChartError::Unavailable(error.to_string())), None),
        };
        Self {
            digest: chart.as_ref().map(of_chart).unwrap_or_default(),
            chart: chart.map(Arc::new),
            reads,
            _held: held,
        }
    }
}
