//! The ServiceAccount that acts for an object at the cloud of its provider (N-024, N-037, N-050).

use super::spec::ConnectionSpec;
use bumpwright_api::{Metadata, ObjectName, Objects};
use bumpwright_cloud::{CloudError, RECONCILE, Requester, ServiceAccounts, Use, WorkloadIdentity};

/// The ServiceAccount that acts for an object at the cloud of its provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProviderAccount<'a> {
    provider: Option<&'a str>,
    given: &'a str,
    namespace: &'a str,
}

impl<'a> ProviderAccount<'a> {
    /// The account that its spec names, in its namespace.
    #[must_use]
    pub fn of(object: &'a impl ConnectionSpec) -> Self {
        Self {
            provider: object.cloud(),
            given: object.service_account(),
            namespace: object.metadata().namespace_or_default(),
        }
    }

    /// The account of that name in another namespace: an automation uses accounts of its own namespace, and gets no
    /// identity of another one by naming a GitRepository there (image-automation-controller v1.2, `getAuthOpts`).
    #[must_use]
    pub fn within(self, namespace: &'a str) -> Self {
        Self { namespace, ..self }
    }

    /// The cloud; none without one, and for `github`.
    #[must_use]
    pub fn provider(&self) -> Option<&'a str> {
        self.provider
    }

    /// The name in the spec; empty if absent, or if it is not for the provider.
    #[must_use]
    pub fn given(&self) -> &'a str {
        self.provider.map_or("", |_| self.given)
    }

    /// The account, whether it exists or not; none for the identity of this process.
    #[must_use]
    pub fn name(&self, accounts: &ServiceAccounts) -> Option<ObjectName> {
        self.provider?;
        let name = accounts.name(self.given)?;
        Some(ObjectName::new(self.namespace, name))
    }

    /// The account's identity; none for the identity of this process.
    ///
    /// # Errors
    /// As [`ServiceAccounts::identity`], when the account is not among `objects`.
    pub fn identity(
        &self,
        accounts: &ServiceAccounts,
        objects: &Objects,
        wanted: Use,
    ) -> Result<Option<WorkloadIdentity>, CloudError> {
        if self.provider.is_none() {
            return Ok(None);
        }
        let account = self.name(accounts).and_then(|name| objects.service_account(&name));
        let annotations = account.map(|account| &account.metadata.annotations);
        accounts.identity(self.namespace, self.given, annotations, wanted)
    }
}

/// The object on whose behalf a cloud is called.
#[must_use]
pub fn requester(kind: &'static str, metadata: &Metadata) -> Requester {
    Requester {
        kind,
        namespace: metadata.namespace_or_default().to_owned(),
        name: metadata.name.clone(),
        operation: RECONCILE,
    }
}
