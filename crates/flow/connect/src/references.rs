//! The objects that a connection needs, by name, and lookups once they are read.

use std::collections::BTreeSet;

use super::error::AccessError;
use super::identity::ProviderAccount;
use super::proxy::proxy;
use super::spec::ConnectionSpec;
use super::tls::tls;
use bumpwright_api::{LocalRef, Metadata, ObjectName, Objects, Secret};
use bumpwright_cloud::ServiceAccounts;
use bumpwright_http::{Proxy, Tls};

/// The names of the objects that a connection needs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct References {
    pub secrets: BTreeSet<ObjectName>,
    /// The ServiceAccount whose image pull secrets are needed as well.
    pub pull_account: Option<ObjectName>,
    /// The ServiceAccount that acts at the provider.
    pub provider_account: Option<ObjectName>,
}

impl References {
    /// The references of an object. `accounts` has the default ServiceAccount.
    #[must_use]
    pub fn of(object: &impl ConnectionSpec, accounts: &ServiceAccounts) -> Self {
        let namespace = object.metadata().namespace_or_default();
        let name = |name: &str| ObjectName::new(namespace, name);
        let secrets = object.secret_refs().into_iter();
        Self {
            secrets: secrets.map(|reference| name(&reference.name)).collect(),
            pull_account: Some(object.pull_account())
                .filter(|account| !account.is_empty())
                .map(name),
            provider_account: ProviderAccount::of(object).name(accounts),
        }
    }

    #[must_use]
    pub fn with_secrets(mut self, others: impl IntoIterator<Item = ObjectName>) -> Self {
        self.secrets.extend(others);
        self
    }
}

/// Lookup of the Secrets and ServiceAccounts that a spec refers to, in the namespace of its object.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LocalObjects<'a> {
    namespace: &'a str,
    objects: &'a Objects,
}

impl<'a> LocalObjects<'a> {
    pub(crate) fn of(metadata: &'a Metadata, objects: &'a Objects) -> Self {
        Self {
            namespace: metadata.namespace_or_default(),
            objects,
        }
    }

    pub(crate) fn objects(&self) -> &'a Objects {
        self.objects
    }

    pub(crate) fn name(&self, name: &str) -> ObjectName {
        ObjectName::new(self.namespace, name)
    }

    pub(crate) fn secret(&self, reference: &LocalRef) -> Result<&'a Secret, AccessError> {
        let name = self.name(&reference.name);
        self.objects.secret(&name).ok_or(AccessError::NotFound(name))
    }

    /// `proxySecretRef`
    pub(crate) fn proxy(&self, reference: Option<&LocalRef>) -> Result<Option<Proxy>, AccessError> {
        reference.map(|reference| proxy(self.secret(reference)?)).transpose()
    }

    /// `certSecretRef`
    pub(crate) fn tls(&self, reference: Option<&LocalRef>) -> Result<Option<Tls>, AccessError> {
        reference.map(|reference| tls(self.secret(reference)?)).transpose()
    }

    /// `certSecretRef` of kinds that also trust the system's authorities.
    pub(crate) fn tls_beside_system(&self, reference: Option<&LocalRef>) -> Result<Option<Tls>, AccessError> {
        let tls = self.tls(reference)?;
        Ok(tls.map(|tls| Tls {
            beside_system: true,
            ..tls
        }))
    }
}
