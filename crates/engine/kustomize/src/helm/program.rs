//! Charts rendered by the helm program: which commands to run.

use super::{HelmChart, HelmError, HelmSettings, Job};
use crate::tree::{Argument, Command, path};
use bumpwright_re2::{Budget, Regexp};
use bumpwright_text::Cuts;
use compact_str::CompactString;

/// The rendered objects, as text.
pub(super) fn render(job: &Job<'_>) -> Result<Vec<u8>, HelmError> {
    let (this, loader) = (job.chart, job.loader);
    job.check_version()?;
    let home = this.home(job.globals, loader);
    let chart = path::join(&home, &this.name);
    if !HelmChart::is_here(&chart, loader) {
        if this.repo.is_empty() {
            return Err(HelmError::NoChart(chart));
        }
        job.run(&texts(&this.pull(&home)))?;
    }
    let own = || Ok(loader.load(&path::join(&chart, "values.yaml"))?);
    let values = this.values(own, loader)?;
    let mut arguments = texts(&this.template(&chart, job.settings));
    arguments.extend(texts(&["-f"]));
    arguments.push(Argument::File(values));
    for file in &this.additional_values_files {
        loader.load(file)?;
        let file = path::join(loader.root(), file);
        arguments.extend(texts(&["-f", &file]));
    }
    job.run(&arguments)
}

impl HelmChart {
    fn pull(&self, home: &str) -> Vec<String> {
        let mut words = vec![
            "pull".to_owned(),
            "--untar".to_owned(),
            "--untardir".to_owned(),
            home.to_owned(),
        ];
        if self.repo.starts_with("oci://") {
            words.push(format!(
                "{}/{}",
                self.repo.strip_suffix('/').unwrap_or(&self.repo),
                self.name
            ));
        } else {
            words.extend(["--repo".to_owned(), self.repo.to_string(), self.name.to_string()]);
        }
        if !self.version.is_empty() {
            words.extend(["--version".to_owned(), self.version.to_string()]);
        }
        if self.devel {
            words.push("--devel".to_owned());
        }
        words
    }

    fn template(&self, chart: &str, settings: &HelmSettings) -> Vec<String> {
        let mut words = vec!["template".to_owned()];
        let release = if self.release_name.is_empty() {
            "--generate-name"
        } else {
            &self.release_name
        };
        words.extend([release.to_owned(), chart.to_owned()]);
        let kube_version = if settings.kube_version.is_empty() {
            &*self.kube_version
        } else {
            &settings.kube_version
        };
        let pairs = [
            ("--namespace", &*self.namespace),
            ("--name-template", &*self.name_template),
            ("--kube-version", kube_version),
        ];
        for (option, value) in pairs.into_iter().filter(|(_, value)| !value.is_empty()) {
            words.extend([option.to_owned(), value.to_owned()]);
        }
        let given = settings.api_versions.iter().map(String::as_str);
        let own = self.api_versions.iter().map(CompactString::as_str);
        let versions: Vec<&str> = if settings.api_versions.is_empty() {
            own.collect()
        } else {
            given.collect()
        };
        for version in versions {
            words.extend(["--api-versions".to_owned(), version.to_owned()]);
        }
        let flags = [
            ("--include-crds", self.include_crds),
            ("--skip-tests", self.skip_tests),
            ("--no-hooks", self.skip_hooks),
            ("--debug", self.debug || settings.debug),
            ("--devel", self.devel),
        ];
        words.extend(flags.into_iter().filter(|(_, on)| *on).map(|(flag, _)| flag.to_owned()));
        words
    }
}

fn texts(words: &[impl AsRef<str>]) -> Vec<Argument> {
    words
        .iter()
        .map(|word| Argument::Text(word.as_ref().to_owned()))
        .collect()
}

impl Job<'_> {
    fn run(&self, arguments: &[Argument]) -> Result<Vec<u8>, HelmError> {
        let program = self.settings.command.as_str();
        let home = &self.globals.config_home;
        let environment = if home.is_empty() {
            // The world provides a folder for helm.
            Vec::new()
        } else {
            vec![
                ("HELM_CONFIG_HOME".to_owned(), home.to_string()),
                ("HELM_CACHE_HOME".to_owned(), format!("{home}/.cache")),
                ("HELM_DATA_HOME".to_owned(), format!("{home}/.data")),
            ]
        };
        let command = Command {
            program,
            arguments,
            environment: &environment,
            tree: self.loader.tree(),
            directory: self.loader.root(),
            input: &[],
        };
        self.world.run(&command).map_err(|error| {
            let words = arguments.iter().map(|argument| match argument {
                Argument::Text(text) => text.as_str(),
                Argument::File(_) => "<values>",
            });
            HelmError::Run {
                command: format!("{program} {}", words.collect::<Vec<_>>().join(" ")),
                error,
            }
        })
    }

    fn check_version(&self) -> Result<(), HelmError> {
        let output = self.run(&texts(&["version", "--short"]))?;
        let found = Regexp::new(r"v?\d+(\.\d+)+").ok().and_then(|pattern| {
            let range = pattern.find(&output, &mut Budget::default()).ok()??;
            String::from_utf8(output.get(range)?.to_vec()).ok()
        });
        let major = found
            .as_ref()
            .map(|version| version.trim_start_matches('v').before('.'));
        match major {
            Some("3" | "4") => Ok(()),
            _ => Err(HelmError::Version(String::from_utf8_lossy(&output).trim().to_owned())),
        }
    }
}
