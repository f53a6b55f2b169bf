//! Runs the marked blocks of a page in a folder of its own, with a home, a git identity and a registry
//! that belong to it.

use std::path::{Path, PathBuf};
use std::process::Command;

use bumpwright_testkit::registry::Registry;

use super::commands::typed;
use super::page::{Block, Page};

const REGISTRY: &str = "registry.example.com";
const GIT: &str = "https://git.example.com/";

pub fn is_run(block: &Block) -> bool {
    block.note("run").is_some()
}

/// What went wrong; nothing if the page needs a tool that is missing.
pub fn faults(page: &Page) -> Vec<String> {
    let needs: Vec<&str> = page.blocks.iter().flat_map(|block| block.all("needs")).collect();
    let mut tools = needs.iter().flat_map(|names| names.split(' '));
    if tools.any(|name| bumpwright_testkit::tool(name).is_none()) {
        return Vec::new();
    }
    let Some(bench) = Bench::of(page) else {
        return Vec::new();
    };
    page.blocks.iter().flat_map(|block| bench.block(page, block)).collect()
}

struct Bench {
    home: tempfile::TempDir,
    registry: Option<Registry>,
}

impl Bench {
    /// None without the registry that the page needs.
    fn of(page: &Page) -> Option<Self> {
        let tags: Vec<&str> = page.blocks.iter().flat_map(|block| block.all("tags")).collect();
        let registry = if tags.is_empty() {
            None
        } else {
            Some(Registry::start()?)
        };
        for line in tags {
            let mut words = line.split(' ');
            let repository = words.next().unwrap();
            let tags: Vec<&str> = words.collect();
            registry
                .iter()
                .for_each(|registry| drop(registry.images().tags(repository, &tags)));
        }
        let home = tempfile::tempdir().unwrap();
        let bench = Self { home, registry };
        for folder in ["work", "bin", ".gnupg"] {
            std::fs::create_dir(bench.path(folder)).unwrap();
        }
        let config = "[user]\nname = Example\nemail = you@example.com\n[init]\ndefaultBranch = main\n";
        std::fs::write(bench.path(".gitconfig"), config).unwrap();
        let program = bench.path("bin/bumpwright");
        std::os::unix::fs::symlink(bumpwright_testkit::program(), program).unwrap();
        let private = std::os::unix::fs::PermissionsExt::from_mode(0o700);
        std::fs::set_permissions(bench.path(".gnupg"), private).unwrap();
        Some(bench)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    fn block(&self, page: &Page, block: &Block) -> Vec<String> {
        let place = |line: usize, fault: String| format!("{}:{line}: {fault}", page.path);
        for command in block.all("prepare") {
            let (code, printed) = self.shell(command);
            if code != 0 {
                return vec![place(block.line, format!("{command}: exit code {code}:\n{printed}"))];
            }
        }
        if let Some(name) = block.note("file") {
            let path = self.path("work").join(name);
            std::fs::create_dir_all(path.parent().unwrap_or(Path::new("/"))).unwrap();
            std::fs::write(path, self.outward(&block.text)).unwrap();
        }
        if !is_run(block) {
            return Vec::new();
        }
        if block.language == "sh" {
            let (code, printed) = self.shell(&format!("set -e\n{}", block.text));
            return match code {
                0 => Vec::new(),
                _ => vec![place(block.line, format!("exit code {code}:\n{printed}"))],
            };
        }
        let mut faults = Vec::new();
        for (command, shown) in typed(&block.text) {
            let (_, printed) = self.shell(&command);
            if !fits(&even(&shown), &even(&printed)) {
                let fault = format!("{} printed:\n{printed}", command.trim_end());
                faults.push(place(block.line + 1, fault));
            }
        }
        faults
    }

    /// Exit code and output, errors among it.
    fn shell(&self, script: &str) -> (i32, String) {
        let path = std::env::var("PATH").unwrap();
        let tools = bumpwright_testkit::tool("registry").and_then(|tool| Some(tool.parent()?.to_owned()));
        let tools = tools.unwrap_or_else(|| self.path("bin"));
        let output = Command::new("sh")
            .arg("-c")
            .arg(format!("exec 2>&1\n{}", self.outward(script)))
            .current_dir(self.path("work"))
            .env_clear()
            .env(
                "PATH",
                format!("{}:{path}:{}", self.path("bin").display(), tools.display()),
            )
            .env("HOME", self.home.path())
            .env("REPOSITORY", env!("CARGO_MANIFEST_DIR"))
            .envs([("GIT_CONFIG_NOSYSTEM", "1"), ("LC_ALL", "C.UTF-8"), ("NO_COLOR", "1")])
            // The servers of the pages are folders.
            .env("BUMPWRIGHT_GIT_SERVER", "file://")
            .output()
            .unwrap();
        let printed = String::from_utf8(output.stdout).unwrap();
        (output.status.code().unwrap_or(-1), self.inward(&printed))
    }

    /// The names of the documents' servers become those of the test's.
    fn outward(&self, text: &str) -> String {
        let host = self.registry.as_ref().map_or(REGISTRY.to_owned(), Registry::host);
        text.replace(REGISTRY, &host).replace(GIT, &self.git())
    }

    fn inward(&self, text: &str) -> String {
        let host = self.registry.as_ref().map_or(REGISTRY.to_owned(), Registry::host);
        text.replace(&host, REGISTRY)
            .replace(&self.git(), GIT)
            .replace(&self.path("work").display().to_string(), "/work")
    }

    /// Repositories are folders beside the work.
    fn git(&self) -> String {
        format!("file://{}/", self.path("git").display())
    }
}

/// Tables are as wide as the names of servers in them, which differ.
fn even(text: &str) -> String {
    let line = |line: &str| {
        let columns = line.split("  ").map(str::trim).filter(|column| !column.is_empty());
        columns.collect::<Vec<_>>().join("  ")
    };
    text.trim().lines().map(line).collect::<Vec<_>>().join("\n")
}

/// Whether a text fits one in which `…` is any text.
fn fits(shown: &str, printed: &str) -> bool {
    let mut parts = shown.split('…');
    let Some(mut rest) = printed.strip_prefix(parts.next().unwrap_or_default()) else {
        return false;
    };
    let parts: Vec<&str> = parts.collect();
    let Some((last, between)) = parts.split_last() else {
        return rest.is_empty();
    };
    for part in between {
        match rest.split_once(part) {
            Some((_, after)) => rest = after,
            None => return false,
        }
    }
    rest.ends_with(last)
}
