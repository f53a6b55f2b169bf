//! Artifacts of registries: files of OCIRepositories, and charts.

use std::cell::OnceCell;
use std::fmt::Display;
use std::io::Read;
use std::sync::Arc;
use std::time::Duration;

use super::kept::Kept;
use super::{Network, manifests};
use crate::cli::error::{Attempt as _, CliError};
use bumpwright_api::OciRepository;
use bumpwright_artifact::ReadError;
use bumpwright_budget::Reservation;
use bumpwright_chart::{OciChart, Pull, PullError, Sought};
use bumpwright_connect::registry::OciRegistry;
use bumpwright_connect::{ConnectionSpec as _, requester};
use bumpwright_fleet::SourceFiles;
use bumpwright_http::{Deadline, Job, Peer};
use bumpwright_policy::Reference as ImageReference;
use bumpwright_registry::{Image, Layer, Login, LoginLocations, UserKeychain};
use bumpwright_source::{self as source, Files, OciPick, OciRemote, Spooled, Unresolved, keeping};
use serde_json::Value;

/// Why an artifact is unknown with `--offline`.
const NOT_KEPT: &str = "it is not kept on this machine (offline)";

impl Network {
    /// The files of an OCIRepository. Its signatures are not verified. Where all of it is kept, one request asks for
    /// the digest of its tag, and none with a digest or `offline`.
    ///
    /// # Errors
    /// [`Unresolved::Absent`] where the registry does not have it.
    pub(in crate::cli::fleet) fn oci(
        &self,
        object: &Value,
        objects: &[Value],
        offline: bool,
    ) -> Result<SourceFiles, Unresolved> {
        let repository: OciRepository = serde_json::from_value(object.clone()).map_err(unknown)?;
        let objects = manifests(objects);
        let settings = OciRegistry::of(&repository, &objects);
        let limit = settings.timeout().min(self.timeout);
        Job::within(limit, || {
            let connect = || self.oci_remote(&repository, settings, limit).map_err(unknown);
            let registry = LazyRegistry {
                connect: (!offline).then_some(&connect),
                remote: OnceCell::new(),
            };
            self.pulled(&repository, &registry)
        })
    }

    /// A chart of a registry, which an OCIRepository stands for; only its version where `is_kept` says that its archive
    /// is known.
    ///
    /// # Errors
    /// [`PullError::Missing`] where the registry does not have it.
    pub(in crate::cli::fleet) fn oci_chart(
        &self,
        object: &Value,
        objects: &[Value],
        version: &str,
        is_kept: &dyn Fn(&str) -> bool,
    ) -> Result<Sought, PullError> {
        let repository: OciRepository =
            serde_json::from_value(object.clone()).map_err(|error| PullError::Missing(error.to_string()))?;
        let chart = OciChart::parse(&repository.spec.url).map_err(|error| PullError::Missing(error.to_string()))?;
        let objects = manifests(objects);
        let settings = OciRegistry::of(&repository, &objects);
        let limit = settings.timeout().min(self.timeout);
        Job::within(limit, || {
            let remote = self.oci_remote(&repository, settings, limit);
            let remote = remote.map_err(|error| PullError::Unreachable(error.to_string()))?;
            let from = Pull {
                registry: remote.registry,
                login: remote.login,
                deadline: remote.deadline,
            };
            chart.pull_unless(version, from, is_kept)
        })
    }

    fn oci_remote(
        &self,
        repository: &OciRepository,
        settings: OciRegistry<'_>,
        limit: Duration,
    ) -> Result<OciRemote, CliError> {
        let spec = &repository.spec;
        let deadline = Deadline::after(limit);
        let name = source::oci_repository(&spec.url)?;
        let failed = |error: bumpwright_connect::ConnectError| error.to_string();
        let peer = Peer {
            tls: settings.tls().map_err(failed)?,
            proxy: settings.proxy().map_err(failed)?,
            timeout: limit,
            ..Peer::default()
        };
        let login = match settings.keychain() {
            Ok(Some(keychain)) => keychain.login(&name),
            // Secrets that are not in the fleet leave the user's own logins.
            Ok(None) | Err(_) => self.own_login(repository, &name, &peer, deadline)?,
        };
        Ok(OciRemote {
            registry: self.registries.of(&name, &peer, spec.insecure),
            login,
            repository: name,
            deadline,
        })
    }

    /// The user's own login; with a provider, also the user's identity there.
    fn own_login(
        &self,
        repository: &OciRepository,
        name: &ImageReference,
        peer: &Peer,
        deadline: Deadline,
    ) -> Result<Login, CliError> {
        let logins = self
            .logins
            .get_or_init(|| UserKeychain::load(&LoginLocations::from_environment()));
        let login = logins.as_ref().map_err(ToString::to_string)?.login(name);
        let login = login?;
        match repository.cloud() {
            Some(provider) if login == Login::Anonymous => {
                let provider = provider.parse()?;
                let requester = requester("OCIRepository", &repository.metadata);
                let login =
                    self.registries
                        .cloud_login((provider, name), None, peer.proxy.as_ref(), requester, deadline);
                login.map_err(CliError::from)
            }
            _ => Ok(login),
        }
    }

    fn pulled(&self, repository: &OciRepository, registry: &LazyRegistry<'_>) -> Result<SourceFiles, Unresolved> {
        let kept = Kept::of_user();
        let digest = current_digest(repository, &kept, registry)?;
        let image = match kept.image(&digest) {
            Some(image) => image,
            None => {
                let image = registry.remote()?.image(&digest).map_err(unknown)?;
                kept.keep_image(&digest, &image);
                image
            }
        };
        let selector = repository.spec.layer_selector.as_ref();
        let layer = source::select_layer(&image, selector).map_err(unknown)?;
        if layer.size > self.budget.bytes.most {
            let exceeded = self.budget.bytes.exceeded();
            return Err(unknown(format_args!("the layer has {} bytes: {exceeded}", layer.size)));
        }
        let bytes = layer_bytes(layer, &kept, registry)?;
        self.files(repository, &image, layer, bytes).map_err(unknown)
    }

    /// The files of a layer.
    fn files(
        &self,
        repository: &OciRepository,
        image: &Image,
        layer: &Layer,
        bytes: Box<dyn Read>,
    ) -> Result<SourceFiles, CliError> {
        let spec = &repository.spec;
        let is_copied = spec
            .layer_selector
            .as_ref()
            .is_some_and(|selector| selector.operation == "copy");
        let fault = |error: &ReadError| {
            if is_copied {
                error.to_string()
            } else {
                source::unpack_fault(error, layer, image)
            }
        };
        let (files, held) = self.unpacked(bytes, fault)?;
        if is_copied {
            // The layer is the artifact, as it is.
            Ok(SourceFiles::whole(files, Some(held)))
        } else {
            Ok(SourceFiles::new(files, spec.ignore.as_deref(), Some(held))?)
        }
    }

    fn unpacked(
        &self,
        layer: impl Read,
        fault: impl Fn(&ReadError) -> String,
    ) -> Result<(Files, Reservation), CliError> {
        let what = "failed to extract layer contents from artifact";
        let file = tempfile::tempfile().at(what)?;
        let mut keeping = keeping(file, &self.budget.spool);
        let layer = std::io::BufReader::with_capacity(128 << 10, layer);
        let unpacked = source::unpack_layer(layer, &self.budget, &mut keeping);
        let (root, held) = unpacked.map_err(|error| fault(&error)).at(what)?;
        let kept = Spooled::of(keeping.out).at(what)?;
        Ok((Files::kept_in(root, Arc::new(kept)), held))
    }
}

/// A registry that is connected to when it is first needed.
struct LazyRegistry<'a> {
    /// None with `--offline`.
    connect: Option<&'a dyn Fn() -> Result<OciRemote, Unresolved>>,
    remote: OnceCell<OciRemote>,
}

impl LazyRegistry<'_> {
    fn remote(&self) -> Result<&OciRemote, Unresolved> {
        if let Some(remote) = self.remote.get() {
            return Ok(remote);
        }
        let connect = self.connect.ok_or_else(|| unknown(NOT_KEPT))?;
        let remote = connect()?;
        Ok(self.remote.get_or_init(|| remote))
    }
}

/// The digest that the reference has now; with `--offline`, when it was last asked for.
fn current_digest(repository: &OciRepository, kept: &Kept, registry: &LazyRegistry<'_>) -> Result<String, Unresolved> {
    let spec = &repository.spec;
    let pick = OciPick::of(spec.reference.as_ref());
    if let OciPick::Digest(digest) = &pick {
        let checked = source::checked_digest(digest).map(str::to_owned);
        return checked.map_err(|error| Unresolved::Absent(error.to_string()));
    }
    let media_type = spec.media_type();
    let reference = format!("{}\n{pick:?}\n{media_type}", spec.url);
    if registry.connect.is_none() {
        return kept.digest(&reference).ok_or_else(|| unknown(NOT_KEPT));
    }
    let remote = registry.remote()?;
    let revision = remote.revision(&remote.chosen(&pick, media_type)?)?;
    let digest = bumpwright_artifact::revision::digest_text(&revision);
    kept.keep_digest(&reference, digest);
    Ok(digest.to_owned())
}

/// The bytes of a layer: those that are kept, else the registry's, which are kept then.
fn layer_bytes(layer: &Layer, kept: &Kept, registry: &LazyRegistry<'_>) -> Result<Box<dyn Read>, Unresolved> {
    if let Some(file) = kept.layer(layer) {
        return Ok(Box::new(file));
    }
    let blob = registry.remote()?.layer(layer).map_err(unknown)?;
    let Some(file) = kept.room_for(layer) else {
        return Ok(Box::new(blob));
    };
    let file = kept.keep_layer(layer, file, blob).map_err(unknown)?;
    Ok(Box::new(file))
}

fn unknown(error: impl Display) -> Unresolved {
    Unresolved::Unknown(error.to_string())
}
