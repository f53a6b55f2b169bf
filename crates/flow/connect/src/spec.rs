//! The connection settings that the specs of all kinds have in common: references to Secrets and
//! ServiceAccounts, and the provider.

use bumpwright_api::{Bucket, GitRepository, HelmRepository, ImageRepository, LocalRef, Metadata, OciRepository};

/// An object whose spec describes a connection.
pub trait ConnectionSpec {
    /// Name and namespace; all references are to objects of that namespace.
    fn metadata(&self) -> &Metadata;

    fn secret_refs(&self) -> Vec<&LocalRef>;

    /// The ServiceAccount whose image pull secrets are used; empty without one.
    fn pull_account(&self) -> &str {
        ""
    }

    /// `spec.provider`, if a ServiceAccount can act at it.
    fn cloud(&self) -> Option<&str>;

    /// `spec.serviceAccountName`; empty if not given.
    fn service_account(&self) -> &str;
}

/// The providers that are clouds.
fn cloud(provider: &str) -> Option<&str> {
    Some(provider).filter(|provider| !matches!(*provider, "" | "generic"))
}

fn given<const N: usize>(references: [&Option<LocalRef>; N]) -> Vec<&LocalRef> {
    references.into_iter().flatten().collect()
}

impl ConnectionSpec for ImageRepository {
    fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    fn secret_refs(&self) -> Vec<&LocalRef> {
        let spec = &self.spec;
        given([&spec.secret_ref, &spec.cert_secret_ref, &spec.proxy_secret_ref])
    }

    fn pull_account(&self) -> &str {
        match self.cloud() {
            None => &self.spec.service_account_name,
            Some(_) => "",
        }
    }

    fn cloud(&self) -> Option<&str> {
        cloud(&self.spec.provider)
    }

    fn service_account(&self) -> &str {
        &self.spec.service_account_name
    }
}

impl ConnectionSpec for OciRepository {
    fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    fn secret_refs(&self) -> Vec<&LocalRef> {
        let spec = &self.spec;
        let verify = spec.verify.as_ref();
        let keys = verify.and_then(|verify| verify.secret_ref.as_ref());
        let root = verify.and_then(|verify| verify.trusted_root_secret_ref.as_ref());
        let mut references = given([&spec.secret_ref, &spec.cert_secret_ref, &spec.proxy_secret_ref]);
        references.extend(keys.into_iter().chain(root));
        references
    }

    fn pull_account(&self) -> &str {
        &self.spec.service_account_name
    }

    fn cloud(&self) -> Option<&str> {
        cloud(&self.spec.provider)
    }

    fn service_account(&self) -> &str {
        &self.spec.service_account_name
    }
}

impl ConnectionSpec for Bucket {
    fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    fn secret_refs(&self) -> Vec<&LocalRef> {
        let spec = &self.spec;
        let mut references = given([&spec.secret_ref, &spec.cert_secret_ref, &spec.proxy_secret_ref]);
        if let Some(sts) = &spec.sts {
            references.extend(given([&sts.secret_ref, &sts.cert_secret_ref]));
        }
        references
    }

    fn cloud(&self) -> Option<&str> {
        cloud(&self.spec.provider)
    }

    fn service_account(&self) -> &str {
        &self.spec.service_account_name
    }
}

impl ConnectionSpec for HelmRepository {
    fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    fn secret_refs(&self) -> Vec<&LocalRef> {
        given([&self.spec.secret_ref, &self.spec.cert_secret_ref])
    }

    /// Its provider is for registries only.
    fn cloud(&self) -> Option<&str> {
        None
    }

    fn service_account(&self) -> &str {
        ""
    }
}

impl ConnectionSpec for GitRepository {
    fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    fn secret_refs(&self) -> Vec<&LocalRef> {
        let spec = &self.spec;
        given([&spec.secret_ref, &spec.cert_secret_ref, &spec.proxy_secret_ref])
    }

    /// At GitHub the Secret's App acts.
    fn cloud(&self) -> Option<&str> {
        cloud(&self.spec.provider).filter(|provider| *provider != "github")
    }

    fn service_account(&self) -> &str {
        &self.spec.service_account_name
    }
}
