//! Charts out of files and archives.

use std::collections::BTreeMap;
use std::io::{self, Read as _};
use std::sync::Arc;

use super::bounds::{MAX_CHART_BYTES, MAX_DEPTH};
use super::lock::Lock;
use super::metadata::api_version;
use super::{ArchiveError, Chart, ChartError, File, SizeError};
use crate::values::read_values;
use crate::yaml::{self, YamlError};
use bumpwright_artifact::archive::{EntryKind, Limit, Limits, Links, ReadError, unpack};
use bumpwright_budget::Reservation;

impl Chart {
    /// A chart of the files of a folder, those that are ignored left out.
    pub fn from_files(files: Vec<File>) -> Result<Self, ChartError> {
        let mut room = Room::new(None);
        for file in &files {
            room.take(file.data.len() as u64)?;
        }
        Self::from_counted(files, &mut room)
    }

    /// The same, when its own files have their room.
    pub(super) fn from_counted(mut files: Vec<File>, room: &mut Room<'_>) -> Result<Self, ChartError> {
        for file in &mut files {
            file.data = without_mark(std::mem::take(&mut file.data));
        }
        let Some(file) = files.iter().find(|file| file.name == "Chart.yaml") else {
            return load(files, 0, room);
        };
        let version = yaml::read(&file.data).and_then(|node| api_version(&node));
        let version = version.map_err(|problem| unreadable(file, problem))?;
        if !matches!(&*version, "" | "v1" | "v2") {
            return Err(ChartError::ApiVersion);
        }
        load(files, 0, room)
    }

    /// A chart in an archive.
    ///
    /// # Errors
    /// Helm's, in its words; of an archive that is damaged or unsafe, what is wrong with it.
    pub fn from_archive(archive: &[u8]) -> Result<Self, ChartError> {
        Self::from_archive_on(archive, None)
    }

    /// The same, on the account of a tenant: what is unpacked is in `held` before it is read.
    ///
    /// # Errors
    /// Also when the account has too little left.
    pub fn from_archive_on(archive: &[u8], held: Option<&mut Reservation>) -> Result<Self, ChartError> {
        let room = &mut Room::new(held);
        let files = unpacked(archive, room).map_err(ChartError::Archive)?;
        if files.is_empty() {
            return Err(ChartError::EmptyArchive);
        }
        if !files.iter().any(|file| file.name == "Chart.yaml") {
            return Err(ChartError::NoVersion);
        }
        Self::from_counted(files, room)
    }
}

/// The bytes that a chart may still have, and the account that they are taken from.
pub(super) struct Room<'r> {
    left: u64,
    held: Option<&'r mut Reservation>,
}

impl<'r> Room<'r> {
    pub(super) fn new(held: Option<&'r mut Reservation>) -> Self {
        let left = MAX_CHART_BYTES;
        Self { left, held }
    }

    pub(super) fn left(&self) -> u64 {
        self.left
    }

    pub(super) fn take(&mut self, bytes: u64) -> Result<(), SizeError> {
        self.left = self.left.checked_sub(bytes).ok_or(SizeError::Chart)?;
        if let Some(held) = &mut self.held {
            held.grow(bytes)?;
        }
        Ok(())
    }
}

/// The files of an archive, without the folder that they are in.
fn unpacked(archive: &[u8], room: &mut Room<'_>) -> Result<Vec<File>, ArchiveError> {
    let limits = Limits {
        unpacked: room.left,
        ..Limits::default()
    };
    let mut files: Vec<File> = Vec::new();
    let mut outside = None;
    let read = unpack(archive, limits, Links::Skip, |entry| {
        let path = String::from_utf8_lossy(&entry.path).replace('\\', "/");
        if !matches!(entry.kind, EntryKind::File { .. }) {
            return Ok(());
        }
        let Some((_, name)) = path.split_once('/') else {
            outside.get_or_insert(path);
            return Ok(());
        };
        let EntryKind::File { size, .. } = entry.kind else {
            return Ok(());
        };
        room.take(size).map_err(io::Error::other)?;
        let mut data = Vec::new();
        entry.read_to_end(&mut data)?;
        files.push(File {
            name: name.to_owned(),
            data,
        });
        Ok(())
    });
    read.map_err(|error| match error {
        ReadError::LimitExceeded {
            what: Limit::Unpacked, ..
        } => ArchiveError::Size(SizeError::Chart),
        error => ArchiveError::Unpack(error),
    })?;
    match outside {
        Some(path) if path == "Chart.yaml" => Err(ArchiveError::NoFolder),
        Some(path) => Err(ArchiveError::Outside(path)),
        None => Ok(files),
    }
}

/// The content of a file without a byte order mark.
fn without_mark(data: Vec<u8>) -> Vec<u8> {
    match data.strip_prefix(b"\xEF\xBB\xBF") {
        Some(rest) => rest.to_vec(),
        None => data,
    }
}

/// The files of subcharts by the first component of their paths in `charts/`.
type Subcharts = BTreeMap<String, Vec<File>>;

fn load(files: Vec<File>, depth: usize, room: &mut Room<'_>) -> Result<Chart, ChartError> {
    if depth > MAX_DEPTH {
        return Err(ChartError::Nesting);
    }
    let mut chart = Chart::default();
    let mut has_metadata = false;
    for file in files.iter().filter(|file| file.name == "Chart.yaml") {
        has_metadata = true;
        read_metadata(&mut chart, file)?;
        if chart.metadata.api_version.is_empty() {
            "v1".clone_into(&mut chart.metadata.api_version);
        }
    }
    let mut subcharts = Subcharts::new();
    for file in files {
        has_metadata |= matches!(&*file.name, "requirements.yaml" | "requirements.lock");
        place(&mut chart, file, &mut subcharts)?;
    }
    if !has_metadata {
        return Err(ChartError::NoMetadata);
    }
    chart.metadata.validate()?;
    for (name, files) in subcharts {
        if name.starts_with(['_', '.']) {
            continue;
        }
        let loaded = subchart(&chart, &name, files, depth, room);
        let loaded = loaded.map_err(|problem| ChartError::Subchart {
            name,
            parent: chart.name().to_owned(),
            problem: Box::new(problem),
        })?;
        chart.dependencies.push(loaded);
    }
    Ok(chart)
}

/// Puts a file where it belongs.
fn place(chart: &mut Chart, file: File, subcharts: &mut Subcharts) -> Result<(), ChartError> {
    match &*file.name {
        "Chart.yaml" => {}
        "values.yaml" => {
            chart.values = read_values(&file.data).map_err(ChartError::Values)?;
            chart.values_file = Some(Arc::new(file));
        }
        "values.schema.json" => chart.schema = Some(Arc::new(file)),
        "Chart.lock" => chart.lock = read_lock(&file)?,
        "requirements.yaml" | "requirements.lock" => {
            match &*file.name {
                "requirements.yaml" => read_metadata(chart, &file)?,
                _ => chart.lock = read_lock(&file)?,
            }
            if chart.metadata.api_version == "v1" {
                chart.files.push(Arc::new(file));
            }
        }
        name if name.starts_with("templates/") => chart.templates.push(Arc::new(file)),
        name => match name.strip_prefix("charts/") {
            Some(inner) if !name.ends_with(".prov") => {
                let first = inner.split('/').next().unwrap_or(inner).to_owned();
                let name = inner.to_owned();
                let data = file.data;
                subcharts.entry(first).or_default().push(File { name, data });
            }
            _ => chart.files.push(Arc::new(file)),
        },
    }
    Ok(())
}

fn unreadable(file: &File, problem: YamlError) -> ChartError {
    let name = file.name.clone();
    ChartError::File { name, problem }
}

fn read_metadata(chart: &mut Chart, file: &File) -> Result<(), ChartError> {
    let read = yaml::read(&file.data).and_then(|node| chart.metadata.read(&node));
    read.map_err(|problem| unreadable(file, problem))
}

fn read_lock(file: &File) -> Result<Option<Arc<Lock>>, ChartError> {
    let read = yaml::read(&file.data).and_then(|node| Lock::read(&node));
    Ok(read.map_err(|problem| unreadable(file, problem))?.map(Arc::new))
}

fn subchart(
    parent: &Chart,
    name: &str,
    files: Vec<File>,
    depth: usize,
    room: &mut Room<'_>,
) -> Result<Chart, ChartError> {
    if name.ends_with(".tgz") {
        let Some(file) = files.into_iter().next() else {
            return Err(ChartError::NoFiles);
        };
        if file.name != name {
            return Err(ChartError::SubchartPath {
                parent: parent.name().to_owned(),
                expected: name.to_owned(),
                found: file.name,
            });
        }
        let mut files = unpacked(&file.data, room)?;
        for file in &mut files {
            file.data = without_mark(std::mem::take(&mut file.data));
        }
        return if files.is_empty() {
            Err(ChartError::NoFiles)
        } else {
            load(files, depth + 1, room)
        };
    }
    let inner = files.into_iter().filter_map(|file| {
        let (_, name) = file.name.split_once('/')?;
        let name = name.to_owned();
        Some(File { name, data: file.data })
    });
    load(inner.collect(), depth + 1, room)
}
