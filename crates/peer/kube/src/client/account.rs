//! Impersonation of accounts and users.

use std::fmt::Write as _;
use std::sync::Arc;

use http::{HeaderMap, HeaderName, HeaderValue, Request};
use kube::Client;
use kube::client::Body;

use super::clients::{Clients, Shared};
use super::user::User;
use crate::error::ClusterError;

const IMPERSONATE_USER: &str = "impersonate-user";
const IMPERSONATE_UID: &str = "impersonate-uid";
const IMPERSONATE_GROUP: &str = "impersonate-group";
const IMPERSONATE_EXTRA: &str = "impersonate-extra-";

/// Clients that impersonate somebody over the connections of others, and follow when those are replaced. The server
/// adds the groups of a ServiceAccount when none is given.
pub(crate) fn impersonating(clients: &Shared, user: &User) -> Result<Clients, ClusterError> {
    let whom = Arc::new(headers_of(user)?);
    let now = clients.read().clone();
    Ok(Clients {
        plain: with_user(clients, &whom, |clients| &clients.plain),
        whole: with_user(clients, &whom, |clients| &clients.whole),
        watching: with_user(clients, &whom, |clients| &clients.watching),
        host: now.host,
        place: now.place,
    })
}

/// All that is known of somebody: authorizers and admission may limit an identity by its uid or by what else there is,
/// such as the scopes of a token. What cannot be said is an error, since less would be somebody with other rights.
fn headers_of(user: &User) -> Result<HeaderMap, ClusterError> {
    let refused = |what: &str| {
        ClusterError::Connect(format!(
            "{:?} cannot be impersonated: {what}",
            user.name.chars().take(253).collect::<String>()
        ))
    };
    let header = |text: &str| {
        HeaderValue::from_bytes(text.as_bytes()).map_err(|_| refused("not a valid name, uid, group or extra"))
    };
    // Without a name the server would see the connection's own identity.
    if user.name.is_empty() {
        return Err(ClusterError::Connect("nobody cannot be impersonated".to_owned()));
    }
    let mut headers = HeaderMap::new();
    headers.insert(IMPERSONATE_USER, header(&user.name)?);
    if !user.uid.is_empty() {
        headers.insert(IMPERSONATE_UID, header(&user.uid)?);
    }
    for group in &user.groups {
        headers.append(IMPERSONATE_GROUP, header(group)?);
    }
    for (key, values) in &user.extra {
        let name = format!("{IMPERSONATE_EXTRA}{}", escaped(key));
        let name =
            HeaderName::from_bytes(name.as_bytes()).map_err(|_| refused("its extra has a key without a name"))?;
        if key.is_empty() || values.is_empty() {
            return Err(refused("its extra has a key without a name or a value"));
        }
        for value in values {
            let added = headers.try_append(&name, header(value)?);
            added.map_err(|_| refused("it has too many extras"))?;
        }
    }
    Ok(headers)
}

/// A key as a part of a header's name, whose letters are in lower case for the
/// server (Kubernetes, *User impersonation*).
fn escaped(key: &str) -> String {
    let mut out = String::with_capacity(key.len());
    for byte in key.bytes() {
        match byte {
            b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => out.push(char::from(byte)),
            _ => {
                let _ = write!(out, "%{byte:02x}");
            }
        }
    }
    out
}

fn with_user(clients: &Shared, whom: &Arc<HeaderMap>, which: fn(&Clients) -> &Client) -> Client {
    let (clients, whom) = (Arc::clone(clients), Arc::clone(whom));
    let service = tower::service_fn(move |mut request: Request<Body>| {
        let client = which(&clients.read()).clone();
        request.headers_mut().extend((*whom).clone());
        async move { client.send(request).await }
    });
    Client::new(service, "default")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn user(uid: &str, extra: &[(&str, &[&str])]) -> User {
        let texts = |values: &[&str]| values.iter().map(|value| (*value).to_owned()).collect();
        User {
            name: "ann".to_owned(),
            uid: uid.to_owned(),
            groups: vec!["dev".to_owned(), "ops".to_owned()],
            extra: extra
                .iter()
                .map(|(key, values)| ((*key).to_owned(), texts(values)))
                .collect(),
        }
    }

    #[test]
    fn whoever_is_impersonated_has_no_more_rights_than_the_person() {
        let scopes: &[&str] = &["user:info", "role:view:shop"];
        let ann = user(
            "06f6ce97",
            &[
                ("scopes.authorization.openshift.io", scopes),
                ("authentication.kubernetes.io/Credential ID", &["JTI=1"]),
            ],
        );
        let headers = headers_of(&ann).unwrap();
        let all = |name: &str| -> Vec<&str> { headers.get_all(name).iter().map(|it| it.to_str().unwrap()).collect() };
        assert_eq!(all("impersonate-user"), ["ann"]);
        assert_eq!(all("impersonate-uid"), ["06f6ce97"]);
        assert_eq!(all("impersonate-group"), ["dev", "ops"]);
        assert_eq!(all("impersonate-extra-scopes.authorization.openshift.io"), scopes);
        assert_eq!(
            all("impersonate-extra-authentication.kubernetes.io%2f%43redential%20%49%44"),
            ["JTI=1"]
        );
        assert_eq!(headers.len(), 7);
    }

    /// A ServiceAccount has no uid here, which the server does not ask for then.
    #[test]
    fn nothing_is_said_of_what_is_not_known() {
        let headers = headers_of(&user("", &[])).unwrap();
        assert_eq!(headers.len(), 3);
    }

    #[test]
    fn what_cannot_be_said_is_refused() {
        let many: Vec<String> = (0..40_000).map(|n| format!("k{n}")).collect();
        let many: Vec<(&str, &[&str])> = many.iter().map(|key| (key.as_str(), &["v"][..])).collect();
        for user in [
            user("a\nb", &[]),
            user("", &[("scopes", &["a\r\nImpersonate-User: root"])]),
            user("", &[("scopes", &[])]),
            user("", &[("", &["x"])]),
            user("", &many),
            User::default(),
        ] {
            let error = headers_of(&user).unwrap_err().to_string();
            assert!(error.contains("cannot be impersonated"), "{error}");
        }
    }
}
