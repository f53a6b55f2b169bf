//! Impersonation of accounts and users.

use std::sync::{Arc, PoisonError};

use http::{HeaderValue, Request};
use kube::Client;
use kube::client::Body;

use super::client::{Clients, Shared};
use super::error::ClusterError;
use super::review::User;

const IMPERSONATE_USER: &str = "impersonate-user";
const IMPERSONATE_GROUP: &str = "impersonate-group";

/// Clients that impersonate somebody over the connections of others, and follow when those are replaced. The server adds the groups of a
/// ServiceAccount when none is given.
pub(super) fn impersonating(clients: &Shared, user: &User) -> Result<Clients, ClusterError> {
    let header = |text: &str| {
        let value = HeaderValue::from_bytes(text.as_bytes());
        value.map_err(|_| ClusterError::Connect(format!("{:?} cannot be impersonated: not a valid name", user.name)))
    };
    // Without a name the server would see the connection's own identity.
    if user.name.is_empty() {
        return Err(ClusterError::Connect("nobody cannot be impersonated".to_owned()));
    }
    let name = header(&user.name)?;
    let groups: Vec<HeaderValue> = user
        .groups
        .iter()
        .map(|group| header(group))
        .collect::<Result<_, _>>()?;
    let whom = Arc::new((name, groups));
    let now = clients.read().unwrap_or_else(PoisonError::into_inner).clone();
    Ok(Clients {
        plain: with_user(clients, &whom, |clients| &clients.plain),
        watching: with_user(clients, &whom, |clients| &clients.watching),
        host: now.host,
        place: now.place,
    })
}

fn with_user(clients: &Shared, whom: &Arc<(HeaderValue, Vec<HeaderValue>)>, which: fn(&Clients) -> &Client) -> Client {
    let (clients, whom) = (Arc::clone(clients), Arc::clone(whom));
    let service = tower::service_fn(move |mut request: Request<Body>| {
        let client = which(&clients.read().unwrap_or_else(PoisonError::into_inner)).clone();
        let headers = request.headers_mut();
        headers.insert(IMPERSONATE_USER, whom.0.clone());
        for group in &whom.1 {
            headers.append(IMPERSONATE_GROUP, group.clone());
        }
        async move { client.send(request).await }
    });
    Client::new(service, "default")
}
