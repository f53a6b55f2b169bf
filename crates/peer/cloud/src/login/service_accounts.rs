//! The ServiceAccount of an object at a cloud, and Flux' errors when it is missing (`fluxcd/pkg/auth`,
//! `access_token.go` and `controller_flags.go`; N-037, N-050).

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::{CloudError, CredentialSettings, IssueToken, WorkloadIdentity};

/// The ServiceAccounts of a cluster, for objects that use their identities.
#[derive(Clone)]
pub struct ServiceAccounts {
    /// The default where an object names none (`--default-workload-service-account`; for key services
    /// `--default-decryption-service-account`, for clusters `--default-kubeconfig-service-account`).
    pub default: Option<String>,
    pub issue: Arc<IssueToken>,
}

impl fmt::Debug for ServiceAccounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ServiceAccounts(default {:?})", self.default)
    }
}

/// The use of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    Registry,
    Git,
    /// The objects of a bucket.
    Bucket,
    /// A key service, for decryption.
    Decryption,
    /// A cluster that objects are applied to.
    Cluster,
}

impl Use {
    /// Wraps the cause of a missing token in Flux' words. Buckets and key services have words of their own.
    pub(crate) fn without_token(self, why: CloudError) -> CloudError {
        match self {
            Self::Registry => why.within("failed to get access token for artifact registry"),
            Self::Git => why.within("failed to get access token for Git repository"),
            Self::Cluster => why.within("failed to get access token for cluster"),
            Self::Bucket | Self::Decryption => why,
        }
    }
}

impl ServiceAccounts {
    /// The ServiceAccount of an object with the name `given`, which may be empty. None when the object uses the
    /// identity of this process.
    #[must_use]
    pub fn name<'a>(&'a self, given: &'a str) -> Option<&'a str> {
        match given {
            "" => self.default.as_deref(),
            given => Some(given),
        }
    }

    /// The identity of the ServiceAccount of an object with the name `given`, with its annotations; none when it
    /// does not exist. `Ok(None)` when the object uses the identity of this process.
    ///
    /// # Errors
    /// [`CloudError::While`] with Flux' words when the ServiceAccount does not exist, or its annotations are invalid.
    pub fn identity(
        &self,
        namespace: &str,
        given: &str,
        annotations: Option<&BTreeMap<String, String>>,
        wanted: Use,
    ) -> Result<Option<WorkloadIdentity>, CloudError> {
        let Some(name) = self.name(given) else { return Ok(None) };
        let Some(annotations) = annotations else {
            // For decryption Flux does not distinguish the default from the object's name.
            let why = match given {
                "" if wanted != Use::Decryption => DEFAULT_NOT_FOUND.to_owned(),
                _ => format!("ServiceAccount {name:?} not found"),
            };
            let doing = format!("failed to get service account '{namespace}/{name}'");
            return Err(wanted.without_token(CloudError::Unfit(why).within(doing)));
        };
        let credential = CredentialSettings::read(annotations);
        let credential =
            credential.map_err(|error| CloudError::from(error).within("failed to validate configuration"))?;
        Ok(Some(WorkloadIdentity {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            annotations: annotations.clone(),
            credential,
            issue: Arc::clone(&self.issue),
        }))
    }
}

const DEFAULT_NOT_FOUND: &str = "the specified default service account does not exist in the object namespace. your \
    cluster is subject to multi-tenant workload identity lockdown, reach out to your cluster administrator for help";

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use bumpwright_secret::Secret;

    fn accounts(default: Option<&str>) -> ServiceAccounts {
        ServiceAccounts {
            default: default.map(str::to_owned),
            issue: Arc::new(|_, _| Ok(Secret::new("x"))),
        }
    }

    #[test]
    fn n_037_the_default_counts_where_an_object_names_none() {
        let found = BTreeMap::new();
        let name = |default, given| {
            let identity = accounts(default).identity("apps", given, Some(&found), Use::Git);
            identity.unwrap().map(|identity| identity.name)
        };
        assert_eq!(name(None, ""), None);
        assert_eq!(name(None, "own").as_deref(), Some("own"));
        assert_eq!(name(Some("all"), "").as_deref(), Some("all"));
        assert_eq!(name(Some("all"), "own").as_deref(), Some("own"));
    }

    #[test]
    fn k_131_for_decryption_nothing_is_said_around_it() {
        for (default, given) in [(None, "own"), (Some("own"), "")] {
            let said = accounts(default).identity("apps", given, None, Use::Decryption);
            assert_eq!(
                said.unwrap_err().to_string(),
                "failed to get service account 'apps/own': ServiceAccount \"own\" not found"
            );
        }
    }

    #[test]
    fn n_050_who_is_not_there_is_named_in_the_words_of_flux() {
        let said = |default, given, wanted| {
            let identity = accounts(default).identity("apps", given, None, wanted);
            identity.unwrap_err().to_string()
        };
        assert_eq!(
            said(None, "own", Use::Registry),
            "failed to get access token for artifact registry: failed to get service account 'apps/own': \
             ServiceAccount \"own\" not found"
        );
        let text = said(Some("all"), "", Use::Git);
        assert!(
            text.starts_with(
                "failed to get access token for Git repository: failed to get service account 'apps/all': the specified \
                 default service account does not exist in the object namespace. your cluster is subject"
            ),
            "{text}"
        );
    }
}
