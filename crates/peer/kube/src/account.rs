//! Impersonation of accounts.

use std::sync::{Arc, PoisonError};

use http::{HeaderValue, Request};
use kube::Client;
use kube::client::Body;

use super::client::{Clients, Shared};
use super::error::ClusterError;
use bumpwright_api::ObjectName;

const IMPERSONATE_USER: &str = "impersonate-user";

/// Clients that impersonate an account over the connections of others, and follow when those are replaced.
pub(super) fn impersonating(clients: &Shared, account: &ObjectName) -> Result<Clients, ClusterError> {
    let user = format!("system:serviceaccount:{}:{}", account.namespace, account.name);
    let user = HeaderValue::from_str(&user)
        .map_err(|_| ClusterError::Connect(format!("{account:?} cannot be impersonated: not a name of an account")))?;
    let now = clients.read().unwrap_or_else(PoisonError::into_inner).clone();
    Ok(Clients {
        plain: with_user(clients, &user, |clients| &clients.plain),
        watching: with_user(clients, &user, |clients| &clients.watching),
        host: now.host,
        place: now.place,
    })
}

fn with_user(clients: &Shared, user: &HeaderValue, which: fn(&Clients) -> &Client) -> Client {
    let (clients, user) = (Arc::clone(clients), user.clone());
    let service = tower::service_fn(move |mut request: Request<Body>| {
        let client = which(&clients.read().unwrap_or_else(PoisonError::into_inner)).clone();
        request.headers_mut().insert(IMPERSONATE_USER, user.clone());
        async move { client.send(request).await }
    });
    Client::new(service, "default")
}
