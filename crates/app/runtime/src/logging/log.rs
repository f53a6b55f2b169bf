//! The log of a controller: one line of JSON for each entry, as Flux's controllers write them.
//!
//! `flux logs` reads `ts`, `level`, `msg`, `error`, `logger`, `controllerKind`, `name` and `namespace` of each line
//! that begins with `{` (flux2, `cmd/flux/logs.go`). Levels and encodings are those of `fluxcd/pkg/runtime/logger`.

use std::fmt;
use std::io::{self, Write};
use std::str::FromStr;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use thiserror::Error;

use super::line::{Entry, append_field, line};
use super::redaction::Redaction;
use super::writer::LogWriter;
use crate::event::random_id::random_id;

/// The level of an entry. Each includes those before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    Error,
    /// Actions.
    #[default]
    Info,
    /// Details of actions.
    Debug,
    /// Every step.
    Trace,
}

/// The form of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Encoding {
    /// An object of JSON.
    #[default]
    Json,
    /// Columns between tabs, for humans.
    Console,
}

/// A flag has an unknown value.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("cannot use {given:?} as the {what}; it is one of {choices}")]
pub struct UnknownName {
    what: &'static str,
    given: String,
    choices: &'static str,
}

impl FromStr for Level {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Self, UnknownName> {
        Ok(match name {
            "error" => Self::Error,
            "info" => Self::Info,
            "debug" => Self::Debug,
            "trace" => Self::Trace,
            _ => {
                return Err(UnknownName {
                    what: "log level",
                    given: name.to_owned(),
                    choices: "trace, debug, info, error",
                });
            }
        })
    }
}

impl FromStr for Encoding {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Self, UnknownName> {
        Ok(match name {
            "json" => Self::Json,
            "console" => Self::Console,
            _ => {
                return Err(UnknownName {
                    what: "log encoding",
                    given: name.to_owned(),
                    choices: "json, console",
                });
            }
        })
    }
}

/// Settings of the log.
#[derive(Clone, Debug, Default)]
pub struct LogOptions {
    pub level: Level,
    pub encoding: Encoding,
    /// Applied to every message, name and string.
    pub redaction: Redaction,
}

/// A logger with fields for each entry. A clone is cheap and has the same output.
///
/// Entries are written by a thread, so that a slow reader does not block callers: beyond a megabyte
/// of waiting lines further ones are dropped, counted, and reported in a line of their own.
///
/// Values are JSON, to which a [`Secret`](bumpwright_secret::Secret) cannot be converted:
///
/// ```compile_fail
/// # fn f(log: &bumpwright_runtime::Log) {
/// log.with("password", bumpwright_secret::Secret::new("x")).info("logging in");
/// # }
/// ```
/// ```
/// # fn f(log: &bumpwright_runtime::Log) {
/// log.with("name", "app").with("attempt", 2).info("logging in");
/// # }
/// ```
#[derive(Clone)]
pub struct Log {
    shared: Arc<Shared>,
    /// `logger`, names joined by dots.
    name: Option<Arc<str>>,
    /// Encoded already.
    fields: Arc<str>,
}

struct Shared {
    options: LogOptions,
    writer: LogWriter,
}

impl Log {
    /// Creates a log on standard error.
    ///
    /// # Errors
    /// When the system has no thread left.
    pub fn stderr(options: LogOptions) -> io::Result<Self> {
        Self::to(io::stderr(), options)
    }

    /// Creates a log with another output: one call of `write_all` for each line, one at a time. Failed writes are
    /// ignored, since they cannot be reported.
    ///
    /// # Errors
    /// When the system has no thread left.
    pub fn to(output: impl Write + Send + 'static, options: LogOptions) -> io::Result<Self> {
        let encoding = options.encoding;
        let lost = move |count: u64| {
            let (name, mut fields) = (Some("log"), String::new());
            append_field(encoding, &mut fields, "count", &json!(count));
            let message = "log lines were dropped, their reader is too slow";
            line(
                encoding,
                &Entry {
                    level: Level::Error,
                    at: SystemTime::now(),
                    name,
                    message,
                    fields: &fields,
                },
            )
        };
        let writer = LogWriter::start(output, lost)?;
        Ok(Self {
            shared: Arc::new(Shared { options, writer }),
            name: None,
            fields: Arc::from(""),
        })
    }

    /// The same log with an additional field. Values keep their JSON types, strings are redacted.
    #[must_use]
    pub fn with(&self, key: &str, value: impl Into<Value>) -> Self {
        let options = &self.shared.options;
        let mut fields = self.fields.as_ref().to_owned();
        let value = options.redaction.value(value.into());
        append_field(options.encoding, &mut fields, &options.redaction.text(key), &value);
        Self {
            shared: Arc::clone(&self.shared),
            name: self.name.clone(),
            fields: fields.into(),
        }
    }

    /// The same log under a name, shown as `logger`; nested names are joined by a dot.
    #[must_use]
    pub fn named(&self, name: &str) -> Self {
        let name = match &self.name {
            Some(outer) => format!("{outer}.{name}"),
            None => name.to_owned(),
        };
        Self {
            shared: Arc::clone(&self.shared),
            name: Some(name.into()),
            fields: Arc::clone(&self.fields),
        }
    }

    /// The log of a controller, with the fields of controller-runtime (`pkg/builder/controller.go`).
    #[must_use]
    pub fn controller(&self, controller: &str, group: &str, kind: &str) -> Self {
        let log = self.with("controller", controller);
        log.with("controllerGroup", group).with("controllerKind", kind)
    }

    /// The log of one reconciliation of an object, below [`Log::controller`]: its kind with name and namespace, both
    /// again as fields, and a new `reconcileID`.
    #[must_use]
    pub fn reconciliation(&self, kind: &str, namespace: &str, name: &str) -> Self {
        let log = self.with(kind, json!({"name": name, "namespace": namespace}));
        let log = log.with("namespace", namespace).with("name", name);
        log.with("reconcileID", random_id())
    }

    /// Whether entries of a level are written.
    #[must_use]
    pub fn shows(&self, level: Level) -> bool {
        level <= self.shared.options.level
    }

    pub fn info(&self, message: &str) {
        self.write(Level::Info, message, None);
    }

    /// Logs a detail, for `--log-level=debug`.
    pub fn debug(&self, message: &str) {
        self.write(Level::Debug, message, None);
    }

    /// Logs a step, for `--log-level=trace`.
    pub fn trace(&self, message: &str) {
        self.write(Level::Trace, message, None);
    }

    /// Logs a failure: `message` is the attempted action, the error the field `error`.
    pub fn error(&self, error: &dyn fmt::Display, message: &str) {
        self.write(Level::Error, message, Some(error));
    }

    /// Logs a warning: as an error, since Flux's logs have no level between.
    pub fn warn(&self, message: &str) {
        self.write(Level::Error, message, None);
    }

    /// Waits until everything is written, or the time has passed; false when lines are left. To be called before the
    /// process ends.
    pub fn flush(&self, within: Duration) -> bool {
        self.shared.writer.flush(within)
    }

    /// The number of lines dropped so far because their reader was too slow.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.shared.writer.dropped()
    }

    fn write(&self, level: Level, message: &str, error: Option<&dyn fmt::Display>) {
        if !self.shows(level) {
            return;
        }
        let LogOptions {
            encoding, redaction, ..
        } = &self.shared.options;
        let with_error = error.map(|error| {
            let mut fields = self.fields.as_ref().to_owned();
            let text = redaction.value(Value::String(error.to_string()));
            append_field(*encoding, &mut fields, "error", &text);
            fields
        });
        let entry = Entry {
            level,
            at: SystemTime::now(),
            name: self.name.as_deref(),
            message: &redaction.text(message),
            fields: with_error.as_deref().unwrap_or(&self.fields),
        };
        self.shared.writer.push(line(*encoding, &entry));
    }
}

impl fmt::Debug for Log {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Log")
            .field("name", &self.name)
            .field("fields", &self.fields)
            .finish_non_exhaustive()
    }
}
