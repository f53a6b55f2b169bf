//! The chart of a release: which one it is, and its files.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use serde_json::Value;

use super::held_chart::HeldChart;
use super::inputs::of_chart;
use super::kept_inputs::OfRepository;
use super::spec::{ChartSpec, ReleaseSpec};
use crate::build::reads::{BuildFiles, Reads, Recorder};
use crate::build::view::Fleet;
use crate::source::error::SourceError;
use crate::source::fetched::{Plan, SourceTree, Sources, credentials};
use crate::source::files::clean;
use crate::source::meant::SourceObject;
use crate::source::repository::{ChartError, Outside, RepositoryChart};
use bumpwright_api::ObjectName;
use bumpwright_budget::{Reservation, Share};
use bumpwright_chart::{DependencyError, FilesOf, Place, Remotes, ValuesFiles, complete};
use bumpwright_helm::{Chart, Dependency, UnreadValue, ValueReads, Values};
use bumpwright_json::Texts as _;
use bumpwright_kustomize::tree::Tree;

/// Sources that releases have in common, by kind and name.
pub(super) type Plans = BTreeMap<(String, ObjectName), (SourceObject, Plan)>;

/// Where the chart of a release is.
#[derive(Clone)]
pub(super) struct ChartPlan {
    pub(super) from: From,
    /// Files that replace `values.yaml`, merged.
    values: ValuesFiles,
}

/// Where a chart is.
#[derive(Clone)]
pub(super) enum From {
    /// In the files of a source, at a path; without one it is all there is.
    Files { plan: Plan, path: Option<String> },
    /// All there is in an OCIRepository.
    Image { plan: Plan, source: Box<SourceObject> },
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
    pub(super) fn of(
        (fleet, sources, plans): (&Fleet, &Sources<'_>, &mut Plans),
        name: &ObjectName,
        spec: &ReleaseSpec,
    ) -> Self {
        if let Some(template) = &spec.chart {
            return Self::of_spec((fleet, sources, plans), &name.namespace, &template.spec);
        }
        let Some(reference) = &spec.chart_ref else {
            return Self::missing("one of spec.chart and spec.chartRef is required".to_owned());
        };
        let namespace = Some(reference.namespace.as_str());
        let referred = ObjectName::referred_from(&name.namespace, namespace, &reference.name);
        if reference.kind == "HelmChart" {
            let Some(object) = sources.object(fleet, "HelmChart", referred.clone()).object else {
                return Self::missing(format!("HelmChart/{referred} is not in the fleet"));
            };
            return match serde_json::from_value::<ChartSpec>(object.value_at("/spec").clone()) {
                Ok(spec) => Self::of_spec((fleet, sources, plans), &referred.namespace, &spec),
                Err(error) => Self::missing(format!("HelmChart/{referred}: spec: {error}")),
            };
        }
        let source = sources.object(fleet, &reference.kind, referred);
        let plan = sources.plan(fleet, &source);
        let from = match (reference.kind.as_str(), &plan) {
            ("OCIRepository", Plan::Outside { .. } | Plan::Missing(_)) => From::Image {
                plan,
                source: Box::new(source),
            },
            _ => From::Files { plan, path: None },
        };
        Self {
            from,
            values: ValuesFiles::default(),
        }
    }

    fn missing(why: String) -> Self {
        Self {
            from: From::Missing(why),
            values: ValuesFiles::default(),
        }
    }

    /// The plan of a HelmChart in a namespace.
    fn of_spec((fleet, sources, plans): (&Fleet, &Sources<'_>, &mut Plans), namespace: &str, spec: &ChartSpec) -> Self {
        let reference = &spec.source_ref;
        let name = ObjectName::referred_from(namespace, Some(&reference.namespace), &reference.name);
        let (source, plan) = plans
            .entry((reference.kind.clone(), name))
            .or_insert_with_key(|(kind, name)| {
                let source = sources.object(fleet, kind, name.clone());
                let plan = sources.plan(fleet, &source);
                (source, plan)
            });
        let from = match reference.kind.as_str() {
            "HelmRepository" => {
                let objects = source.object.iter();
                From::Repository {
                    objects: objects
                        .flat_map(|object| credentials(fleet, source, object).0)
                        .collect(),
                    chart: RepositoryChart {
                        repository: source.clone(),
                        name: spec.chart.clone(),
                        version: spec.version.clone(),
                    },
                }
            }
            _ => From::Files {
                plan: plan.clone(),
                path: Some(clean(&spec.chart)),
            },
        };
        Self {
            from,
            values: ValuesFiles {
                names: spec.values_files.clone(),
                ignore_missing: spec.ignore_missing_values_files,
            },
        }
    }

    /// What the chart depends on.
    pub(super) fn key(&self) -> String {
        let from = match &self.from {
            From::Files { plan, path } => format!("{path:?} of {}", plan.key()),
            From::Image { plan, .. } => format!("None of {}", plan.key()),
            From::Repository { chart, .. } => format!(
                "{} {} of {} {:?}",
                chart.name,
                chart.version,
                chart.repository.shown(),
                chart.repository.object
            ),
            From::Missing(why) => why.clone(),
        };
        format!("{from} with {:?} {}", self.values.names, self.values.ignore_missing)
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
                let beside = chart.rsplit_once('/').map_or("", |(above, _)| above).to_owned();
                let values = self.values.names.iter().map(|name| at(&clean(name)));
                OfRepository::These(values.chain([beside]).collect())
            }
            _ => OfRepository::These(vec![String::new()]),
        }
    }

    /// What it is called in a message.
    pub(super) fn shown(&self) -> String {
        match &self.from {
            From::Files { path: Some(path), .. } => path.clone(),
            From::Files { .. } | From::Image { .. } | From::Missing(_) => String::new(),
            From::Repository { chart, .. } if chart.repository.object.is_none() => String::new(),
            From::Repository { chart, .. } => chart.name.clone(),
        }
    }

    /// The chart, from the files of its source where it is in some.
    ///
    /// # Errors
    /// It cannot be had or read; for users.
    fn load(&self, tree: Option<&dyn Tree>, outside: Until<'_>) -> Result<Chart, ChartError> {
        let mut chart = match (&self.from, tree) {
            (From::Missing(why), _) => return Err(ChartError::Unavailable(why.clone())),
            (From::Repository { chart, objects }, _) => {
                let chart = Chart::clone(&*outside.all.chart(chart, objects, outside.end)?);
                chart.check_installable().map_err(broken)?;
                chart
            }
            (From::Files { .. } | From::Image { .. }, Some(tree)) => {
                let at = match &self.from {
                    From::Files { path: Some(path), .. } => format!("/{path}"),
                    _ => only(tree)?,
                };
                let place = Place::at(tree, &at);
                let mut chart = place.chart(None).map_err(broken)?;
                if place.is_folder() {
                    complete(&mut chart, place, &Repositories(outside), None).map_err(incomplete)?;
                } else {
                    chart.check_installable().map_err(broken)?
                }
                chart.check_type().map_err(broken)?;
                chart
            }
            (From::Files { .. } | From::Image { .. }, None) => {
                return Err(ChartError::Unavailable("its source was not read".to_owned()));
            }
        };
        if self.values.count() {
            let files = tree.map_or(FilesOf::Chart, FilesOf::Source);
            let (values, _) = self.values.merged(&chart, files).map_err(broken)?;
            chart.values = values;
            chart.values_file = None;
        }
        Ok(chart)
    }
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

/// The repositories of the charts that a chart needs, without logins.
struct Repositories<'o>(Until<'o>);

impl Remotes for Repositories<'_> {
    type Error = ChartError;

    fn chart(&self, wanted: &Dependency, url: &str, _held: Option<&mut Reservation>) -> Result<Chart, ChartError> {
        let chart = RepositoryChart {
            repository: SourceObject {
                kind: "HelmRepository".to_owned(),
                name: ObjectName::new("", url),
                object: Some(serde_json::json!({"spec": {"url": url}})),
            },
            name: wanted.name.clone(),
            version: wanted.version.clone(),
        };
        Ok(Chart::clone(&*self.0.all.chart(&chart, &[], self.0.end)?))
    }
}

/// What is not there is a fault of the release; what is not reached may be there.
fn not_read(error: &SourceError) -> ChartError {
    match error {
        SourceError::Absent(error) => ChartError::Broken(error.clone()),
        SourceError::Part(error) => not_read(error),
        error => ChartError::Unavailable(error.to_string()),
    }
}

fn incomplete(error: DependencyError<ChartError>) -> ChartError {
    match &error {
        DependencyError::Remote {
            error: ChartError::Unavailable(_),
            ..
        } => ChartError::Unavailable(error.to_string()),
        _ => broken(error),
    }
}

/// What comes from elsewhere, and when nobody waits for it any more.
#[derive(Clone, Copy)]
pub(super) struct Until<'o> {
    pub(super) all: &'o dyn Outside,
    pub(super) end: Option<Instant>,
}

/// A chart that several releases share.
pub(super) struct Loaded {
    pub(super) chart: Result<Arc<HeldChart>, ChartError>,
    value_reads: OnceLock<ValueReads>,
    /// What it has of the repository.
    pub(super) reads: Reads,
}

impl Loaded {
    /// Reads the chart of a plan from the files of its source, if they are known.
    pub(super) fn of(
        plan: &ChartPlan,
        files: Option<&Result<SourceTree<'_>, Arc<SourceError>>>,
        outside: Until<'_>,
        account: Option<&Share>,
    ) -> Self {
        let (chart, reads) = match files {
            Some(Err(error)) => (Err(not_read(error)), Reads::default()),
            None => (plan.load(None, outside), Reads::default()),
            Some(Ok(files)) => {
                let tree = files.tree();
                let source = Some(&**files);
                let recorder = Recorder::new(BuildFiles { tree: &*tree, source });
                let chart = plan.load(Some(&recorder), outside);
                (chart, recorder.into_answers().reads(source))
            }
        };
        Self::new(chart, reads, account)
    }

    /// The chart of an OCIRepository; none where it is read from the files of its source.
    pub(super) fn of_image(plan: &ChartPlan, outside: Until<'_>, account: Option<&Share>) -> Option<Self> {
        let From::Image { plan, source } = &plan.from else {
            return None;
        };
        let chart = outside.all.image(source, plan.objects(), outside.end)?;
        let chart = chart.and_then(|chart| {
            chart.check_installable().map_err(broken)?;
            Ok(Chart::clone(&chart))
        });
        Some(Self::new(chart, Reads::default(), account))
    }

    fn new(chart: Result<Chart, ChartError>, reads: Reads, account: Option<&Share>) -> Self {
        let hold = |chart| HeldChart::new(of_chart(&chart), chart, account);
        let chart = chart.and_then(|chart| hold(chart).map_err(|error| ChartError::Unavailable(error.to_string())));
        Self {
            chart: chart.map(Arc::new),
            value_reads: OnceLock::new(),
            reads,
        }
    }

    /// Those among values for the chart that no template reads.
    pub(super) fn unread(&self, chart: &Chart, values: &Values) -> Vec<UnreadValue> {
        let reads = self.value_reads.get_or_init(|| chart.value_reads());
        chart.unread_values(reads, values)
    }
}
