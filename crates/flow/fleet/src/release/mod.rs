//! HelmReleases of a fleet, rendered as helm-controller installs them.
//!
//! ```text
//! HelmRelease ─▶ spec ─┬─▶ chart (files of a source, or a HelmRepository through `Outside`) ─┐
//!                      └─▶ values (`valuesFrom`, `values`)                                   ─┴▶ render ─▶ objects
//! ```
//!
//! A chart is read once for all releases of it, and parsed once by each thread.

mod chart;
pub(crate) mod chart_crds;
pub(crate) mod failure;
pub(crate) mod held_chart;
pub(crate) mod hook;
pub(crate) mod inputs;
pub(crate) mod kept;
pub(crate) mod kept_inputs;
mod render;
pub(crate) mod spec;
pub(crate) mod value_entry;
mod values;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use chart::{ChartPlan, From, Loaded, Plans, Until};
use kept_inputs::ReleaseInputs;
use render::{Cluster, Scopes};
use serde_json::Value;
use spec::{ReleaseSpec, is_release};
use values::{Merged, NotMerged};

use super::source::repository::ChartError;
use crate::beside::beside;
use crate::build::memo::Memo;
use crate::build::settings::{Charts, RenderedReleases, Settings};
use crate::build::view::{Fleet, FleetObject, Node, Problem, Product, ReleaseChart, ReleaseSummary};
use crate::release::held_chart::HeldChart;
use crate::source::error::SourceError;
use crate::source::fetched::{SourceTree, Sources};
use crate::source::meant::Source;
use crate::source::repository::Outside;
use bumpwright_api::ObjectName;
use bumpwright_budget::Share;
use bumpwright_helm::{Capabilities, CapabilitiesError, Chart, ParsedTemplates};
use bumpwright_json::Texts;
use kept_inputs::Digest;

/// The most charts that are fetched at a time.
const FETCHES: usize = 16;

/// The releases of a fleet, and what is known of their charts.
#[derive(Default)]
pub(crate) struct Releases {
    seen: BTreeSet<ObjectName>,
    /// By the keys of plans.
    charts: BTreeMap<String, Loaded>,
    /// Nodes that were searched.
    searched: usize,
    /// Which are rendered, if they were compared before.
    which: Option<RenderedReleases>,
}

/// A release to render.
struct Job {
    node: usize,
    name: ObjectName,
    spec: ReleaseSpec,
    plan: ChartPlan,
    key: String,
    merged: Result<Merged, NotMerged>,
    /// Whether its values have the API of an object of Flux.
    mentions_flux: bool,
    inputs: ReleaseInputs,
}

/// What became of a job.
struct Done {
    node: usize,
    product: Result<Arc<Product>, Problem>,
    took: Duration,
}

impl Releases {
    /// Goes through all of them again, to render these.
    pub(crate) fn again(&mut self, which: RenderedReleases) {
        self.which = Some(which);
        self.searched = 0;
        self.seen.clear();
    }

    /// Adds the releases among the objects of nodes that were not searched yet, rendered. Returns their nodes.
    pub(crate) fn render(
        &mut self,
        fleet: &mut Fleet,
        sources: &mut Sources<'_>,
        outside: &dyn Outside,
        (settings, memo): (&Settings, &Memo),
    ) -> Vec<usize> {
        let Some(charts) = &settings.charts else {
            return Vec::new();
        };
        let which = self.which.clone();
        let which = which.as_ref().unwrap_or(&charts.releases);
        let jobs = self.found(fleet, sources, (settings, charts, which));
        for job in &jobs {
            fleet.releases.insert(job.name.clone(), job.inputs.clone());
        }
        if *which == RenderedReleases::None || jobs.is_empty() {
            return Vec::new();
        }
        let account = charts.is_tenant.then_some(&settings.memory);
        let outside = Until {
            all: outside,
            end: settings.deadline,
        };
        self.load(&jobs, sources, outside, account);
        let mut by_charts = served_by(self.charts.values());
        if let RenderedReleases::AllBut(left) = which {
            by_charts.extend(left.served.iter().cloned());
        }
        let capabilities = capabilities(fleet, charts.kube_version.as_str(), &by_charts);
        let mut done = Vec::new();
        match capabilities {
            Ok(capabilities) => {
                let scopes = scopes(fleet);
                let cluster = Cluster {
                    capabilities: &capabilities,
                    scopes: &scopes,
                    schemas: &charts.schemas,
                    is_tenant: charts.is_tenant,
                    settings,
                    hidden: fleet.hidden_texts(),
                };
                if *which == RenderedReleases::Compared {
                    let common = cluster.digest();
                    self.compare(&jobs, fleet, &common);
                    fleet.served_by_charts = by_charts;
                    return Vec::new();
                }
                done = self.done(&jobs, &cluster, memo);
            }
            Err(error) => fleet.problems.push(error.to_string()),
        }
        let nodes = jobs.iter().map(|job| job.node).collect();
        for job in jobs {
            let Some(node) = fleet.nodes.get_mut(job.node) else {
                continue;
            };
            let loaded = self.charts.get(&job.key);
            let held = loaded.and_then(|loaded| loaded.chart.as_ref().ok());
            if let (Some(held), Some(release)) = (held, &mut node.release) {
                release.chart.clone_from(&held.chart.metadata.name);
                release.version.clone_from(&held.chart.metadata.version);
            }
            let merged = job.merged.unwrap_or_else(|failed| Merged {
                missing: failed.missing,
                ..Merged::default()
            });
            node.missing = merged.missing;
            node.chart = held.map(|held| ReleaseChart {
                chart: Arc::clone(held),
                values: Arc::new(merged.values),
            });
        }
        for done in done {
            if let Some(node) = fleet.nodes.get_mut(done.node) {
                (node.product, node.took) = (done.product, done.took);
            }
        }
        nodes
    }

    /// Notes what the releases would be rendered from.
    fn compare(&self, jobs: &[Job], fleet: &mut Fleet, common: &Digest) {
        let mut gives_flux: BTreeMap<&str, bool> = BTreeMap::new();
        for job in jobs {
            let Some(loaded) = self.charts.get(&job.key) else {
                continue;
            };
            let Ok(held) = &loaded.chart else { continue };
            let by_chart = *gives_flux
                .entry(&job.key)
                .or_insert_with(|| inputs::makes_flux(&held.chart));
            let digest = (!by_chart && !job.mentions_flux).then(|| job.digest(&held.digest, common));
            if let Some(inputs) = fleet.releases.get_mut(&job.name) {
                inputs.made = digest;
            }
        }
    }

    /// The new releases, as nodes and jobs.
    fn found(
        &mut self,
        fleet: &mut Fleet,
        sources: &Sources<'_>,
        (settings, charts, which): (&Settings, &Charts, &RenderedReleases),
    ) -> Vec<Job> {
        let mut jobs = Vec::new();
        let is_meant = |name: &ObjectName| match which {
            RenderedReleases::Only(names) => names.contains(name),
            RenderedReleases::AllBut(left) => !left.names.contains(name),
            RenderedReleases::All | RenderedReleases::None | RenderedReleases::Compared => true,
        };
        let is_rendered = !matches!(which, RenderedReleases::None | RenderedReleases::Compared);
        let mut plans = Plans::new();
        // Those that are found now have no objects yet: what they install is searched next time.
        let end = fleet.nodes.len();
        while let Some(node) = fleet.nodes.get(self.searched).filter(|_| self.searched < end) {
            let parent = self.searched;
            self.searched += 1;
            let Ok(product) = node.product.as_ref().map(Arc::clone) else {
                continue;
            };
            if node.is_elsewhere() {
                continue;
            }
            // What a rendered release installs is rendered, too.
            let is_installed = node.release.is_some();
            let releases = product.objects.iter().filter(|object| is_release(&object.value));
            for object in releases {
                let name = object.id().name;
                if !(is_installed || is_meant(&name)) || !self.seen.insert(name.clone()) {
                    continue;
                }
                if !is_rendered {
                    let spec = ReleaseSpec::of(&object.value).unwrap_or_default();
                    jobs.push(job(fleet, sources, (0, charts), (name, object), spec, &mut plans));
                    continue;
                }
                if fleet.nodes.len() >= settings.kustomizations {
                    let most = settings.kustomizations;
                    let problem = format!("more than {most} Kustomizations and HelmReleases: the others are left out");
                    if !fleet.problems.contains(&problem) {
                        fleet.problems.push(problem);
                    }
                    return jobs;
                }
                let at = fleet.nodes.len();
                fleet.nodes.push(node_of(parent, &name, object));
                match ReleaseSpec::of(&object.value) {
                    Ok(spec) => jobs.push(job(fleet, sources, (at, charts), (name, object), spec, &mut plans)),
                    Err(error) => {
                        if let Some(node) = fleet.nodes.last_mut() {
                            node.product = Err(Problem::Invalid(error.to_string()));
                        }
                    }
                }
            }
        }
        jobs
    }

    /// Reads the charts that are not known yet, side by side.
    fn load(&mut self, jobs: &[Job], sources: &mut Sources<'_>, outside: Until<'_>, account: Option<&Share>) {
        let jobs: BTreeMap<&str, &ChartPlan> = jobs
            .iter()
            .filter(|job| !self.charts.contains_key(&job.key))
            .map(|job| (job.key.as_str(), &job.plan))
            .collect();
        let is_image = |(_, plan): &(&str, &ChartPlan)| matches!(plan.from, From::Image { .. });
        let images: Vec<_> = jobs.iter().map(|(key, plan)| (*key, *plan)).filter(is_image).collect();
        let images = beside(
            FETCHES,
            &images,
            || (),
            |(), (key, plan)| Some(((*key).to_owned(), Loaded::of_image(plan, outside, account)?)),
        );
        self.charts.extend(images.into_iter().flatten());
        let left = || jobs.iter().filter(|(key, _)| !self.charts.contains_key::<str>(key));
        let plans = left().filter_map(|(_, plan)| match &plan.from {
            From::Files { plan, .. } | From::Image { plan, .. } => Some(plan),
            _ => None,
        });
        sources.fetch(plans);
        type Files<'s> = Option<Result<SourceTree<'s>, Arc<SourceError>>>;
        let mut wanted: Vec<(&str, &ChartPlan, Files<'_>)> = Vec::new();
        for (key, plan) in left() {
            let files = match &plan.from {
                From::Files { plan, .. } | From::Image { plan, .. } => Some(sources.files(plan)),
                _ => None,
            };
            wanted.push((key, plan, files));
        }
        let loaded = beside(
            FETCHES,
            &wanted,
            || (),
            |(), (key, plan, files)| ((*key).to_owned(), Loaded::of(plan, files.as_ref(), outside, account)),
        );
        self.charts.extend(loaded);
    }

    /// Renders jobs on as many threads as there are.
    fn done(&self, jobs: &[Job], cluster: &Cluster<'_>, memo: &Memo) -> Vec<Done> {
        let common = cluster.digest();
        // Releases of a chart follow each other, so that a thread parses it once.
        let mut jobs: Vec<&Job> = jobs.iter().collect();
        jobs.sort_by(|one, other| one.key.cmp(&other.key));
        let begin = HashMap::<&str, ParsedTemplates>::new;
        beside(cluster.settings.threads, &jobs, begin, |parsed, job| {
            let begun = Instant::now();
            let parsed = parsed.entry(job.key.as_str()).or_default();
            let product = self.product(job, (cluster, &common), parsed, memo);
            Done {
                node: job.node,
                product,
                took: begun.elapsed(),
            }
        })
    }

    fn product(
        &self,
        job: &Job,
        (cluster, common): (&Cluster<'_>, &Digest),
        parsed: &ParsedTemplates,
        memo: &Memo,
    ) -> Result<Arc<Product>, Problem> {
        if cluster.settings.is_late() {
            return Err(Problem::Late);
        }
        let Some(loaded) = self.charts.get(&job.key) else {
            return Err(Problem::Chart("its chart was not read".to_owned()));
        };
        let HeldChart { chart, digest, .. } = match &loaded.chart {
            Ok(held) => &**held,
            Err(ChartError::Unavailable(error)) => {
                return Err(Problem::ChartUnavailable(with_chart(&job.plan, error)));
            }
            Err(ChartError::Broken(error)) => return Err(Problem::Chart(with_chart(&job.plan, error))),
        };
        let merged = job
            .merged
            .as_ref()
            .map_err(|failed| Problem::Release(failed.failure()))?;
        memo.rendered(job.digest(digest, common), || {
            let mut product = render::product(cluster, &job.name, &job.spec, chart, merged, parsed)?;
            product.reads = loaded.reads.clone();
            product.unread = loaded.unread(chart, &merged.values);
            Ok(Arc::new(product))
        })
    }
}

fn with_chart(plan: &ChartPlan, error: &str) -> String {
    match plan.shown().as_str() {
        "" => format!("chart: {error}"),
        chart => format!("chart {chart}: {error}"),
    }
}

fn node_of(parent: usize, name: &ObjectName, object: &FleetObject) -> Node {
    let spec = object.value.value_at("/spec");
    Node {
        release: Some(ReleaseSummary {
            name: name.clone(),
            chart: String::new(),
            version: String::new(),
            is_suspended: *spec.value_at("/suspend") == true,
            is_elsewhere: spec.value_at("/kubeConfig").is_object(),
            service_account: spec.text_of("serviceAccountName").to_owned(),
        }),
        origin: object.origin.clone(),
        ..Node::waiting(Some(parent), &format!("HelmRelease {name}"))
    }
}

fn job(
    fleet: &mut Fleet,
    sources: &Sources<'_>,
    (node, charts): (usize, &Charts),
    (name, object): (ObjectName, &FleetObject),
    spec: ReleaseSpec,
    plans: &mut Plans,
) -> Job {
    let plan = ChartPlan::of((fleet, sources, plans), &name, &spec);
    let source = match &plan.from {
        From::Repository { chart, .. } if chart.repository.object.is_some() => {
            Some(Source::Other(chart.repository.clone()))
        }
        _ => None,
    };
    let release = fleet.nodes.get_mut(node).filter(|node| node.release.is_some());
    if let (Some(node), Some(source)) = (release, source) {
        node.source = source;
    }
    let merged = values::merged(fleet, &name, &spec, charts.is_tenant);
    let text = object.value.value_at("/spec").to_string();
    Job {
        mentions_flux: inputs::mentions_flux(&text) || merged.as_ref().is_ok_and(of_flux),
        inputs: ReleaseInputs::of(&name, &spec, &text, &plan, &merged),
        node,
        key: plan.key(),
        plan,
        merged,
        name,
        spec,
    }
}

/// Whether values of other objects than the release have the API of an object of Flux.
fn of_flux(merged: &Merged) -> bool {
    let mut waiting: Vec<&Value> = merged.values.values().collect();
    while let Some(value) = waiting.pop() {
        match value {
            Value::String(text) if inputs::mentions_flux(text) => return true,
            Value::Array(items) => waiting.extend(items),
            Value::Object(fields) => waiting.extend(fields.values()),
            _ => {}
        }
    }
    false
}

/// The scopes of the custom resources that the fleet defines.
fn scopes(fleet: &Fleet) -> Scopes {
    let mut scopes = Scopes::new();
    for (_, object) in fleet.of_kind("apiextensions.k8s.io", "CustomResourceDefinition") {
        scopes.extend(render::own_scopes(std::slice::from_ref(&object.value)));
    }
    scopes
}

/// What the cluster has: the APIs of Kubernetes, and those that the fleet defines, also in the charts.
fn capabilities(
    fleet: &Fleet,
    kube_version: &str,
    by_charts: &BTreeSet<String>,
) -> Result<Capabilities, CapabilitiesError> {
    let definitions = fleet.of_kind("apiextensions.k8s.io", "CustomResourceDefinition");
    let versions: BTreeSet<String> = definitions.flat_map(|(_, object)| served(&object.value)).collect();
    let versions = versions.union(by_charts).map(String::as_str);
    Capabilities::of(kube_version, versions)
}

/// What the definitions in charts serve.
fn served_by<'c>(charts: impl Iterator<Item = &'c Loaded>) -> BTreeSet<String> {
    let charts = charts.filter_map(|loaded| loaded.chart.as_ref().ok());
    let definitions = charts.flat_map(|held| chart_definitions(&held.chart));
    definitions.flat_map(|object| served(&object)).collect()
}

/// The definitions in the `crds/` of a chart and of its subcharts.
fn chart_definitions(chart: &Chart) -> Vec<Value> {
    let mut files = Vec::new();
    chart.crds("", &mut files);
    let nodes = files.iter().flat_map(|(_, file)| {
        bumpwright_yaml::read_resources(&file.data, bumpwright_yaml::FileId::NONE).unwrap_or_default()
    });
    let objects = nodes.filter_map(|node| bumpwright_yaml::json_of_node(&node).ok());
    objects.filter(render::is_definition).collect()
}

/// `group/version` and `group/version/Kind` of what a definition serves.
fn served(definition: &Value) -> Vec<String> {
    let text = |pointer: &str| definition.text_at(pointer);
    let (group, kind) = (text("/spec/group"), text("/spec/names/kind"));
    let versions = definition.pointer("/spec/versions").and_then(Value::as_array);
    let names = versions.into_iter().flatten().filter_map(|version| {
        let is_served = version.get("served").and_then(Value::as_bool) != Some(false);
        version.get("name")?.as_str().filter(|_| is_served)
    });
    names
        .flat_map(|name| [format!("{group}/{name}"), format!("{group}/{name}/{kind}")])
        .collect()
}
