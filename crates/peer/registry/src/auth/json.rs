//! The JSON of logins as parsed by Go: docker's configuration, its older form, and answers of credential helpers.
//!
//! Names of members match in any case, `null` has no effect, of two members with one name the later counts, and
//! unrelated members are ignored. Faults have a location, since serde's own messages would show the text.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, Visitor};
use serde_json::error::Category;

use super::config_fault::{AuthFault, ConfigFault, shown_server};
use super::field::{self, Dialect};
use super::login::AuthEntry;
use bumpwright_secret::Secret;

/// Logins by server, with the keys as written.
pub(crate) type Auths = BTreeMap<String, AuthEntry>;

/// The relevant parts of a docker configuration.
#[derive(Clone, Default)]
pub(crate) struct Contents {
    pub(crate) auths: Auths,
    /// `credHelpers`: the helper of a server; an empty name means the file itself.
    pub(crate) helpers: BTreeMap<String, String>,
    /// `credsStore`: the helper of all other servers, or empty.
    pub(crate) store: String,
}

/// Reads `.dockerconfigjson` or `config.json`. For docker a blank text is an empty configuration, and text after the
/// object is ignored.
pub(crate) fn read_config(text: &[u8], dialect: Dialect) -> Result<Contents, ConfigFault> {
    let mut contents = Contents::default();
    if dialect == Dialect::Docker && text.iter().all(|byte| b" \t\r\n".contains(byte)) {
        return Ok(contents);
    }
    let reader = ConfigMembers {
        contents: &mut contents,
        dialect,
    };
    read(text, reader, dialect == Dialect::Kubernetes)?;
    Ok(contents)
}

/// Reads `.dockercfg`: the servers at the top level.
pub(crate) fn read_dockercfg(text: &[u8]) -> Result<Auths, ConfigFault> {
    let mut auths = Auths::new();
    let reader = AuthsMembers {
        auths: &mut auths,
        dialect: Dialect::Kubernetes,
    };
    read(text, reader, true)?;
    Ok(auths)
}

/// Reads a helper's answer: user name and secret.
pub(crate) fn read_answer(text: &[u8]) -> Result<(String, Secret), ConfigFault> {
    let mut answer = AnswerMembers::default();
    read(text, &mut answer, false)?;
    Ok((answer.username, answer.secret))
}

/// Reads one object; with `whole`, nothing may follow it.
fn read(text: &[u8], members: impl Members, whole: bool) -> Result<(), ConfigFault> {
    let trail = Trail::default();
    let mut json = serde_json::Deserializer::from_slice(text);
    let object = Object { members, trail: &trail };
    object
        .deserialize(&mut json)
        .and_then(|()| if whole { json.end() } else { Ok(()) })
        .map_err(|error| trail.fault(&error))
}

/// One step from an object to a value in it.
enum Step {
    Member(&'static str),
    /// With the name in a safe form.
    Server(String),
}

impl Step {
    fn server(name: &str) -> Self {
        Self::Server(shown_server(name))
    }
}

/// The location of the reader, for faults.
#[derive(Default)]
struct Trail {
    steps: RefCell<Vec<Step>>,
    expected: Cell<&'static str>,
    wrong: Cell<Option<AuthFault>>,
}

impl Trail {
    /// Reads the value at `step`; on a fault the step stays.
    fn below<T, E>(&self, step: Step, read: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        self.steps.borrow_mut().push(step);
        let value = read()?;
        self.steps.borrow_mut().pop();
        Ok(value)
    }

    fn fault(&self, error: &serde_json::Error) -> ConfigFault {
        let what = self.wrong.get().unwrap_or(match error.classify() {
            Category::Eof => AuthFault::CutOff,
            Category::Data => AuthFault::Kind(self.expected.get()),
            Category::Syntax | Category::Io => AuthFault::NoJson,
        });
        ConfigFault {
            line: error.line().max(1),
            column: error.column().max(1),
            path: self.path(what),
            what,
        }
    }

    /// In broken JSON a value may be in place of a name, so names are not shown.
    fn path(&self, what: AuthFault) -> String {
        let torn = matches!(what, AuthFault::NoJson | AuthFault::CutOff);
        let shown = |step: &Step| match step {
            Step::Member(name) => format!(".{name}"),
            Step::Server(_) if torn => "[…]".to_owned(),
            Step::Server(name) => format!("[{name}]"),
        };
        self.steps.borrow().iter().map(shown).collect()
    }
}

/// A visitor of the members of an object.
trait Members {
    /// Reads the value of the member `name` from `map`.
    fn member<'de, A: MapAccess<'de>>(&mut self, name: &str, map: &mut A, trail: &Trail) -> Result<(), A::Error>;
}

impl<M: Members> Members for &mut M {
    fn member<'de, A: MapAccess<'de>>(&mut self, name: &str, map: &mut A, trail: &Trail) -> Result<(), A::Error> {
        (**self).member(name, map, trail)
    }
}

/// An object, or `null` for one without members.
struct Object<'t, M> {
    members: M,
    trail: &'t Trail,
}

impl<'de, M: Members> DeserializeSeed<'de> for Object<'_, M> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        self.trail.expected.set("an object");
        deserializer.deserialize_any(self)
    }
}

impl<'de, M: Members> Visitor<'de> for Object<'_, M> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
        while let Some(name) = map.next_key::<String>()? {
            self.members.member(&name, &mut map, self.trail)?;
        }
        Ok(())
    }
}

/// A text, or `null` for none.
struct Text<'t>(&'t Trail);

impl<'de> DeserializeSeed<'de> for Text<'_> {
    type Value = Option<Secret>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        self.0.expected.set("a string");
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Text<'_> {
    type Value = Option<Secret>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Some(Secret::from(text)))
    }
}

struct ConfigMembers<'c> {
    contents: &'c mut Contents,
    dialect: Dialect,
}

impl Members for ConfigMembers<'_> {
    fn member<'de, A: MapAccess<'de>>(&mut self, name: &str, map: &mut A, trail: &Trail) -> Result<(), A::Error> {
        let docker = self.dialect == Dialect::Docker;
        match folded(name).as_str() {
            "auths" => {
                let members = AuthsMembers {
                    auths: &mut self.contents.auths,
                    dialect: self.dialect,
                };
                trail.below(Step::Member("auths"), || map.next_value_seed(Object { members, trail }))
            }
            "credhelpers" if docker => {
                let members = HelperMembers(&mut self.contents.helpers);
                trail.below(Step::Member("credHelpers"), || {
                    map.next_value_seed(Object { members, trail })
                })
            }
            "credsstore" if docker => {
                let store = trail.below(Step::Member("credsStore"), || map.next_value_seed(Text(trail)))?;
                if let Some(store) = store {
                    store.expose().clone_into(&mut self.contents.store);
                }
                Ok(())
            }
            _ => map.next_value::<IgnoredAny>().map(drop),
        }
    }
}

struct AuthsMembers<'a> {
    auths: &'a mut Auths,
    dialect: Dialect,
}

impl Members for AuthsMembers<'_> {
    fn member<'de, A: MapAccess<'de>>(&mut self, name: &str, map: &mut A, trail: &Trail) -> Result<(), A::Error> {
        let mut entry = EntryMembers {
            entry: AuthEntry::default(),
            pair: None,
            dialect: self.dialect,
        };
        let members = &mut entry;
        trail.below(Step::server(name), || map.next_value_seed(Object { members, trail }))?;
        self.auths.insert(name.to_owned(), entry.finish());
        Ok(())
    }
}

struct EntryMembers {
    entry: AuthEntry,
    /// The decoded `auth`; it overrides `username` and `password`.
    pair: Option<(String, Secret)>,
    dialect: Dialect,
}

impl EntryMembers {
    fn finish(self) -> AuthEntry {
        let mut entry = self.entry;
        if let Some((username, password)) = self.pair {
            (entry.username, entry.password) = (username, password);
        }
        entry
    }
}

impl Members for EntryMembers {
    fn member<'de, A: MapAccess<'de>>(&mut self, name: &str, map: &mut A, trail: &Trail) -> Result<(), A::Error> {
        let Some(name) = one_of(
            &["username", "password", "auth", "identitytoken", "registrytoken"],
            name,
        ) else {
            return map.next_value::<IgnoredAny>().map(drop);
        };
        trail.below(Step::Member(name), || {
            let Some(text) = map.next_value_seed(Text(trail))? else {
                return Ok(());
            };
            match name {
                "username" => text.expose().clone_into(&mut self.entry.username),
                "password" => self.entry.password = text,
                "identitytoken" => self.entry.identity_token = text,
                "registrytoken" => self.entry.registry_token = text,
                _ if text.is_empty() => self.pair = None,
                _ => {
                    let pair = field::decode(text.expose(), self.dialect).map_err(|fault| {
                        trail.wrong.set(Some(fault));
                        A::Error::custom("auth")
                    })?;
                    self.pair = Some(pair);
                }
            }
            Ok(())
        })
    }
}

struct HelperMembers<'h>(&'h mut BTreeMap<String, String>);

impl Members for HelperMembers<'_> {
    fn member<'de, A: MapAccess<'de>>(&mut self, name: &str, map: &mut A, trail: &Trail) -> Result<(), A::Error> {
        let helper = trail.below(Step::server(name), || map.next_value_seed(Text(trail)))?;
        let helper = helper.map_or_else(String::new, |helper| helper.expose().to_owned());
        self.0.insert(name.to_owned(), helper);
        Ok(())
    }
}

#[derive(Default)]
struct AnswerMembers {
    username: String,
    secret: Secret,
}

impl Members for AnswerMembers {
    fn member<'de, A: MapAccess<'de>>(&mut self, name: &str, map: &mut A, trail: &Trail) -> Result<(), A::Error> {
        let Some(name) = one_of(&["username", "secret"], name) else {
            return map.next_value::<IgnoredAny>().map(drop);
        };
        match trail.below(Step::Member(name), || map.next_value_seed(Text(trail)))? {
            Some(text) if name == "secret" => self.secret = text,
            Some(text) => text.expose().clone_into(&mut self.username),
            None => {}
        }
        Ok(())
    }
}

/// The member that matches a name.
fn one_of(members: &[&'static str], name: &str) -> Option<&'static str> {
    let name = folded(name);
    members.iter().find(|member| **member == name).copied()
}

/// Folds a member's name as Go: two characters beyond ASCII fold to ASCII letters.
fn folded(name: &str) -> String {
    name.chars()
        .map(|c| match c {
            '\u{17f}' => 's',
            '\u{212a}' => 'k',
            c => c.to_ascii_lowercase(),
        })
        .collect()
}
