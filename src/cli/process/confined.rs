//! Limits that the process sets on itself before it reads any key.

use rustix::fs::Mode;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit, umask};

/// Enough open files for all connections that servers and peers allow.
const FILES: u64 = 1 << 16;

/// Disables core dumps and reading by other processes of the same user. Kernels without these limits are
/// left as they are.
pub(crate) fn memory() {
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

/// For a process that stays: gives up huge pages of memory. They are what makes a command of a moment quicker, and
/// twice what a process has at rest. Kernels without them are left as they are.
pub(crate) fn small_pages() {
    #[cfg(target_os = "linux")]
    let _ = rustix::thread::disable_transparent_huge_pages(true);
}

/// Creates files for the own user only, and raises the limit on open files as far as allowed.
pub(crate) fn files() {
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
