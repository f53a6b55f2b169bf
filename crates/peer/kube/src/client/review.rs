//! Questions to the API server about itself: its version, who somebody is, and who may do what.

use http::Method;
use serde_json::{Value, json};

use super::cluster::Cluster;
use super::user::User;
use crate::error::ClusterError;
use crate::raw::answer::ApiCall;
use bumpwright_api::ObjectName;
use bumpwright_json::Texts;
use bumpwright_secret::Secret;

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
    pub verb: &'a str,
    /// API group; empty for the core group.
    pub group: &'a str,
    /// The kind's name in paths, with its subresource: `deployments`, `deployments/status`.
    pub resource: &'a str,
    /// Empty for all namespaces, and for objects of the cluster.
    pub namespace: &'a str,
    /// Empty for all objects.
    pub name: &'a str,
}

impl Cluster {
    /// The version of the server.
    pub async fn version(&self) -> Result<ServerVersion, ClusterError> {
        let answer = self.answer::<Value>(ApiCall::get("/version")).await?.into_value();
        let text = |field: &str| answer.text_of(field).to_owned();
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
    pub async fn may(&self, account: Option<&ObjectName>, question: &AccessQuestion<'_>) -> Result<bool, ClusterError> {
        match account {
            Some(account) => self.user_may(&User::account(account), question).await,
            None => {
                let spec = json!({ "resourceAttributes": question.attributes() });
                let answer = self.review(AUTHORIZATION, "SelfSubjectAccessReview", &spec).await?;
                Ok(is_allowed(&answer))
            }
        }
    }

    /// Whether somebody is allowed an action, as the server answers.
    pub async fn user_may(&self, user: &User, question: &AccessQuestion<'_>) -> Result<bool, ClusterError> {
        let spec = json!({
            "user": user.name, "uid": user.uid, "groups": user.groups, "extra": user.extra,
            "resourceAttributes": question.attributes(),
        });
        let answer = self.review(AUTHORIZATION, "SubjectAccessReview", &spec).await?;
        Ok(is_allowed(&answer))
    }

    /// Whose token this is; none when the server does not accept it.
    ///
    /// # Errors
    /// Whatever the server says; never with the token.
    pub async fn whose(&self, token: &Secret) -> Result<Option<User>, ClusterError> {
        let spec = json!({ "token": token.expose() });
        let mut answer = self.review(AUTHENTICATION, "TokenReview", &spec).await?;
        if answer.pointer("/status/authenticated") != Some(&Value::Bool(true)) {
            return Ok(None);
        }
        let user = answer.pointer_mut("/status/user").map(Value::take);
        let user = user.and_then(|user| serde_json::from_value(user).ok());
        Ok(user.filter(|user: &User| !user.name.is_empty()))
    }

    async fn review(&self, group: &str, kind: &str, spec: &Value) -> Result<Value, ClusterError> {
        let review = json!({"apiVersion": format!("{group}/v1"), "kind": kind, "spec": spec}).to_string();
        let path = format!("/apis/{group}/v1/{}s", kind.to_lowercase());
        let call = ApiCall {
            method: &Method::POST,
            content_type: "application/json",
            body: review.as_bytes(),
            ..ApiCall::get(&path)
        };
        Ok(self.answer::<Value>(call).await?.into_value())
    }
}

const AUTHENTICATION: &str = "authentication.k8s.io";

const AUTHORIZATION: &str = "authorization.k8s.io";

fn is_allowed(answer: &Value) -> bool {
    answer.pointer("/status/allowed") == Some(&Value::Bool(true))
}

impl AccessQuestion<'_> {
    /// `authorizationv1.ResourceAttributes`
    fn attributes(&self) -> Value {
        let (resource, subresource) = self.resource.split_once('/').unwrap_or((self.resource, ""));
        json!({
            "verb": self.verb, "group": self.group, "resource": resource, "subresource": subresource,
            "namespace": self.namespace, "name": self.name,
        })
    }
}
