//! AWS credentials of this process, from the sources and in the order of AWS' SDK for Go, which Flux uses
//! (SDKs and Tools Reference Guide, *Standardized credential providers*; SDK, `config/resolve_credentials.go`).

use std::path::PathBuf;
use std::time::SystemTime;

use super::profile::{Base, Profiles, Route, SharedFile, WebIdentity};
use crate::services::Services;
use crate::{CloudError, Endpoints, Environment, files};
use bumpwright_http::Deadline;
use bumpwright_secret::Secret;

/// The keys that sign requests to AWS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AwsCredentials {
    /// The id of the key, which is not secret.
    pub access_key_id: String,
    pub secret_access_key: Secret,
    /// The token of a session, with temporary keys.
    pub session_token: Option<Secret>,
    /// When they expire; `None` for permanent keys.
    pub expires: Option<SystemTime>,
}

/// The context of credential providers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Aws<'a> {
    pub(crate) environment: &'a Environment,
    pub(crate) endpoints: &'a Endpoints,
    pub(crate) services: &'a Services,
    /// The region in which roles are assumed.
    pub(crate) region: &'a str,
    pub(crate) deadline: Deadline,
}

const WHAT: &str = "AWS credentials";
const WAY_OUT: &str = "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, or give the pod or the \
                       machine an IAM role";

impl Aws<'_> {
    /// Resolves credentials: keys in the environment, a role by a token file there, then the profile.
    ///
    /// # Errors
    /// [`CloudError::Absent`] when there are none; others when a configured source fails.
    pub(crate) fn credentials(&self) -> Result<AwsCredentials, CloudError> {
        if let Some(keys) = self.keys_of_environment() {
            return Ok(keys);
        }
        let mut tried = vec!["AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are not both set".to_owned()];
        if let Some(identity) = self.web_identity_of_environment()? {
            return self.assume_role_with_web_identity(&identity);
        }
        tried.push("AWS_WEB_IDENTITY_TOKEN_FILE is not set".to_owned());
        let route = self.route(&mut tried)?;
        let mut credentials = self.base(&route.base, tried)?;
        for role in &route.roles {
            credentials = self.assume_role(role, &credentials)?;
        }
        Ok(credentials)
    }

    fn keys_of_environment(&self) -> Option<AwsCredentials> {
        let either = |first, second| self.environment.get(first).or_else(|| self.environment.get(second));
        Some(AwsCredentials {
            access_key_id: either("AWS_ACCESS_KEY_ID", "AWS_ACCESS_KEY")?.to_owned(),
            secret_access_key: Secret::new(either("AWS_SECRET_ACCESS_KEY", "AWS_SECRET_KEY")?),
            session_token: self.environment.get("AWS_SESSION_TOKEN").map(Secret::new),
            expires: None,
        })
    }

    fn web_identity_of_environment(&self) -> Result<Option<WebIdentity>, CloudError> {
        let Some(file) = self.environment.get("AWS_WEB_IDENTITY_TOKEN_FILE") else {
            return Ok(None);
        };
        let Some(role) = self.environment.get("AWS_ROLE_ARN") else {
            let detail = "is not set, though AWS_WEB_IDENTITY_TOKEN_FILE is; it names the role to assume";
            return Err(CloudError::settings("AWS_ROLE_ARN", detail));
        };
        Ok(Some(WebIdentity {
            file: file.to_owned(),
            role: role.to_owned(),
            session: self.environment.get("AWS_ROLE_SESSION_NAME").map(str::to_owned),
        }))
    }

    /// The route of `AWS_PROFILE` or `default`; only a profile set by name must exist.
    fn route(&self, tried: &mut Vec<String>) -> Result<Route, CloudError> {
        let mut profiles = Profiles::default();
        let files = [
            (SharedFile::Config, "AWS_CONFIG_FILE", "config"),
            (SharedFile::Credentials, "AWS_SHARED_CREDENTIALS_FILE", "credentials"),
        ];
        for (file, variable, name) in files {
            if let Some(text) = self
                .shared_file(variable, name)
                .map_or(Ok(None), |path| files::text_if_any(&path))?
            {
                profiles.add(file, text.expose());
            }
        }
        let named = self
            .environment
            .get("AWS_PROFILE")
            .or_else(|| self.environment.get("AWS_DEFAULT_PROFILE"));
        let name = named.unwrap_or("default");
        match (profiles.route(name), named) {
            (Some(route), _) => {
                tried.push(format!("the profile {name:?} names no credentials"));
                route.map_err(|error| CloudError::invalid(format!("the AWS profile {name:?}"), error))
            }
            (None, Some(_)) => {
                let detail = "is neither in ~/.aws/config nor in ~/.aws/credentials (or where AWS_CONFIG_FILE and \
                              AWS_SHARED_CREDENTIALS_FILE point to); AWS_PROFILE asks for it";
                Err(CloudError::settings(format!("the AWS profile {name:?}"), detail))
            }
            (None, None) => {
                tried.push("there is no profile \"default\" in ~/.aws".to_owned());
                Ok(Route {
                    base: Base::Ambient,
                    roles: Vec::new(),
                })
            }
        }
    }

    fn shared_file(&self, variable: &str, name: &str) -> Option<PathBuf> {
        let given = self.environment.get(variable).map(PathBuf::from);
        given.or_else(|| Some(self.environment.home()?.join(".aws").join(name)))
    }

    fn base(&self, base: &Base, mut tried: Vec<String>) -> Result<AwsCredentials, CloudError> {
        let absent = |tried| CloudError::Absent {
            what: WHAT,
            tried,
            way_out: WAY_OUT,
        };
        match base {
            Base::Keys(keys) => Ok(keys.clone()),
            Base::Environment => self.keys_of_environment().ok_or_else(|| absent(tried)),
            Base::WebIdentity(identity) => self.assume_role_with_web_identity(identity),
            Base::Process(command) => self.credentials_of_process(command),
            Base::Container | Base::Ambient if self.names_container() => self.credentials_of_container(),
            Base::Container => {
                tried.push("no container's endpoint is set, though credential_source is EcsContainer".to_owned());
                Err(absent(tried))
            }
            Base::Ec2 | Base::Ambient => {
                tried.push("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI and …_FULL_URI are not set".to_owned());
                match self.credentials_of_instance()? {
                    Ok(credentials) => Ok(credentials),
                    Err(why) => {
                        tried.push(why.to_string());
                        Err(absent(tried))
                    }
                }
            }
        }
    }
}
