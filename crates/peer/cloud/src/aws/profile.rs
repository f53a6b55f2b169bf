//! AWS' shared config and credentials files, and the route to the credentials of a profile (SDKs and Tools Reference
//! Guide, *Shared config and credentials files*).

use std::collections::BTreeMap;

use crate::AwsCredentials;
use crate::invalid::{LINKS, ProfileError};
use bumpwright_secret::Secret;

/// The two files, which name their sections differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SharedFile {
    Config,
    Credentials,
}

/// The sections of both files by name of profile. Values may be secrets.
#[derive(Clone, Debug, Default)]
pub(crate) struct Profiles(BTreeMap<String, BTreeMap<String, Secret>>);

/// The route to the credentials of a profile: from a base, through a chain of roles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Route {
    pub(crate) base: Base,
    pub(crate) roles: Vec<Role>,
}

/// The source of a profile's credentials before any role is assumed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Base {
    Keys(AwsCredentials),
    /// `credential_source = Environment`.
    Environment,
    /// `credential_source = EcsContainer`.
    Container,
    /// `credential_source = Ec2InstanceMetadata`.
    Ec2,
    WebIdentity(WebIdentity),
    Process(String),
    /// No source in the profile: the container's endpoint if the environment names one, else EC2's.
    Ambient,
}

/// A role that is assumed by a token from a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WebIdentity {
    pub(crate) file: String,
    pub(crate) role: String,
    pub(crate) session: Option<String>,
}

/// A role that is assumed with credentials.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Role {
    pub(crate) arn: String,
    pub(crate) session: Option<String>,
    pub(crate) external_id: Option<String>,
    /// In seconds.
    pub(crate) duration: u32,
}

/// A role's default session in seconds, and the shortest one (SDK, `stscreds`).
const SESSION: u32 = 900;

impl Profiles {
    /// Adds a file's sections; its values override existing ones. Profiles are `profile NAME` in the config file and
    /// `NAME` in the credentials file; other sections are ignored. Invalid lines are skipped.
    pub(crate) fn add(&mut self, file: SharedFile, text: &str) {
        let mut profile: Option<String> = None;
        let mut nested = false;
        for line in text.lines() {
            let trimmed = line.trim();
            if trimmed.is_empty() || trimmed.starts_with(['#', ';']) {
                continue;
            }
            if let Some(section) = section(trimmed) {
                profile = profile_of(file, section);
                continue;
            }
            // Indented lines below a key without a value are settings of one service.
            let indented = line.starts_with([' ', '\t']);
            let Some((name, value)) = property(trimmed).filter(|_| !(indented && nested)) else {
                continue;
            };
            nested = value.is_empty();
            if let Some(profile) = &profile {
                let values = self.0.entry(profile.clone()).or_default();
                values.insert(name, Secret::new(value));
            }
        }
    }

    /// The route of a profile; `None` when the profile does not exist.
    ///
    /// # Errors
    /// [`ProfileError`], when the profile is incomplete or unsupported.
    pub(crate) fn route(&self, name: &str) -> Option<Result<Route, ProfileError>> {
        self.0.contains_key(name).then(|| self.link(name, &mut Vec::new()))
    }

    fn link<'a>(&'a self, name: &'a str, seen: &mut Vec<&'a str>) -> Result<Route, ProfileError> {
        let section = self.0.get(name).ok_or_else(|| ProfileError::Missing(name.to_owned()))?;
        let profile = Profile { name, section };
        let repeated = seen.contains(&name);
        seen.push(name);
        if seen.len() > LINKS {
            return Err(ProfileError::TooLong);
        }
        let keys = profile.keys()?;
        // A profile that is its own source counts with its keys, without its role.
        let role = profile.role()?.filter(|_| !repeated);
        // A source that has keys needs no source.
        if let (Some(keys), true) = (&keys, seen.len() > 1) {
            return Ok(Route {
                base: Base::Keys(keys.clone()),
                roles: role.into_iter().collect(),
            });
        }
        let source = profile.get("source_profile").filter(|_| !repeated);
        profile.complete(role.is_some(), source.is_some())?;
        let mut route = match source {
            Some(source) => self.link(source, seen)?,
            None => Route {
                base: profile.base(keys)?,
                roles: Vec::new(),
            },
        };
        if route.base == Base::Ambient && seen.len() > 1 {
            return Err(ProfileError::Empty(name.to_owned()));
        }
        // A web identity is a role already.
        let own_web_identity = source.is_none() && matches!(route.base, Base::WebIdentity(_));
        route.roles.extend(role.filter(|_| !own_web_identity));
        Ok(route)
    }
}

struct Profile<'a> {
    name: &'a str,
    section: &'a BTreeMap<String, Secret>,
}

impl<'a> Profile<'a> {
    fn get(&self, key: &str) -> Option<&'a str> {
        self.section
            .get(key)
            .map(Secret::expose)
            .filter(|value| !value.is_empty())
    }

    fn owned(&self, key: &str) -> Option<String> {
        self.get(key).map(str::to_owned)
    }

    fn error(&self, error: impl FnOnce(String) -> ProfileError) -> ProfileError {
        error(self.name.to_owned())
    }

    fn keys(&self) -> Result<Option<AwsCredentials>, ProfileError> {
        match (self.get("aws_access_key_id"), self.get("aws_secret_access_key")) {
            (Some(id), Some(secret)) => Ok(Some(AwsCredentials {
                access_key_id: id.to_owned(),
                secret_access_key: Secret::new(secret),
                session_token: self.get("aws_session_token").map(Secret::new),
                expires: None,
            })),
            (None, None) => Ok(None),
            _ => Err(self.error(ProfileError::HalfKey)),
        }
    }

    fn role(&self) -> Result<Option<Role>, ProfileError> {
        let Some(arn) = self.owned("role_arn") else {
            return Ok(None);
        };
        if self.get("mfa_serial").is_some() {
            return Err(self.error(ProfileError::Code));
        }
        let asked = self.get("duration_seconds").and_then(|seconds| seconds.parse().ok());
        Ok(Some(Role {
            arn,
            session: self.owned("role_session_name"),
            external_id: self.owned("external_id"),
            duration: asked.filter(|seconds| *seconds > SESSION).unwrap_or(SESSION),
        }))
    }

    /// The checks of the SDK for completeness.
    fn complete(&self, has_role: bool, has_source: bool) -> Result<(), ProfileError> {
        let kinds = ["credential_source", "credential_process", "web_identity_token_file"];
        let given: Vec<&str> = kinds.into_iter().filter(|key| self.get(key).is_some()).collect();
        let count = given.len() + usize::from(has_source);
        if count > 1 {
            return Err(self.error(ProfileError::Ambiguous));
        }
        let needs_role = has_source || given.iter().any(|key| *key != "credential_process");
        if needs_role && !has_role && self.get("role_arn").is_none() {
            Err(self.error(ProfileError::NoRole))
        } else {
            Ok(())
        }
    }

    fn base(&self, keys: Option<AwsCredentials>) -> Result<Base, ProfileError> {
        if let Some(keys) = keys {
            return Ok(Base::Keys(keys));
        }
        if let Some(source) = self.get("credential_source") {
            return match source {
                "Environment" => Ok(Base::Environment),
                "EcsContainer" => Ok(Base::Container),
                "Ec2InstanceMetadata" => Ok(Base::Ec2),
                _ => Err(ProfileError::Source),
            };
        }
        if let (Some(file), Some(role)) = (self.owned("web_identity_token_file"), self.owned("role_arn")) {
            let session = self.owned("role_session_name");
            return Ok(Base::WebIdentity(WebIdentity { file, role, session }));
        }
        let single_sign_on = [
            "sso_session",
            "sso_region",
            "sso_account_id",
            "sso_start_url",
            "sso_role_name",
        ];
        if single_sign_on
            .into_iter()
            .chain(["login_session"])
            .any(|key| self.get(key).is_some())
        {
            return Err(self.error(ProfileError::Browser));
        }
        Ok(self.owned("credential_process").map_or(Base::Ambient, Base::Process))
    }
}

/// The name in `[ name ] ; comment`.
fn section(line: &str) -> Option<&str> {
    let code = line.split(['#', ';']).next().unwrap_or(line).trim();
    code.strip_prefix('[')?.strip_suffix(']').map(str::trim)
}

fn profile_of(file: SharedFile, section: &str) -> Option<String> {
    let (kind, name) = match section.split_once([' ', '\t']) {
        Some((kind, name)) => (Some(kind), name.trim()),
        None => (None, section),
    };
    let is_profile = match (file, kind) {
        (SharedFile::Config, None) => name.eq_ignore_ascii_case("default"),
        (SharedFile::Config, Some(kind)) => kind == "profile",
        (SharedFile::Credentials, kind) => kind.is_none(),
    };
    is_profile.then(|| name.to_owned())
}

/// Parses `key = value # comment`, or with a colon; quotes around a value are dropped.
fn property(line: &str) -> Option<(String, &str)> {
    let ends = [" #", " ;", "\t#", "\t;"]
        .into_iter()
        .filter_map(|mark| line.find(mark))
        .min();
    let code = ends.and_then(|end| line.get(..end)).unwrap_or(line);
    let (name, value) = code.split_once(['=', ':'])?;
    let value = value.trim();
    let quoted = |mark: char| value.strip_prefix(mark)?.strip_suffix(mark);
    let value = quoted('"').or_else(|| quoted('\'')).unwrap_or(value);
    Some((name.trim().to_ascii_lowercase(), value))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;

    const CONFIG: &str = r#"
global = ignored
[default]
region = eu-west-1
s3 =
    role_arn = not-a-setting-of-the-profile
[profile deploy] ; comment
role_arn = arn:aws:iam::1:role/deploy
source_profile = base
external_id = "x # y"
duration_seconds = 3600
[profile base]
[profile chained]
role_arn = arn:aws:iam::1:role/chained
source_profile = deploy
[profile keyed]
role_arn = arn:aws:iam::1:role/keyed
source_profile = self
[profile self]
role_arn = arn:aws:iam::1:role/self
source_profile = self
aws_access_key_id: AK3
aws_secret_access_key: SK3
[profile web]
role_arn = arn:aws:iam::1:role/web
web_identity_token_file = /token
role_session_name = me
[profile ec2]
role_arn = arn:aws:iam::1:role/ec2
credential_source = Ec2InstanceMetadata
[profile process]
credential_process = "/opt/bin/keys" --for me
[profile sso]
sso_session = corp
[profile mfa]
role_arn = arn:aws:iam::1:role/mfa
mfa_serial = arn:aws:iam::1:mfa/me
source_profile = base
[profile norole]
source_profile = base
[profile lost]
role_arn = arn:aws:iam::1:role/lost
source_profile = nobody
[profile both]
role_arn = r
source_profile = base
credential_process = x
[profile loop1]
role_arn = r
source_profile = loop2
[profile loop2]
role_arn = r
source_profile = loop1
[base]
aws_access_key_id = wrong
[sso-session corp]
sso_region = x
"#;
    const CREDENTIALS: &str = "[base]\naws_access_key_id=AK1\naws_secret_access_key=SK1\naws_session_token=ST1\n\
        [half]\naws_access_key_id=AK2\n[profile web]\naws_access_key_id=wrong\n";

    fn route(name: &str) -> Option<Result<Route, ProfileError>> {
        let mut profiles = Profiles::default();
        profiles.add(SharedFile::Config, CONFIG);
        profiles.add(SharedFile::Credentials, CREDENTIALS);
        profiles.route(name)
    }

    fn keys(base: &Base) -> &str {
        match base {
            Base::Keys(keys) => &keys.access_key_id,
            _ => "",
        }
    }

    #[test]
    fn routes() {
        let arns = |route: &Route| {
            route
                .roles
                .iter()
                .map(|r| r.arn.rsplit('/').next().unwrap().to_owned())
                .collect::<Vec<_>>()
        };
        let chained = route("chained").unwrap().unwrap();
        assert_eq!(
            (keys(&chained.base), arns(&chained)),
            ("AK1", vec!["deploy".to_owned(), "chained".to_owned()])
        );
        let deploy = &chained.roles[0];
        assert_eq!(
            (
                deploy.external_id.as_deref(),
                deploy.duration,
                chained.roles[1].duration
            ),
            (Some("\"x"), 3600, 900)
        );
        let own = route("self").unwrap().unwrap();
        assert_eq!((keys(&own.base), arns(&own)), ("AK3", vec!["self".to_owned()]));
        let keyed = route("keyed").unwrap().unwrap();
        assert_eq!(
            (keys(&keyed.base), arns(&keyed)),
            ("AK3", vec!["self".to_owned(), "keyed".to_owned()])
        );
        let web = route("web").unwrap().unwrap();
        assert!(matches!(&web.base, Base::WebIdentity(w) if w.file == "/token" && w.session.as_deref() == Some("me")));
        assert!(web.roles.is_empty());
        assert_eq!(
            route("default").unwrap().unwrap(),
            Route {
                base: Base::Ambient,
                roles: vec![]
            }
        );
        let ec2 = route("ec2").unwrap().unwrap();
        assert_eq!((ec2.base.clone(), arns(&ec2)), (Base::Ec2, vec!["ec2".to_owned()]));
        let process = route("process").unwrap().unwrap().base;
        assert_eq!(process, Base::Process("\"/opt/bin/keys\" --for me".to_owned()));
    }

    #[test]
    fn no_routes() {
        let rows = [
            ("half", "has only one of aws_access_key_id and aws_secret_access_key"),
            ("sso", "signs in with a browser, which is not supported; run `eval"),
            ("mfa", "requires a code (mfa_serial)"),
            ("norole", "lacks role_arn"),
            ("lost", "its source_profile \"nobody\" does not exist"),
            ("loop1", "its source_profile \"loop1\" has no credentials"),
            ("both", "only one of source_profile, credential_source"),
        ];
        for (name, expected) in rows {
            let said = route(name).unwrap().unwrap_err().to_string();
            assert!(said.contains(expected), "{name}: {said}");
        }
        assert_eq!(route("nobody"), None);
    }
}
