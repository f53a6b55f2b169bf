//! The request of a push (gitprotocol-pack, *Pushing Data To a Server*).

use gix::hash::Kind as Hash;
use parking_lot::Mutex;

use super::listing::{AGENT, MAX_NAME};
use super::pktline::{MAX_PACKET, PacketWriter};
use crate::{GitError, ObjectId, Pack};

/// Capabilities of a server's `git-receive-pack`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Receiver {
    pub(crate) hash: Hash,
    pub(crate) push_options: bool,
    pub(crate) side_band: bool,
    report_status: Option<&'static str>,
    delete: bool,
    quiet: bool,
    object_format: bool,
}

impl Receiver {
    pub(crate) fn new(capabilities: &[String], hash: Hash) -> Self {
        let has = |name: &str| capabilities.iter().any(|capability| capability == name);
        Self {
            hash,
            push_options: has("push-options"),
            side_band: has("side-band-64k"),
            report_status: ["report-status-v2", "report-status"].into_iter().find(|name| has(name)),
            delete: has("delete-refs"),
            quiet: has("quiet"),
            object_format: capabilities
                .iter()
                .any(|capability| capability.starts_with("object-format=")),
        }
    }

    fn wanted(&self, options: bool) -> Result<String, GitError> {
        let report = self.report_status.ok_or_else(|| {
            GitError::protocol("the server does not report what becomes of a push: it is too old to be pushed to")
        })?;
        let mut words = format!(" {report}");
        for (wanted, name) in [
            (self.side_band, "side-band-64k"),
            (self.quiet, "quiet"),
            (options, "push-options"),
        ] {
            if wanted {
                words.push_str(&format!(" {name}"));
            }
        }
        if self.object_format {
            words.push_str(&format!(" object-format={}", self.hash));
        }
        Ok(format!("{words} agent={AGENT}"))
    }
}

/// Checks for updates that no server would accept.
pub(crate) fn check(push: &Push) -> Result<(), GitError> {
    for update in &push.updates {
        let name = update.reference.as_str();
        check_reference(name)?;
        if push.updates.iter().filter(|other| other.reference == name).count() > 1 {
            return Err(GitError::Invalid(format!("{name} is to be updated twice in one push")));
        }
        if update.new.is_none() && update.expect.is_none() {
            return Err(GitError::Invalid(format!(
                "{name} is to be deleted, but is expected not to exist"
            )));
        }
    }
    for (key, value) in &push.options {
        if key.contains(['\n', '\0']) || value.contains(['\n', '\0']) || key.len() + value.len() + 8 > MAX_PACKET {
            let shown: String = key.chars().filter(|c| !c.is_control()).take(80).collect();
            return Err(GitError::Invalid(format!(
                "push option \"{shown}\" has a line break or is too long"
            )));
        }
    }
    Ok(())
}

/// Checks whether `name` is a full reference name that Git accepts (git-check-ref-format).
///
/// # Errors
/// [`GitError::Invalid`] when it is not.
pub fn check_reference(name: &str) -> Result<(), GitError> {
    if name.starts_with("refs/") && name.len() <= MAX_NAME && gix::validate::reference::name(name.into()).is_ok() {
        return Ok(());
    }
    Err(GitError::Invalid(if name.starts_with("refs/") {
        format!("\"{name}\" is not a valid reference name (git check-ref-format)")
    } else {
        format!("\"{name}\" is not a full reference name, as refs/heads/main is")
    }))
}

/// The body of the request: commands, options and objects.
pub(crate) fn body(
    receiver: &Receiver,
    push: &Push,
    updates: &[&RefUpdate],
    pack: Option<&Pack>,
) -> Result<Vec<u8>, GitError> {
    let options = receiver.push_options && !push.options.is_empty();
    let mut body = PacketWriter::default();
    let mut capabilities = format!("\0{}", receiver.wanted(options)?);
    for update in updates {
        if update.new.is_none() && !receiver.delete {
            let reference = &update.reference;
            return Err(GitError::Protocol(format!(
                "the server does not let {reference} be deleted"
            )));
        }
        let null = ObjectId::null(receiver.hash);
        let (old, new) = (update.expect.unwrap_or(null), update.new.unwrap_or(null));
        if old.kind() != receiver.hash || new.kind() != receiver.hash {
            return Err(GitError::protocol(format!(
                "the server's objects have {} ids now",
                receiver.hash
            )));
        }
        body.line(&format!("{old} {new} {}{capabilities}", update.reference));
        capabilities.clear();
    }
    body.flush();
    if options {
        for (key, value) in &push.options {
            body.line(&format!("{key}={value}"));
        }
        body.flush();
    }
    let mut body = body.into_bytes();
    if updates.iter().any(|update| update.new.is_some()) {
        match pack {
            Some(pack) => body.extend_from_slice(pack.bytes()),
            None => body.extend_from_slice(Pack::empty(receiver.hash)?.bytes()),
        }
    }
    Ok(body)
}

/// One reference to change, by compare-and-swap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefUpdate {
    /// The full name at the remote.
    pub reference: String,
    /// The value that the remote must still have; `None`: it must not have the reference.
    pub expect: Option<ObjectId>,
    /// The new value; `None` deletes the reference.
    pub new: Option<ObjectId>,
    /// False: refuse, before anything is sent, an update that is not known to be a fast-forward
    /// (see [`Mirror::is_ancestor`]).
    /// True: replace whatever `expect` says, as long as the remote still has it.
    pub force: bool,
}

/// Updates that are sent in one push. They are not atomic: each has a status of its own.
#[derive(Clone, Debug, Default)]
pub struct Push {
    /// The references to change.
    pub updates: Vec<RefUpdate>,
    /// Push options, sent as `key=value` in this order.
    pub options: Vec<(String, String)>,
    /// Leave the options out, instead of failing, when the server does not support them.
    pub allow_dropped_push_options: bool,
}

/// The remembered capabilities of a server's `git-receive-pack`.
pub(crate) type KnownReceiver = Mutex<Option<Receiver>>;
