//! The set-up of the black-box harness: programs under their names, and the start of ours.

use std::path::{Path, PathBuf};
use std::process::Command;

use parking_lot::{Mutex, MutexGuard};
use tempfile::TempDir;

/// A folder to work in, with links to the programs.
pub struct Stage {
    /// The folder of the harness.
    pub harness: PathBuf,
    /// Everything that a run writes.
    pub work: TempDir,
    /// Links to the programs.
    pub bin: PathBuf,
    /// A harness plays several scenarios at a time, each with a cluster, and times count in them: two
    /// would be too much.
    _turn: MutexGuard<'static, ()>,
}

static TURN: Mutex<()> = Mutex::new(());

impl Stage {
    /// Gets everything together; None when the corpora are not there or a program is missing, which is said.
    pub fn set(runner: &str) -> Option<Self> {
        let harness = bumpwright_testkit::corpora::corpora().join("harness");
        if !harness.join(runner).exists() {
            println!("harness: absent");
            return None;
        }
        let programs = ["etcd", "kube-apiserver", "flux", "registry"].map(bumpwright_testkit::tool);
        let here =
            bumpwright_testkit::has("python3", "python3") && bumpwright_testkit::has("kubectl", "kubernetes-client");
        if !here || programs.iter().any(Option::is_none) || !has_yaml() {
            return None;
        }
        let work = tempfile::tempdir().unwrap();
        let bin = work.path().join("bin");
        std::fs::create_dir(&bin).unwrap();
        let mut links: Vec<(&str, &Path)> = vec![("bumpwright", Path::new(env!("CARGO_BIN_EXE_bumpwright")))];
        let found = programs.iter().flatten();
        links.extend(found.map(|program| (program.file_name().unwrap().to_str().unwrap(), program.as_path())));
        for (name, program) in links {
            std::os::unix::fs::symlink(program, bin.join(name)).unwrap();
        }
        let stage = Self {
            harness,
            work,
            bin,
            _turn: TURN.lock(),
        };
        let profile = std::fs::read_to_string(stage.tests().join("harness/profile.yaml")).unwrap();
        let profile = profile.replace("CRDS", stage.crds().to_str().unwrap());
        std::fs::write(stage.profile(), profile).unwrap();
        Some(stage)
    }

    /// The folder of the tests.
    pub fn tests(&self) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests")
    }

    /// The folder of the definitions.
    pub fn crds(&self) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("crds")
    }

    /// How ours is started.
    pub fn profile(&self) -> PathBuf {
        self.work.path().join("profile.yaml")
    }
}

/// Whether the harness can run.
fn has_yaml() -> bool {
    let yaml = Command::new("python3").args(["-c", "import yaml"]).status();
    if yaml.is_ok_and(|status| status.success()) {
        return true;
    }
    assert!(
        std::env::var_os("CI").is_none(),
        "PyYAML is missing; install python3-yaml"
    );
    println!("skipped: PyYAML is missing; install python3-yaml");
    false
}
