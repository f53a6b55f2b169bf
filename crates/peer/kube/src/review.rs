//! Questions to the API server about itself: its version, and who may do what.

use http::Method;
use serde_json::{Value, json};

use super::answer::ApiCall;
use super::client::Cluster;
use super::error::ClusterError;
use bumpwright_api::ObjectName;

/// The version of an API server (`version.Info`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerVersion {
    /// As in `v1.34.4`.
    pub text: String,
    /// The first two numbers, without suffixes such as the `+` of some clouds.
    pub number: (u32, u32),
}

/// An action that somebody may be allowed (`authorizationv1.ResourceAttributes`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccessQuestion<'a> {
    /// The verb.
    pub verb: &'a str,
    /// API group; empty for the core group.
    pub group: &'a str,
    /// The kind's name in paths, with its subresource: `deployments`, `deployments/status`.
    pub resource: &'a str,
    /// Empty for all namespaces, and for objects of the cluster.
    pub namespace: &'a str,
}

impl Cluster {
    /// The version of the server.
    ///
    /// # Errors
    /// Whatever the server says.
    pub async fn version(&self) -> Result<ServerVersion, ClusterError> {
        let answer = self.answer::<Value>(ApiCall::get("/version")).await?.into_value();
        let text = |field: &str| answer.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
        let number = |field: &str| {
            let text = text(field);
            let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
            text.get(..digits).and_then(|digits| digits.parse().ok()).unwrap_or(0)
        };
        Ok(ServerVersion {
            number: (number("major"), number("minor")),
            text: text("gitVersion"),
        })
    }

    /// Whether a ServiceAccount, or the caller, is allowed an action, as the server answers.
    ///
    /// # Errors
    /// Whatever the server says.
    pub async fn may(&self, account: Option<&ObjectName>, question: &AccessQuestion<'_>) -> Result<bool, ClusterError> {
        let (resource, subresource) = question.resource.split_once('/').unwrap_or((question.resource, ""));
        let attributes = json!({
            "verb": question.verb, "group": question.group, "resource": resource, "subresource": subresource,
            "namespace": question.namespace,
        });
        let (kind, plural, spec) = match account {
            None => (
                "SelfSubjectAccessReview",
                "selfsubjectaccessreviews",
                json!({ "resourceAttributes": attributes }),
            ),
            Some(account) => (
                "SubjectAccessReview",
                "subjectaccessreviews",
                json!({
                    "user": format!("system:serviceaccount:{}:{}", account.namespace, account.name),
                    "groups": [
                        "system:serviceaccounts",
                        format!("system:serviceaccounts:{}", account.namespace),
                        "system:authenticated",
                    ],
                    "resourceAttributes": attributes,
                }),
            ),
        };
        let review = json!({"apiVersion": "authorization.k8s.io/v1", "kind": kind, "spec": spec}).to_string();
        let path = format!("/apis/authorization.k8s.io/v1/{plural}");
        let call = ApiCall {
            method: &Method::POST,
            content_type: "application/json",
            body: review.as_bytes(),
            ..ApiCall::get(&path)
        };
        let answer = self.answer::<Value>(call).await?;
        Ok(answer.pointer("/status/allowed") == Some(&Value::Bool(true)))
    }
}
