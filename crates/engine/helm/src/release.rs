//! A release: a chart with a name, values and a cluster's versions.

use super::{
    chart::Chart,
    error::{CapabilitiesError, HelmError, KubeVersionError, MAX_NAME, ReleaseError},
    manifest::{Rendered, sort_documents},
    render::{ParsedTemplates, entries, render_templates},
    schema::validate,
    values::{Values, ValuesError, Weight, coalesce_values, process_dependencies},
};
use bumpwright_template::{Limits, World};
use bumpwright_text::Cuts;
use std::sync::Arc;

/// The release that a chart is rendered for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Release {
    pub name: String,
    pub namespace: String,
    /// Whether it was there before.
    pub is_upgrade: bool,
}

/// A version of Kubernetes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KubeVersion {
    /// As given, after a `v`.
    pub version: String,
    /// Without suffixes, for comparisons.
    pub normalized: String,
    pub major: String,
    pub minor: String,
}

/// What a cluster has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capabilities {
    pub kube_version: KubeVersion,
    /// The versions of its APIs.
    pub api_versions: Vec<String>,
}

impl Default for Capabilities {
    /// Those that Helm 4.3 has built in.
    fn default() -> Self {
        Self {
            kube_version: KubeVersion {
                version: "v1.37.0".to_owned(),
                normalized: "v1.37.0".to_owned(),
                major: "1".to_owned(),
                minor: "37".to_owned(),
            },
            api_versions: include_str!("api_versions.txt").lines().map(str::to_owned).collect(),
        }
    }
}

impl Capabilities {
    /// The usual ones for another version of Kubernetes, unless it is empty, and with more versions of APIs.
    ///
    /// # Errors
    /// Helm's, for a text that is not a version.
    pub fn of<'t>(kube_version: &str, more: impl IntoIterator<Item = &'t str>) -> Result<Self, CapabilitiesError> {
        let mut capabilities = Self::default();
        if !kube_version.is_empty() {
            let parsed = KubeVersion::parse(kube_version);
            capabilities.kube_version = parsed.map_err(|problem| CapabilitiesError {
                given: kube_version.to_owned(),
                problem,
            })?;
        }
        capabilities.api_versions.extend(more.into_iter().map(str::to_owned));
        Ok(capabilities)
    }
}

impl KubeVersion {
    /// Reads a version: at least two numbers, and anything after them.
    pub fn parse(text: &str) -> Result<Self, KubeVersionError> {
        let illegal = || KubeVersionError::Illegal(text.to_owned());
        let bare = text.trim();
        let bare = bare.strip_prefix('v').unwrap_or(bare);
        let end = bare
            .find(|ch: char| !ch.is_ascii_digit() && ch != '.')
            .unwrap_or(bare.len());
        let numbers = bare.split_at(end).0.trim_end_matches('.');
        if numbers.is_empty() {
            return Err(KubeVersionError::NoNumber(text.to_owned()));
        }
        let parts: Vec<&str> = numbers.split('.').collect();
        let [major, minor, ..] = &parts[..] else {
            return Err(illegal());
        };
        let bad =
            |part: &&str| part.is_empty() || (part.len() > 1 && part.starts_with('0')) || part.parse::<u32>().is_err();
        if parts.iter().any(bad) {
            return Err(illegal());
        }
        Ok(Self {
            version: if text.starts_with('v') {
                text.to_owned()
            } else {
                format!("v{text}")
            },
            normalized: format!("v{numbers}"),
            major: (*major).to_owned(),
            minor: (*minor).to_owned(),
        })
    }
}

/// How a chart is rendered.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Whether values are not compared with schemas.
    pub skip_schemas: bool,
    /// Whether schemas are left out that refer to others at addresses that are not known here; otherwise that is an
    /// error.
    pub leave_unfetched: bool,
    /// The limits of all templates together.
    pub limits: Limits,
}

impl Default for Settings {
    /// Limits that the largest public charts are far from.
    fn default() -> Self {
        let limits = Limits {
            steps: 50_000_000,
            output: 32 << 20,
            produced: 1 << 30,
            ..Limits::default()
        };
        Self {
            skip_schemas: false,
            leave_unfetched: false,
            limits,
        }
    }
}

/// The name of a release that is named after its chart, a path or a URL, and the time
/// in seconds since 1970-01-01T00:00:00Z.
#[must_use]
pub fn generated_name(chart: &str, seconds: i64) -> String {
    let base = chart.trim_end_matches('/').behind_last('/');
    let base = base.split('.').next().filter(|base| !base.is_empty());
    format!("{}-{seconds}", base.unwrap_or("chart"))
}

/// Renders a chart for a release. The chart is not changed and may be shared.
///
/// # Errors
/// Helm's, in its words, and when a limit is reached.
pub fn render(
    chart: &Chart,
    values: &Values,
    release: &Release,
    capabilities: &Capabilities,
    settings: Settings,
    world: &dyn World,
) -> Result<Rendered, HelmError> {
    let parsed = ParsedTemplates::default();
    render_sharing(chart, values, release, capabilities, settings, world, &parsed)
}

/// [`render`] for one of several releases of a chart: its templates are parsed once.
pub fn render_sharing(
    chart: &Chart,
    values: &Values,
    release: &Release,
    capabilities: &Capabilities,
    settings: Settings,
    world: &dyn World,
    parsed: &ParsedTemplates,
) -> Result<Rendered, HelmError> {
    check_name(&release.name)?;
    let mut chart = chart.clone();
    let mut weight = Weight::default();
    process_dependencies(&mut chart, values, &mut weight)
        .map_err(|error| ValuesError::Dependencies(Box::new(error)))?;
    let values = coalesce_values(&chart, values.clone(), false, &mut weight)?;
    let unfetched = if settings.skip_schemas {
        Vec::new()
    } else {
        validate(&chart, &values, settings.leave_unfetched)?
    };
    let wanted = &chart.metadata.kube_version;
    let version = &capabilities.kube_version;
    if !wanted.is_empty() && !super::values::is_in_range(wanted, &version.normalized) {
        return Err(ReleaseError::KubeVersion {
            wanted: wanted.clone(),
            version: version.version.clone(),
        }
        .into());
    }
    let files = render_templates(
        entries(&chart, &values, release, capabilities),
        settings.limits,
        world,
        parsed,
    )?;
    let mut rendered = sort_documents(files)?;
    rendered.unfetched = unfetched;
    let mut crds = Vec::new();
    chart.crds(chart.name(), &mut crds);
    rendered.crds = crds.into_iter().map(|(path, file)| (path, Arc::clone(file))).collect();
    Ok(rendered)
}

fn check_name(name: &str) -> Result<(), ReleaseError> {
    let is_edge = |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    let fits = |part: &str| {
        let bytes = part.as_bytes();
        let inner = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || *byte == b'-';
        is_edge(bytes.first()) && is_edge(bytes.last()) && bytes.iter().all(inner)
    };
    match name {
        "" => Err(ReleaseError::NoName),
        name if name.len() > MAX_NAME || !name.split('.').all(fits) => Err(ReleaseError::Name(name.to_owned())),
        _ => Ok(()),
    }
}
