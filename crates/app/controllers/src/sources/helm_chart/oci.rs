//! A chart of an OCI registry.

use std::sync::Arc;

use super::error::Error;
use super::http::check_name;
use super::made::{Made, authentication, changes, is_known};
use crate::dereference;
use crate::sources::oci_repository::Error as RegistryFault;
use crate::sources::oci_repository::remote::remote;
use crate::sources::oci_repository::signature_error::SignatureError;
use crate::sources::oci_repository::verify::{Trusted, trusted, verdict};
use crate::sources::registries::Registries;
use crate::sources::source::{SourceRequest, run_on_network};
use bumpwright_api::{HelmChart, HelmRepository, Objects, OciRepository, OciRepositorySpec, OciVerification};
use bumpwright_chart::{BuildError, PullError, Which, build_remote, normalized, not_pulled, oci_version, pulled};
use bumpwright_connect::References;
use bumpwright_connect::helm_repository::{registry_login, settings};
use bumpwright_source::{OciRemote, Unresolved, oci_repository};
use bumpwright_text::Cuts;
use bumpwright_verify::notation::Verdict;

pub(super) async fn chart(request: &SourceRequest<'_, HelmChart>, repository: &HelmRepository) -> Result<Made, Error> {
    let objects = objects(request, repository).await?;
    let spec = &request.object.spec;
    let (sources, chart, from) = (Arc::clone(request.sources), spec.chart.clone(), repository.clone());
    let secrets = objects.clone();
    let remote = run_on_network(move || {
        let remote = connected(sources.registries(), &from, &secrets, &chart);
        check_name(&chart)?;
        remote
    })
    .await?;
    let trusted = trust(request, &objects)?;
    let (asked, chart, wanted) = (remote.clone(), spec.chart.clone(), spec.version.clone());
    let version = run_on_network(move || {
        oci_version(&asked, &chart, &wanted).map_err(|why| {
            let error = format!("failed to get chart version for remote reference: {why}");
            authentication(BuildError::Pull(error))
        })
    })
    .await?;
    let image = match trusted {
        None => None,
        Some(trusted) => Some(verified(&remote, trusted, &version).await?),
    };
    let changes = changes(request, "");
    let which = Which {
        name: spec.chart.clone(),
        version: changes.version(&version)?,
    };
    let is_verified = image
        .as_ref()
        .is_some_and(|(_, verdict)| matches!(verdict, Verdict::Verified));
    let made = if is_known(request, &which) {
        Made::known(request, which, !changes.are_none())
    } else {
        let (account, sizes) = (request.fetches().memory, request.sources.charts.sizes);
        run_on_network(move || {
            let mut held = account.nothing();
            // What was verified is what is pulled, also when the tag has moved meanwhile.
            let digest = image.map(|(digest, _)| Ok(digest));
            let digest = digest.unwrap_or_else(|| digest_of(&remote, &version));
            let pulled = digest
                .map_err(|error| PullError::Unreachable(error.to_string()))
                .and_then(|digest| pulled(&remote, &tag(&version), &digest, sizes.archive, &mut held));
            let archive = pulled.map_err(|error| {
                let name = format!("oci://{}", remote.name(&format!(":{version}")));
                authentication(not_pulled(&match error {
                    error @ PullError::TooLarge { .. } => error,
                    error => PullError::Unreachable(format!("failed to get '{name}': {error}")),
                }))
            })?;
            let built = build_remote(archive, &which, &changes, sizes, &mut held)?;
            Ok::<_, Error>(Made::new(which, !changes.are_none(), built, held))
        })
        .await?
    };
    Ok(Made { is_verified, ..made })
}

/// The Secrets of the repository, and those with keys.
async fn objects(request: &SourceRequest<'_, HelmChart>, repository: &HelmRepository) -> Result<Objects, Error> {
    let verify = request.object.spec.verify.as_ref();
    let keys = verify.into_iter().flat_map(|verify| {
        let named = verify.secret_ref.iter().chain(&verify.trusted_root_secret_ref);
        named.map(|reference| request.beside(&reference.name))
    });
    let shared = &request.sources.shared;
    let references = References::of(repository, &shared.accounts).with_secrets(keys);
    let dereferenced = dereference::read(shared, references).await;
    dereferenced.map_err(|error| Error::AuthenticationFailed(error.to_string()))
}

/// The repository of a chart: as that of an OCIRepository, but for the words of errors and for logins
/// by name and password.
pub(super) fn connected(
    sources: Registries<'_>,
    repository: &HelmRepository,
    objects: &Objects,
    chart: &str,
) -> Result<OciRemote, Error> {
    let spec = &repository.spec;
    let url = normalized(&spec.url).map_err(|error| Error::Client(error.to_string()))?;
    settings(repository, objects)?;
    if !url.starts_with("oci://") {
        return Err(Error::Client(format!("invalid OCI registry URL: {url}")));
    }
    let url = format!("{url}/{chart}");
    let login = oci_repository(&url).map_err(|error| Error::Client(error.to_string()))?;
    let login = registry_login(repository, &login, objects)?;
    let same = OciRepository {
        metadata: repository.metadata.clone(),
        spec: OciRepositorySpec {
            url,
            provider: match login {
                Some(_) => String::new(),
                None => spec.provider.clone(),
            },
            cert_secret_ref: spec.cert_secret_ref.clone(),
            timeout: spec.timeout,
            insecure: spec.insecure,
            interval: None,
            reference: None,
            layer_selector: None,
            secret_ref: None,
            service_account_name: String::new(),
            proxy_secret_ref: None,
            verify: None,
            ignore: None,
            suspend: false,
        },
    };
    let remote = remote(sources, &same, objects).map_err(|error| match error {
        RegistryFault::Connect(error) => Error::Connect(error),
        error => Error::AuthenticationFailed(format!("failed to get credential from '{}': {error}", spec.provider)),
    })?;
    Ok(OciRemote {
        login: login.unwrap_or(remote.login),
        ..remote
    })
}

/// Whose signatures count; none when nobody asks.
fn trust(request: &SourceRequest<'_, HelmChart>, objects: &Objects) -> Result<Option<Trusted>, Error> {
    let Some(verify) = &request.object.spec.verify else {
        return Ok(None);
    };
    let trusted = match has_keys(request, verify, objects) {
        Ok(()) => trusted(request, verify, objects, &request.name().name),
        Err(why) => Err(why),
    };
    let keyless = if verify.provider == "cosign" && verify.secret_ref.is_none() {
        " keyless"
    } else {
        ""
    };
    let provider = &verify.provider;
    trusted.map(Some).map_err(|why| {
        Error::Unverifiable(format!(
            "failed to verify the signature using provider '{provider}{keyless}': {why}"
        ))
    })
}

/// Whether a Secret with keys of cosign has some. Reading it reports one that is missing.
fn has_keys(
    request: &SourceRequest<'_, HelmChart>,
    verify: &OciVerification,
    objects: &Objects,
) -> Result<(), SignatureError> {
    let named = verify.secret_ref.as_ref().filter(|_| verify.provider == "cosign");
    let Some(name) = named.map(|reference| request.beside(&reference.name)) else {
        return Ok(());
    };
    let entries = objects.secret(&name).and_then(|secret| secret.entries().ok());
    let is_key = |(key, _): &(&str, &[u8])| key.ends_with(".pub");
    if entries.is_none_or(|entries| entries.iter().any(is_key)) {
        Ok(())
    } else {
        Err(SignatureError::NoPublicKeys(name))
    }
}

/// The digest of a version, and whether a signature of it counts.
async fn verified(remote: &OciRemote, trusted: Trusted, version: &str) -> Result<(String, Verdict), Error> {
    let (asked, wanted) = (remote.clone(), version.to_owned());
    let name = format!("oci://{}", remote.name(&format!(":{version}")));
    let failed = |why: SignatureError| BuildError::Verification(format!("failed to verify {name}: {why}"));
    let digest = run_on_network(move || Ok::<_, Error>(digest_of(&asked, &wanted))).await?;
    let digest = digest.map_err(|error| failed(error.into()))?;
    let verdict = verdict(trusted, remote, &digest).await.map_err(failed)?;
    Ok((digest, verdict))
}

pub(super) fn digest_of(remote: &OciRemote, version: &str) -> Result<String, Unresolved> {
    let revision = remote.revision(&tag(version))?;
    Ok(revision.behind_last('@').to_owned())
}

/// The tag of a version, which has `_` in the place of `+`.
pub(super) fn tag(version: &str) -> String {
    format!(":{}", version.replace('+', "_"))
}
