//! Runs plugins.

use super::arguments::words;
use super::function::{Function, resource_list};
use crate::resource::{Behavior, IdError, ReadError, ResMap, Resource, read_resources};
use crate::schema::SchemaChoice;
use crate::tree::{Argument, Command, LoadError, Loader, PluginFile, World, WorldError};
use bumpwright_yaml::{FileId, Node, WriteError, write_sigs};

/// A plugin that cannot be run, or whose output is invalid.
#[derive(Debug, Clone, thiserror::Error)]
pub enum PluginError {
    /// Plugins are not allowed.
    #[error("external plugins disabled; unable to load external plugin '{0}': build with --enable-alpha-plugins")]
    Disabled(String),
    /// Functions may not be programs.
    #[error("{0}: a function that is a program needs --enable-exec")]
    FunctionsDisabled(String),
    /// Helm is not allowed.
    #[error("must specify --enable-helm")]
    HelmDisabled,
    /// It is not installed.
    #[error("{plugin}: no plugin found at {path}; put the program there, or set KUSTOMIZE_PLUGIN_HOME")]
    Absent {
        plugin: String,
        /// The expected path of the program.
        path: String,
    },
    /// It cannot be installed.
    #[error("{plugin}: no plugin can be run: {why}")]
    Impossible {
        plugin: String,
        /// The reason, with the way out if there is one.
        why: String,
    },
    /// The program is not executable.
    #[error("unexecutable plugin at: {0}; set its executable bit")]
    NotExecutable(String),
    /// It is a Go plugin.
    #[error("{0}: Go plugins are not supported; make it a program or a function")]
    Go(String),
    /// It is a container.
    #[error("{plugin}: functions in containers ({image}) are not supported; make it a program (exec)")]
    Container { plugin: String, image: String },
    /// It is a Starlark script.
    #[error("{0}: Starlark functions are not supported; make it a program (exec)")]
    Starlark(String),
    /// An unknown built-in kind.
    #[error("unable to load builtin {0}")]
    Builtin(String),
    /// A generator is given where a transformer is needed, or the other way round.
    #[error("plugin {plugin} is not a {wanted}")]
    Role { plugin: String, wanted: &'static str },
    /// The annotation with the function is not YAML.
    #[error("{plugin}: the annotation with the function: {error}")]
    Spec {
        plugin: String,
        error: bumpwright_yaml::ReadError,
    },
    /// The line of arguments has an open quote.
    #[error("{0}: argsOneLiner: unclosed quote in string")]
    Arguments(String),
    /// The file of arguments cannot be read.
    #[error("{plugin}: argsFromFile: {error}")]
    ArgumentFile { plugin: String, error: LoadError },
    #[error("{plugin} failed: {error}")]
    Run { plugin: String, error: WorldError },
    /// Its output has no valid resources.
    #[error("output of {plugin}: {error}")]
    Output { plugin: String, error: ReadError },
    /// Its input cannot be written.
    #[error("input of {plugin}: {error}")]
    Input { plugin: String, error: WriteError },
    /// Its output has two resources of one id.
    #[error("plugin {plugin} generated duplicate resource: {error}")]
    Duplicate { plugin: String, error: IdError },
    /// An annotation has a wrong value.
    #[error("{plugin}: the annotation {HASH:?} contains an invalid value ({value:?}); it is true or false")]
    Hash { plugin: String, value: String },
}

const ID: &str = "kustomize.config.k8s.io/id";
const HASH: &str = "kustomize.config.k8s.io/needs-hash";
const BEHAVIOR: &str = "kustomize.config.k8s.io/behavior";
const LOCAL_CONFIG: &str = "config.kubernetes.io/local-config";

/// A plugin and its config.
pub struct Plugin<'a> {
    name: String,
    config: Node,
    program: String,
    arguments: Vec<String>,
    is_function: bool,
    loader: &'a Loader<'a>,
    world: &'a dyn World,
    schema: &'a SchemaChoice,
}

impl<'a> Plugin<'a> {
    /// The plugin of a config. `functions` allows functions that are programs.
    ///
    /// # Errors
    ///
    /// The plugin does not exist, or it cannot be run.
    pub fn load(
        config: &Resource,
        functions: bool,
        loader: &'a Loader<'a>,
        world: &'a dyn World,
        schema: &'a SchemaChoice,
    ) -> Result<Self, PluginError> {
        let name = config.id().to_string();
        let mut plugin = Self {
            name: name.clone(),
            config: config.with_annotations(),
            program: String::new(),
            arguments: Vec::new(),
            is_function: true,
            loader,
            world,
            schema,
        };
        match Function::of(config)? {
            Some(Function::Program { .. }) if !functions => Err(PluginError::FunctionsDisabled(name)),
            Some(Function::Program { path, arguments }) => {
                (plugin.program, plugin.arguments) = (path, arguments);
                Ok(plugin)
            }
            Some(Function::Container(image)) => Err(PluginError::Container { plugin: name, image }),
            Some(Function::Starlark) => Err(PluginError::Starlark(name)),
            None => {
                plugin.is_function = false;
                plugin.program = plugin.installed(config)?;
                plugin.arguments = plugin.given_arguments()?;
                Ok(plugin)
            }
        }
    }

    fn installed(&self, config: &Resource) -> Result<String, PluginError> {
        let gvk = config.original_id().gvk;
        match self.world.plugin(&gvk.group, &gvk.version, &gvk.kind) {
            PluginFile::Program(path) => Ok(path),
            PluginFile::NotExecutable(path) => Err(PluginError::NotExecutable(path)),
            PluginFile::Go(path) => Err(PluginError::Go(path)),
            PluginFile::Absent(path) => Err(PluginError::Absent {
                plugin: self.name.clone(),
                path,
            }),
            PluginFile::Impossible(why) => Err(PluginError::Impossible {
                plugin: self.name.clone(),
                why,
            }),
        }
    }

    /// The arguments in the config: those of a line, then those of the lines of a file.
    fn given_arguments(&self) -> Result<Vec<String>, PluginError> {
        let text = |key: &str| self.config.text_at(&[key]);
        let line = words(text("argsOneLiner"));
        let mut arguments = line.ok_or_else(|| PluginError::Arguments(self.name.clone()))?;
        if !text("argsFromFile").is_empty() {
            let error = |error| PluginError::ArgumentFile {
                plugin: self.name.clone(),
                error,
            };
            let bytes = self.loader.load(text("argsFromFile")).map_err(error)?;
            let lines = String::from_utf8_lossy(&bytes).into_owned();
            let lines = lines.split('\n').map(|line| line.trim_start_matches(' '));
            arguments.extend(lines.filter(|line| !line.is_empty()).map(str::to_owned));
        }
        Ok(arguments)
    }

    fn written(&self, node: &Node) -> Result<String, PluginError> {
        let mut text = String::new();
        let written = write_sigs(node, &mut text);
        written.map(|()| text).map_err(|error| self.unwritten(error))
    }

    fn unwritten(&self, error: WriteError) -> PluginError {
        PluginError::Input {
            plugin: self.name.clone(),
            error,
        }
    }

    /// Runs it on objects and returns its output.
    fn run(&self, items: Vec<Node>) -> Result<Vec<Resource>, PluginError> {
        let texts = self.arguments.iter().map(|text| Argument::Text(text.clone()));
        let config = self.written(&self.config)?;
        let (arguments, environment, input): (Vec<Argument>, Vec<_>, String) = if self.is_function {
            let list = resource_list(&items, &self.config).map_err(|error| self.unwritten(error))?;
            (texts.collect(), Vec::new(), list)
        } else {
            let mut input = String::new();
            for (at, item) in items.iter().enumerate() {
                input.push_str(if at > 0 { "---\n" } else { "" });
                input.push_str(&self.written(item)?);
            }
            let file = Argument::File(config.clone().into_bytes());
            let environment = vec![
                ("KUSTOMIZE_PLUGIN_CONFIG_STRING".to_owned(), config),
                ("KUSTOMIZE_PLUGIN_CONFIG_ROOT".to_owned(), self.loader.root().to_owned()),
            ];
            (std::iter::once(file).chain(texts).collect(), environment, input)
        };
        let command = Command {
            program: &self.program,
            arguments: &arguments,
            environment: &environment,
            tree: self.loader.tree(),
            directory: self.loader.root(),
            input: input.as_bytes(),
        };
        let output = self.world.run(&command).map_err(|error| PluginError::Run {
            plugin: self.name.clone(),
            error,
        })?;
        let resources = read_resources(&output, FileId::NONE, self.schema);
        resources.map_err(|error| PluginError::Output {
            plugin: self.name.clone(),
            error,
        })
    }

    /// Runs it as a generator.
    ///
    /// # Errors
    ///
    /// It fails, or its output is invalid.
    pub fn generate(&self) -> Result<ResMap, PluginError> {
        let items = if self.is_function {
            // A function is never run without input, so it gets its own config.
            let mut config = Resource::new(self.config.clone(), self.schema);
            config.set_annotation(LOCAL_CONFIG, "true");
            vec![config.with_annotations()]
        } else {
            Vec::new()
        };
        let mut resources = ResMap::default();
        for mut resource in self.run(items)? {
            self.take_options(&mut resource)?;
            resources.append(resource).map_err(|error| self.duplicate(error))?;
        }
        Ok(resources)
    }

    fn duplicate(&self, error: IdError) -> PluginError {
        PluginError::Duplicate {
            plugin: self.name.clone(),
            error,
        }
    }

    /// Reads the annotations of a generated object about its name hash and behavior.
    fn take_options(&self, resource: &mut Resource) -> Result<(), PluginError> {
        let behavior = resource.take_annotation(BEHAVIOR);
        let hash = resource.take_annotation(HASH);
        // kustomize sets the others again, too.
        let others = resource.pairs("annotations");
        let others = others.map(|(key, text)| (key.into(), text.into())).collect();
        resource.set_pairs("annotations", others);
        resource.behavior = behavior.and_then(|text| Behavior::parse(&text));
        resource.needs_hash |= match hash.as_deref() {
            None | Some("0" | "f" | "F" | "false" | "FALSE" | "False") => false,
            Some("1" | "t" | "T" | "true" | "TRUE" | "True") => true,
            Some(other) => {
                return Err(PluginError::Hash {
                    plugin: self.name.clone(),
                    value: other.to_owned(),
                });
            }
        };
        if resource.needs_hash {
            resource.reserve_annotations();
        }
        Ok(())
    }

    /// Runs it on a map: objects are matched by their ids, new ones are appended, missing ones removed.
    ///
    /// # Errors
    ///
    /// It fails, or its output has two objects of one id.
    pub fn transform(&self, map: &mut ResMap) -> Result<(), PluginError> {
        let items = map.list().iter().map(|resource| {
            let id = resource.id();
            let mut copy = Resource::new(resource.with_annotations(), self.schema);
            let parts = [
                ("group", &id.gvk.group),
                ("kind", &id.gvk.kind),
                ("name", &id.name),
                ("namespace", &id.namespace),
                ("version", &id.gvk.version),
            ];
            let parts = parts.into_iter().filter(|(_, text)| !text.is_empty());
            let text: String = parts.map(|(key, text)| format!("{key}: {text}\n")).collect();
            copy.set_annotation(ID, &text);
            copy.with_annotations()
        });
        let mut results = ResMap::default();
        for mut resource in self.run(items.collect())? {
            resource.take_annotation(ID);
            results.append(resource).map_err(|error| self.duplicate(error))?;
        }
        let gone: Vec<bool> = map
            .list()
            .iter()
            .map(|old| results.with_id(old.id()).is_empty())
            .collect();
        for resource in results.into_list() {
            match *map.with_id(resource.id()).as_slice() {
                [at, ..] => {
                    map.update(at, |old| {
                        let variables = std::mem::take(&mut old.variables);
                        *old = resource;
                        old.variables = variables;
                    });
                }
                [] => map.append(resource).map_err(|error| self.duplicate(error))?,
            }
        }
        if gone.contains(&true) {
            let mut gone = gone.into_iter();
            map.list_mut().retain(|_| !gone.next().unwrap_or(false));
        }
        Ok(())
    }
}
