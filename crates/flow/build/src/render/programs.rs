//! Plugins and functions as child processes (kustomize's plugin guide;
//! kustomize v5.8, `plugins/loader`, `plugins/execplugin`).

use std::env;
use std::ffi::OsString;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command as Process, Stdio};
use std::thread;

use tempfile::NamedTempFile;

use bumpwright_kustomize::tree::{Argument, Command, PluginFile, WorldError};

/// The plugin folder: the first that exists of `$KUSTOMIZE_PLUGIN_HOME`, `$XDG_CONFIG_HOME/kustomize/plugin`,
/// `~/.config/kustomize/plugin`, `~/kustomize/plugin`.
fn plugin_home() -> Option<PathBuf> {
    let folder = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let home = folder("HOME");
    let places = [
        folder("KUSTOMIZE_PLUGIN_HOME"),
        folder("XDG_CONFIG_HOME").map(|folder| folder.join("kustomize/plugin")),
        home.as_ref().map(|home| home.join(".config/kustomize/plugin")),
        home.as_ref().map(|home| home.join("kustomize/plugin")),
    ];
    places.into_iter().flatten().find(|folder| folder.is_dir())
}

/// The plugin of a kind: `HOME/group/version/kind/Kind`, with `.so` for one written in Go.
pub(super) fn plugin(group: &str, version: &str, kind: &str) -> PluginFile {
    let Some(home) = plugin_home() else {
        return PluginFile::Impossible(match env::var("KUSTOMIZE_PLUGIN_HOME") {
            Ok(home) if !home.is_empty() => format!("KUSTOMIZE_PLUGIN_HOME names {home}, which is not a folder"),
            _ => "there is no folder of plugins; set KUSTOMIZE_PLUGIN_HOME to it".to_owned(),
        });
    };
    let file = home.join(group).join(version).join(kind.to_lowercase()).join(kind);
    let shown = |file: &Path| file.to_string_lossy().into_owned();
    let go = file.with_file_name(format!("{kind}.so"));
    match std::fs::metadata(&file) {
        Ok(found) if found.permissions().mode() & 0o111 == 0 => PluginFile::NotExecutable(shown(&file)),
        Ok(_) => PluginFile::Program(shown(&file)),
        Err(_) if go.exists() => PluginFile::Go(shown(&go)),
        Err(_) => PluginFile::Absent(shown(&file)),
    }
}

/// Runs a program to its end.
///
/// # Errors
/// It cannot be started, or fails: with its standard error.
pub(super) fn run(command: &Command<'_>) -> Result<Vec<u8>, WorldError> {
    let failed = |error: std::io::Error| {
        let program = command.program;
        WorldError::Program(match error.kind() {
            std::io::ErrorKind::NotFound if !program.contains('/') => {
                format!("there is no program {program} on the PATH; install it")
            }
            _ => format!("{program}: {error}"),
        })
    };
    let directory = command.tree.on_disk(command.directory);
    let directory = directory.map_err(|error| WorldError::Other(error.to_string()))?;
    let program = command.program;
    let mut process = match Path::new(program) {
        // The environment is the kustomization's view, not this process's.
        path if path.is_relative() && program.contains('/') => Process::new(directory.join(path)),
        path => Process::new(path),
    };
    let mut files = Vec::new();
    for argument in command.arguments {
        process.arg(match argument {
            Argument::Text(text) => OsString::from(text),
            Argument::File(bytes) => {
                let mut file = NamedTempFile::with_prefix("kust-plugin-config-").map_err(failed)?;
                file.write_all(bytes).map_err(failed)?;
                let path = file.path().as_os_str().to_owned();
                files.push(file);
                path
            }
        });
    }
    process.envs(command.environment.iter().map(|(name, value)| (name, value)));
    process.current_dir(directory);
    process
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = process.spawn().map_err(failed)?;
    let input = child.stdin.take();
    let output = thread::scope(|scope| {
        // A program need not read all of its input: a closed pipe is not an error.
        scope.spawn(|| input.map(|mut input| input.write_all(command.input)));
        child.wait_with_output()
    });
    let output = output.map_err(failed)?;
    if output.status.success() {
        Ok(output.stdout)
    } else {
        let said = String::from_utf8_lossy(&output.stderr);
        Err(WorldError::Program(format!(
            "{program}: {}: {}",
            output.status,
            said.trim_end()
        )))
    }
}
