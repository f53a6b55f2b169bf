//! The identity of this process at the API server (Kubernetes API, *SelfSubjectReview*).

use serde_json::{Value, json};

use super::cluster::Cluster;
use crate::error::ClusterError;
use bumpwright_api::ObjectName;

impl Cluster {
    /// The ServiceAccount of this process; none for another user.
    pub async fn own_account(&self) -> Result<Option<ObjectName>, ClusterError> {
        let review = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"});
        let request = http::Request::post("/apis/authentication.k8s.io/v1/selfsubjectreviews")
            .header("content-type", "application/json")
            .body(review.to_string().into_bytes());
        let request = request.map_err(|error| ClusterError::Unreachable(error.to_string()))?;
        let answer: Value = self.bounded(self.whole().request(request)).await?;
        let name = answer.pointer("/status/userInfo/username").and_then(Value::as_str);
        Ok(name.and_then(account))
    }
}

fn account(user: &str) -> Option<ObjectName> {
    let (namespace, name) = user.strip_prefix("system:serviceaccount:")?.split_once(':')?;
    Some(ObjectName::new(namespace, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_service_accounts_are_ones() {
        let own = account("system:serviceaccount:flux-system:kustomize-controller");
        assert_eq!(own, Some(ObjectName::new("flux-system", "kustomize-controller")));
        assert_eq!(account("kubernetes-admin"), None);
        assert_eq!(account("system:serviceaccount:alone"), None);
    }
}
