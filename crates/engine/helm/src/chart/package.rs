//! A chart as `helm package` writes it: `Chart.yaml` first, then the lock, values, schema, templates, files and charts.

use super::lock::Lock;
use super::metadata::Metadata;
use super::{Chart, File};
use crate::index::{JsonWriter as Writer, write_dependencies, write_metadata};
use crate::values::Values;
use crate::yaml::{UnwrittenYaml, written, written_of_json};
use bumpwright_artifact::{Marks, Packer};
use bumpwright_gostd::quote;
use serde_json::Value as Json;
use std::io::{self, Write};
use std::sync::Arc;

/// What Helm writes into the header of its archives.
const MARKS: Marks = Marks {
    comment: "Helm",
    extra: b"+aHR0cHM6Ly95b3V0dS5iZS96OVV6MWljandyTQo=",
};

/// Why a chart is not packaged.
#[derive(Debug, thiserror::Error)]
pub enum PackageError {
    /// Its name is a path, or empty.
    #[error("{} is not a valid chart name", quote(.0))]
    Name(String),
    /// Its schema is not JSON.
    #[error("invalid JSON in values.schema.json")]
    Schema,
    /// Its metadata or lock have no form in YAML.
    #[error(transparent)]
    Yaml(#[from] UnwrittenYaml),
    #[error(transparent)]
    Output(#[from] io::Error),
}

/// Why the values of a chart are not replaced.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReplaceError {
    /// The chart has none.
    #[error("failed to locate values file: values.yaml")]
    NoFile,
    /// They have no form in YAML.
    #[error(transparent)]
    Yaml(#[from] UnwrittenYaml),
}

impl Chart {
    /// Writes an archive, the same one for equal charts. Returns the flushed output.
    pub fn package<W: Write>(&self, out: W) -> Result<W, PackageError> {
        let mut packer = Packer::new(out, MARKS);
        self.pack("", &mut packer)?;
        Ok(packer.finish()?)
    }

    fn pack<W: Write>(&self, prefix: &str, packer: &mut Packer<W>) -> Result<(), PackageError> {
        let name = self.name();
        if name.contains('/') || name.is_empty() {
            return Err(PackageError::Name(name.to_owned()));
        }
        let base = format!("{prefix}{name}");
        let mut put = |file: &str, data: &[u8]| packer.file(format!("{base}/{file}").as_bytes(), data);
        let mut metadata = self.metadata.clone();
        if metadata.api_version == "v1" {
            // They are in requirements.yaml.
            metadata.dependencies = None;
        }
        put("Chart.yaml", of_metadata(&metadata)?.as_bytes())?;
        if let Some(lock) = self.lock.as_ref().filter(|_| self.metadata.api_version == "v2") {
            put("Chart.lock", of_lock(lock)?.as_bytes())?;
        }
        if let Some(file) = &self.values_file {
            put("values.yaml", &file.data)?;
        }
        if let Some(file) = &self.schema {
            if serde_json::from_slice::<serde::de::IgnoredAny>(&file.data).is_err() {
                return Err(PackageError::Schema);
            }
            put("values.schema.json", &file.data)?;
        }
        for file in self.templates.iter().chain(&self.files) {
            put(&file.name, &file.data)?;
        }
        let below = format!("{base}/charts/");
        self.dependencies
            .iter()
            .try_for_each(|chart| chart.pack(&below, packer))
    }

    /// Replaces `values.yaml`. Returns whether that made it another one.
    pub fn replace_values(&mut self, values: Values) -> Result<bool, ReplaceError> {
        let Some(before) = &self.values_file else {
            return Err(ReplaceError::NoFile);
        };
        let data = if values.is_empty() {
            Vec::new()
        } else {
            written(&Json::Object(values.clone()))?.into_bytes()
        };
        if before.data == data {
            return Ok(false);
        }
        let name = before.name.clone();
        self.values_file = Some(Arc::new(File { name, data }));
        self.values = values;
        Ok(true)
    }

    /// Bytes of all files of it and of its subcharts.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let files = self.templates.iter().chain(&self.files).chain(&self.schema);
        let own: usize = files.chain(&self.values_file).map(|file| file.data.len()).sum();
        own as u64 + self.dependencies.iter().map(Self::bytes).sum::<u64>()
    }
}

/// `Chart.yaml`
fn of_metadata(metadata: &Metadata) -> Result<String, PackageError> {
    let mut json = Vec::new();
    let mut writer = Writer::new(&mut json);
    writer.open("{")?;
    write_metadata(metadata, &mut writer)?;
    writer.close("}")?;
    Ok(written_of_json(&json)?)
}

/// `Chart.lock`
fn of_lock(lock: &Lock) -> Result<String, PackageError> {
    let mut json = Vec::new();
    let mut writer = Writer::new(&mut json);
    writer.open("{")?;
    writer.key("generated")?;
    writer.text(&lock.generated)?;
    writer.key("digest")?;
    writer.text(&lock.digest)?;
    writer.key("dependencies")?;
    match &lock.dependencies {
        Some(all) => write_dependencies(all, &mut writer)?,
        None => writer.raw("null")?,
    }
    writer.close("}")?;
    Ok(written_of_json(&json)?)
}

#[cfg(test)]
mod tests {
    use super::super::{Chart, File};

    fn file(name: &str, text: &str) -> File {
        File {
            name: name.to_owned(),
            data: text.as_bytes().to_vec(),
        }
    }

    fn chart() -> Chart {
        let files = vec![
            file("templates/a.yaml", "a: 1\n"),
            file(
                "Chart.yaml",
                "# A note\napiVersion: v2\nname: web\nversion: 1.0.0\nappVersion: 1.10\ndependencies:\n- {name: sub, version: 1.x, \
                 repository: 'file://../sub'}\n",
            ),
            file("values.yaml", "# kept\nreplicas: 1\n"),
            file("README.md", "read\n"),
            file(
                "Chart.lock",
                "digest: sha256:00\ngenerated: 2026-01-01T00:00:00.500+01:00\ndependencies:\n- {name: sub, version: 1.2.0, \
                 repository: 'file://../sub'}\n",
            ),
            file("charts/sub/Chart.yaml", "apiVersion: v1\nname: sub\nversion: 1.2.0\n"),
            file("charts/sub/values.yaml", "x: 1\n"),
        ];
        Chart::from_files(files).unwrap()
    }

    fn unpacked(archive: &[u8]) -> Vec<(String, String)> {
        let mut found = Vec::new();
        let limits = bumpwright_artifact::Limits::default();
        let links = bumpwright_artifact::Links::Skip;
        bumpwright_artifact::archive::unpack(archive, limits, links, |entry| {
            let mut text = String::new();
            let name = String::from_utf8(entry.path.clone()).unwrap();
            std::io::Read::read_to_string(entry, &mut text)?;
            found.push((name, text));
            Ok(())
        })
        .unwrap();
        found
    }

    #[test]
    fn a_package_has_the_files_as_helm_writes_them() {
        let archive = chart().package(Vec::new()).unwrap();
        let found = unpacked(&archive);
        let names: Vec<&str> = found.iter().map(|(name, _)| &**name).collect();
        assert_eq!(
            names,
            [
                "web/Chart.yaml",
                "web/Chart.lock",
                "web/values.yaml",
                "web/templates/a.yaml",
                "web/README.md",
                "web/charts/sub/Chart.yaml",
                "web/charts/sub/values.yaml",
            ]
        );
        let text = |at: usize| found[at].1.as_str();
        assert_eq!(
            text(0),
            "apiVersion: v2\nappVersion: \"1.1\"\ndependencies:\n- name: sub\n  repository: file://../sub\n  version: 1.x\nname: web\n\
             version: 1.0.0\n"
        );
        assert_eq!(
            text(1),
            "dependencies:\n- name: sub\n  repository: file://../sub\n  version: 1.2.0\ndigest: sha256:00\ngenerated: \
             \"2026-01-01T00:00:00.5+01:00\"\n"
        );
        assert_eq!(text(2), "# kept\nreplicas: 1\n");
        assert_eq!(archive, chart().package(Vec::new()).unwrap());
        let again = Chart::from_archive(&archive).unwrap();
        assert_eq!(again.package(Vec::new()).unwrap(), archive);
    }

    #[test]
    fn values_replace_those_of_the_chart() {
        let mut one = chart();
        let values = crate::read_values(b"replicas: 1000000\nratio: 0.5\nlist: [a]\n").unwrap();
        assert!(one.replace_values(values.clone()).unwrap());
        let text = String::from_utf8(one.values_file.clone().unwrap().data.clone()).unwrap();
        assert_eq!(text, "list:\n- a\nratio: 0.5\nreplicas: 1000000\n");
        assert!(!one.replace_values(values).unwrap());
        one.values_file = None;
        assert!(one.replace_values(Default::default()).is_err());
    }
}
