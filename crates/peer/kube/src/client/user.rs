//! A user of the API server.

use std::collections::BTreeMap;

use serde::Deserialize;

use bumpwright_api::ObjectName;

/// Somebody who is known to the API server (`authenticationv1.UserInfo`).
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(default)]
pub struct User {
    #[serde(rename = "username")]
    pub name: String,
    /// The uid; may be empty.
    pub uid: String,
    pub groups: Vec<String>,
    /// What authorizers may know besides.
    pub extra: BTreeMap<String, Vec<String>>,
}

impl User {
    #[must_use]
    pub fn account(account: &ObjectName) -> Self {
        let groups = [
            "system:serviceaccounts".to_owned(),
            format!("system:serviceaccounts:{}", account.namespace),
            "system:authenticated".to_owned(),
        ];
        Self {
            name: format!("system:serviceaccount:{}:{}", account.namespace, account.name),
            groups: groups.into(),
            ..Self::default()
        }
    }
}
