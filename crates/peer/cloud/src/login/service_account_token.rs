//! Tokens of the ServiceAccount that annotations name.

use crate::{AccessToken, Cloud, CloudError, WorkloadIdentity, jwt};
use bumpwright_http::Deadline;
use bumpwright_secret::Secret;

impl Cloud {
    /// A token of a ServiceAccount for a server outside of the clouds, which is its audience unless annotations name
    /// others. It is kept while it is fresh.
    ///
    /// # Errors
    /// [`CloudError::Settings`], when none is issued.
    pub fn service_account_token(
        &self,
        account: &WorkloadIdentity,
        server: &str,
        deadline: Deadline,
    ) -> Result<Secret, CloudError> {
        let key = format!("{} {server}", account.own_identity());
        let make = || {
            let token = account.token_for(server, deadline)?;
            let expires = jwt::expires(&token);
            Ok(AccessToken { token, expires })
        };
        let ends = |kept: &AccessToken| kept.expires;
        let issued = self.kept.get(("service account", &key), deadline, ends, make)?;
        Ok(issued.token)
    }
}
