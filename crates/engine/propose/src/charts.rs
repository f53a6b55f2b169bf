//! Versions that are not tags of containers' images: of charts in HelmReleases, `Chart.yaml`, `helmCharts` of
//! kustomizations and Applications of Argo CD, and the tags of Flux's sources.

use thiserror::Error;

use super::listed::{Listing, UsedAccess};
use bumpwright_adopt::{Access, Files, object};
use bumpwright_api::RepositoryKind;
use bumpwright_api::tree::Node;
use bumpwright_edit::Part;
use bumpwright_policy::PolicyName;
use bumpwright_semver::Version;

/// A version where it is used.
pub(crate) struct Found<'n> {
    /// The field with the version, or what stands for one that is not there.
    pub(crate) field: &'n Node,
    /// What lists the versions, and how it is reached; or why none is proposed.
    pub(crate) listing: Result<(Listing, UsedAccess), NotListed>,
    /// The chart or the address, for the report of a missing listing.
    pub(crate) named: String,
    /// The fields that get markers.
    pub(crate) fields: Vec<(&'n Node, Part)>,
}

/// No versions are listed for a field.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(crate) enum NotListed {
    /// As it is written, no policy can follow it; with the way out.
    #[error("{0}")]
    Written(&'static str),
    /// The chart's repository is not among the files.
    #[error("HelmRepository {0}, which its chart comes from, is not among the files")]
    NoRepository(String),
    /// Several repositories may be meant.
    #[error("several HelmRepositories are called {0}, with different addresses")]
    Ambiguous(String),
    /// The tags of a Git repository are not asked for in this way; the scheme of its address.
    #[error("tags are asked for by HTTPS without a login in the address, which {0}://… is not")]
    Scheme(String),
}

/// The HelmRepositories among the files.
#[derive(Debug)]
pub(crate) struct HelmRepositories {
    known: Vec<HelmRepository>,
}

#[derive(Debug)]
struct HelmRepository {
    name: PolicyName,
    url: String,
    access: Access,
}

impl HelmRepositories {
    pub(crate) fn of(files: &Files<'_>) -> Self {
        let objects = files.objects().into_iter();
        let repositories = objects.filter_map(|(_, node)| {
            let spec = node.field("spec").filter(|_| is(node, SOURCE, "HelmRepository"))?;
            Some(HelmRepository {
                name: object(node)?,
                url: spec.field_text("url")?.to_owned(),
                access: access(spec),
            })
        });
        let repositories = repositories.collect();
        Self { known: repositories }
    }

    /// The one that a reference names; a namespace that is written nowhere may be any.
    fn get(&self, reference: &Node, own: &str) -> Result<&HelmRepository, NotListed> {
        let name = reference.text_of("name");
        let namespace = reference.field_text("namespace").unwrap_or(own);
        let is_it = |one: &&HelmRepository| {
            let theirs = one.name.namespace.as_str();
            one.name.name == name && (theirs == namespace || theirs.is_empty() || namespace.is_empty())
        };
        let mut candidates = self.known.iter().filter(is_it);
        let first = candidates
            .next()
            .ok_or_else(|| NotListed::NoRepository(name.to_owned()))?;
        if candidates.all(|other| other.url == first.url) {
            Ok(first)
        } else {
            Err(NotListed::Ambiguous(name.to_owned()))
        }
    }
}

const SOURCE: &str = "source.toolkit.fluxcd.io/";

fn is(node: &Node, group: &str, kind: &str) -> bool {
    let version = node.text_of("apiVersion");
    version.starts_with(group) && node.field_text("kind") == Some(kind)
}

/// The versions in a document of a file with this name.
pub(crate) fn of_document<'n>(file: &str, node: &'n Node, helm: &HelmRepositories) -> Vec<Found<'n>> {
    let own = object(node).map(|name| name.namespace).unwrap_or_default();
    let spec = node.field("spec");
    let found = if is(node, "helm.toolkit.fluxcd.io/", "HelmRelease") {
        let chart = spec.and_then(|spec| spec.field("chart")?.field("spec"));
        chart.and_then(|chart| flux_chart(chart, &own, helm))
    } else if is(node, SOURCE, "HelmChart") {
        spec.and_then(|spec| flux_chart(spec, &own, helm))
    } else if is(node, SOURCE, "OCIRepository") {
        spec.and_then(|spec| oci_repository(spec, own))
    } else if is(node, SOURCE, "GitRepository") {
        spec.and_then(|spec| git_repository(spec, own))
    } else if is(node, "argoproj.io/", "Application") {
        return spec.into_iter().flat_map(argo_charts).collect();
    } else if is(node, "argoproj.io/", "ApplicationSet") {
        let template = spec.and_then(|spec| spec.field("template")?.field("spec"));
        return template.into_iter().flat_map(argo_charts).collect();
    } else {
        return listed_charts(file, node);
    };
    found.into_iter().collect()
}

/// `spec.chart.spec` of a HelmRelease.
fn flux_chart<'n>(chart: &'n Node, own: &str, helm: &HelmRepositories) -> Option<Found<'n>> {
    let reference = chart.field("sourceRef");
    let kind = reference.and_then(|reference| reference.field_text("kind"));
    if kind.is_some_and(|kind| kind != "HelmRepository") {
        // Of a Git repository or a bucket, where the version does not count.
        return None;
    }
    let version = chart.field("version");
    let (Some(name), Some(reference)) = (chart.field("chart"), reference) else {
        let why = "it is a part of a HelmRelease, which does not say which chart: mark it by `bumpwright markers add`";
        return version.map(|version| Found::none(version, "", NotListed::Written(why)));
    };
    let repository = match helm.get(reference, own) {
        Ok(repository) => repository,
        Err(why) => return Some(Found::none(version.unwrap_or(name), name.text()?, why)),
    };
    let namespace = repository.name.namespace.clone();
    // Its Secret may have a name and a password, where an ImageRepository wants a docker configuration.
    let access = Access {
        secret: None,
        ..repository.access.clone()
    };
    of_chart(&repository.url, name, version, UsedAccess { namespace, access })
}

/// A chart of a repository; none if it is a folder.
fn of_chart<'n>(url: &str, name: &'n Node, version: Option<&'n Node>, mut used: UsedAccess) -> Option<Found<'n>> {
    let chart = name.text()?;
    let field = version.unwrap_or(name);
    let none = |why: &'static str| Some(Found::none(field, chart, NotListed::Written(why)));
    let (kind, address) = match url.split_once("://") {
        Some(("oci", address)) => (RepositoryKind::Oci, address),
        Some(("https", address)) => (RepositoryKind::Helm, address),
        Some(("http", address)) => {
            used.access.insecure = true;
            (RepositoryKind::Helm, address)
        }
        Some(("file", _)) => return None,
        None if url.is_empty() || url.starts_with(['.', '/']) => return None,
        None if url.starts_with('@') || url.starts_with("alias:") => {
            return none("its repository is a name that only one machine's helm knows: write the address");
        }
        _ => return none("the address of its repository is none that versions can be asked of"),
    };
    if address.contains('@') {
        return none("the address of its repository has a login in it: put that into a Secret");
    }
    let Some(version) = version else {
        return none("no version is written, so that it is the newest at all times: write the one in use");
    };
    let text = version.text().unwrap_or_default();
    if let Err(why) = one_version(text, kind) {
        return none(why);
    }
    let image = format!("{}/{chart}", address.trim_end_matches('/'));
    Some(Found {
        field: version,
        listing: Ok((Listing { image, kind }, used)),
        named: String::new(),
        fields: vec![(version, Part::Tag)],
    })
}

/// Whether it is one version, as a policy would write it.
fn one_version(text: &str, kind: RepositoryKind) -> Result<(), &'static str> {
    let is_variable = text.contains(['$', '{']);
    let is_one = Version::parse_strict(text.strip_prefix('v').unwrap_or(text)).is_ok();
    match (is_one || is_variable, kind) {
        (false, _) => Err(
            "it is a range, which Helm itself takes the newest of: write the version in use to have each one in Git",
        ),
        (true, RepositoryKind::Oci) if text.contains('+') => {
            Err("registries write + as _ in tags, so that what a policy chooses would not be the version")
        }
        (true, _) => Ok(()),
    }
}

fn oci_repository(spec: &Node, own: String) -> Option<Found<'_>> {
    let url = spec.field("url")?;
    let image = url.text()?.strip_prefix("oci://")?.trim_end_matches('/');
    let reference = spec.field("ref");
    let get = |key: &str| reference.and_then(|reference| reference.field(key));
    if let Some(range) = get("semver") {
        let why = "the OCIRepository itself takes the newest of this range: write a tag to have each one in Git";
        return Some(Found::none(range, image, NotListed::Written(why)));
    }
    let Some(tag) = get("tag") else {
        let why = match get("digest") {
            Some(_) => "only a digest is in use, and no tag says which versions are wanted: write a tag beside it",
            None => "no tag is written, so that it is `latest` at all times: write the one in use",
        };
        let field = get("digest").unwrap_or(url);
        return Some(Found::none(field, image, NotListed::Written(why)));
    };
    let mut fields = vec![(tag, Part::Tag)];
    fields.extend(get("digest").map(|digest| (digest, Part::Digest)));
    let namespace = own;
    let access = access(spec);
    Some(Found {
        field: tag,
        listing: Ok((Listing::oci(image), UsedAccess { namespace, access })),
        named: String::new(),
        fields,
    })
}

/// A tag that nothing else in `ref` takes precedence over.
fn git_repository(spec: &Node, own: String) -> Option<Found<'_>> {
    let reference = spec.field("ref")?;
    let tag = reference.field("tag")?;
    let is_overruled = ["commit", "name", "semver"]
        .iter()
        .any(|key| reference.field(key).is_some());
    let url = spec.field_text("url").filter(|_| !is_overruled)?;
    let (scheme, address) = url.split_once("://")?;
    let image = address.trim_end_matches('/');
    if !matches!(scheme, "https" | "http") || image.contains('@') {
        return Some(Found::none(tag, "", NotListed::Scheme(scheme.to_owned())));
    }
    let access = Access {
        insecure: scheme == "http",
        ..Access::default()
    };
    let listing = Listing {
        image: image.to_owned(),
        kind: RepositoryKind::GitTags,
    };
    Some(Found {
        field: tag,
        listing: Ok((listing, UsedAccess { namespace: own, access })),
        named: String::new(),
        fields: vec![(tag, Part::Tag)],
    })
}

/// The charts of an Application, whose address has a scheme only where it is not a registry.
fn argo_charts(spec: &Node) -> Vec<Found<'_>> {
    let several = spec.items_of("sources");
    let sources = spec
        .field("source")
        .into_iter()
        .chain(several.iter().map(|item| &**item));
    let charts = sources.filter_map(|source| {
        let (chart, url) = (source.field("chart")?, source.field_text("repoURL")?);
        let url = if url.contains("://") {
            url.to_owned()
        } else {
            format!("oci://{url}")
        };
        of_chart(&url, chart, source.field("targetRevision"), UsedAccess::default())
    });
    charts.collect()
}

/// `dependencies` of a chart, and `helmCharts` of a kustomization.
fn listed_charts<'n>(file: &str, node: &'n Node) -> Vec<Found<'n>> {
    let (list, address) = match file.rsplit('/').next() {
        Some("Chart.yaml") => ("dependencies", "repository"),
        _ => ("helmCharts", "repo"),
    };
    let entries = node.items_of(list).iter();
    let charts = entries.filter_map(|entry| {
        let (name, url) = (entry.field("name")?, entry.field_text(address)?);
        of_chart(url, name, entry.field("version"), UsedAccess::default())
    });
    charts.collect()
}

/// How a source is reached, in the words of an ImageRepository.
fn access(spec: &Node) -> Access {
    let secret = |key: &str| Some(spec.field(key)?.field_text("name")?.to_owned());
    let text = |key: &str| spec.field_text(key).map(str::to_owned);
    Access {
        secret: secret("secretRef"),
        certificates: secret("certSecretRef"),
        proxy: secret("proxySecretRef"),
        service_account: text("serviceAccountName"),
        provider: text("provider"),
        insecure: text("insecure").as_deref() == Some("true"),
    }
}

impl<'n> Found<'n> {
    fn none(field: &'n Node, named: &str, why: NotListed) -> Self {
        Self {
            field,
            listing: Err(why),
            named: named.to_owned(),
            fields: Vec::new(),
        }
    }
}
