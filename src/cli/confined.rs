//! What the process keeps to itself from its first moment on, before it has read any key.

use rustix::fs::Mode;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit, umask};

/// More open files than any number of connections that servers and peers are allowed takes.
const FILES: u64 = 1 << 16;

/// Neither a core file nor another process of the same user gets to see what is in memory. A kernel that does not know these
/// limits has none to keep to.
pub(super) fn memory() {
    let nothing = Rlimit {
        current: Some(0),
        maximum: Some(0),
    };
    let _ = setrlimit(Resource::Core, nothing);
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{DumpableBehavior, set_dumpable_behavior};
        let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    }
}

/// Files that the process makes are its own user's, and so many of them may be open as the system allows.
pub(super) fn files() {
    umask(Mode::RWXG | Mode::RWXO);
    let limit = getrlimit(Resource::Nofile);
    let most = limit.maximum.unwrap_or(FILES).min(FILES);
    if limit.current.is_some_and(|current| current < most) {
        let raised = Rlimit {
            current: Some(most),
            ..limit
        };
        let _ = setrlimit(Resource::Nofile, raised);
    }
}
