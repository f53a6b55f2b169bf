//! A world that runs the programs of a case: its files are written to a folder, which is removed at the end.

use bumpwright_kustomize::tree::{Argument, Command, PluginFile, RepoUrl, Sealed, Tree, World, WorldError};
use serde_json::Value;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The folder, created when a case has programs.
pub struct OnDisk {
    folder: Option<PathBuf>,
    root: &'static str,
    plugin_home: Option<String>,
}

static NUMBER: AtomicUsize = AtomicUsize::new(0);

impl OnDisk {
    pub fn new(case: &Value, root: &'static str) -> Self {
        let programs = case["exec_files"].as_array();
        let home = case["options"]["env"]["KUSTOMIZE_PLUGIN_HOME"].as_str();
        let mut world = Self {
            folder: None,
            root,
            plugin_home: home.map(str::to_owned),
        };
        if let Some(programs) = programs {
            let name = format!(
                "kustomize-{}-{}",
                std::process::id(),
                NUMBER.fetch_add(1, Ordering::Relaxed)
            );
            let folder = std::env::temp_dir().join(name);
            for (path, text) in case["files"].as_object().unwrap() {
                let file = folder.join(path);
                std::fs::create_dir_all(file.parent().unwrap()).unwrap();
                std::fs::write(file, text.as_str().unwrap()).unwrap();
            }
            for program in programs {
                let file = folder.join(program.as_str().unwrap());
                std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o755)).unwrap();
            }
            world.folder = Some(folder);
        }
        world
    }

    /// The text with the folder's path as the corpus spells it.
    pub fn with_root(&self, text: &str) -> String {
        match &self.folder {
            Some(folder) => text.replace(folder.to_str().unwrap(), "@ROOT@"),
            None => text.to_owned(),
        }
    }

    /// The path on disk for a path of the tree.
    fn place(&self, path: &str) -> PathBuf {
        let folder = self.folder.as_deref().unwrap_or(Path::new("/nowhere"));
        match path.strip_prefix(self.root) {
            Some("" | "/") => folder.to_owned(),
            Some(inside) => folder.join(inside.trim_start_matches('/')),
            None => PathBuf::from(path),
        }
    }
}

impl Drop for OnDisk {
    fn drop(&mut self) {
        if let Some(folder) = &self.folder {
            let _ = std::fs::remove_dir_all(folder);
        }
    }
}

impl World for OnDisk {
    fn repository(&self, url: &RepoUrl) -> Result<Arc<dyn Tree>, WorldError> {
        Sealed.repository(url)
    }

    fn fetch(&self, url: &str) -> Result<Vec<u8>, WorldError> {
        Sealed.fetch(url)
    }

    fn plugin(&self, group: &str, version: &str, kind: &str) -> PluginFile {
        let (Some(home), Some(folder)) = (&self.plugin_home, &self.folder) else {
            return PluginFile::Impossible("no plugin home".to_owned());
        };
        let home = PathBuf::from(home.replace("@ROOT@", folder.to_str().unwrap()));
        let file = home.join(group).join(version).join(kind.to_lowercase()).join(kind);
        let shown = file.to_str().unwrap().to_owned();
        match std::fs::metadata(&file) {
            Ok(found) if found.permissions().mode() & 0o111 == 0 => PluginFile::NotExecutable(shown),
            Ok(_) => PluginFile::Program(shown),
            Err(_) => PluginFile::Absent(shown),
        }
    }

    fn run(&self, command: &Command<'_>) -> Result<Vec<u8>, WorldError> {
        let mut files = Vec::new();
        let directory = self.place(command.directory);
        let failed = |error: std::io::Error| WorldError::Program(error.to_string());
        let program = if command.program.starts_with('.') {
            directory.join(command.program)
        } else {
            self.place(command.program)
        };
        let mut process = std::process::Command::new(program);
        for argument in command.arguments {
            match argument {
                Argument::Text(text) => process.arg(text),
                Argument::File(bytes) => {
                    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
                    let file = std::env::temp_dir().join(format!("config-{}-{number}", std::process::id()));
                    std::fs::write(&file, bytes).map_err(failed)?;
                    files.push(file.clone());
                    process.arg(file)
                }
            };
        }
        let variables = command.environment.iter();
        process.envs(variables.map(|(name, value)| {
            if name.ends_with("_ROOT") {
                (name, directory.to_str().unwrap().to_owned())
            } else {
                (name, value.clone())
            }
        }));
        if let (Some(home), Some(folder)) = (&self.plugin_home, &self.folder) {
            process.env(
                "KUSTOMIZE_PLUGIN_HOME",
                home.replace("@ROOT@", folder.to_str().unwrap()),
            );
        }
        process.current_dir(directory);
        process
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = process.spawn().map_err(failed)?;
        let mut input = child.stdin.take().unwrap();
        let bytes = command.input.to_vec();
        let writer = std::thread::spawn(move || input.write_all(&bytes));
        let output = child.wait_with_output().map_err(failed)?;
        let _ = writer.join();
        files.iter().for_each(|file| drop(std::fs::remove_file(file)));
        if output.status.success() {
            Ok(output.stdout)
        } else {
            Err(WorldError::Program(
                String::from_utf8_lossy(&output.stderr).into_owned(),
            ))
        }
    }
}
