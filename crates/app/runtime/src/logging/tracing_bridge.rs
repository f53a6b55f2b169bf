//! Messages of other crates through `tracing`, such as kube's warnings, in our log at level debug.

use std::fmt::{self, Write};

use thiserror::Error;
use tracing_core::dispatcher::set_global_default;
use tracing_core::field::{Field, Visit};
use tracing_core::span::{Attributes, Id, Record};
use tracing_core::{Dispatch, Event, Level, Metadata, Subscriber};

use super::log::{Level as LogLevel, Log};

/// There is another subscriber of `tracing` in this process already.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("cannot show the warnings of libraries in the log: another listener of tracing has been set before")]
pub struct AlreadyBridged;

/// Shows warnings and errors of libraries in the log at level debug, with their module as
/// `target`. No effect unless the log has that level. Once in a process.
pub fn bridge_tracing(log: &Log) -> Result<(), AlreadyBridged> {
    if !log.shows(LogLevel::Debug) {
        return Ok(());
    }
    let bridge = Bridge(log.named("libraries"));
    set_global_default(Dispatch::new(bridge)).map_err(|_| AlreadyBridged)
}

struct Bridge(Log);

/// Spans are not shown, so all have the same id.
const SPAN: u64 = 1;

impl Subscriber for Bridge {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_event() && *metadata.level() <= Level::WARN
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(SPAN)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut words = MessageVisitor::default();
        event.record(&mut words);
        let log = self.0.with("target", event.metadata().target());
        log.debug(&(words.message + &words.fields));
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// Collects the message and the fields as `key=value`.
#[derive(Default)]
struct MessageVisitor {
    message: String,
    fields: String,
}

impl Visit for MessageVisitor {
    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            "message" => self.message.push_str(value),
            name => {
                let _ = write!(self.fields, " {name}={value:?}");
            }
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let _ = match field.name() {
            "message" => write!(self.message, "{value:?}"),
            name => write!(self.fields, " {name}={value:?}"),
        };
    }
}
