//! From what a user gives to the settings of a node.
//!
//! A file, the environment and the command line are read, the later ones win; placeholders are replaced; every key must
//! be known and every value fit; then each setting takes effect by its entry in the table. Finding the sources is left to
//! the command line. Mirrors `InternalSettingsPreparer` (6.8).

use super::fault::{FAULTS_MAX, Fault, Faults, Remedy};
use super::launch::is_passing;
use super::layer::{At, Given, Layer, Part, layer};
use super::loader::{Effective, Loader, Unheeded, is_boolean};
use super::repair::{Repaired, mended, repaired};
use super::{FileText, Launch, NodeSettings, Sources, Value, combine, environment, placeholder, setting, yaml};
use std::collections::BTreeMap;

/// The settings of a node, and how they came to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loaded {
    /// What the node runs by.
    pub settings: NodeSettings,
    /// Every setting that takes effect here and has a value, in the order of the pages about them.
    pub effective: Vec<Effective>,
    /// What was given and has no meaning here.
    pub without_meaning: Vec<Unheeded>,
    /// What else the user should know, each a sentence.
    pub warnings: Vec<String>,
}

/// Loads the settings of a node, or says what is wrong with them.
pub fn load(sources: &Sources<'_>) -> Result<Loaded, Faults> {
    let mut faults = Vec::new();
    let (given, strange_variables) = merged(sources, &mut faults);
    let written = given.clone();
    let loader = Loader { file: sources.file.as_ref(), given: resolved(given, sources, &mut faults) };
    loader.check(&mut faults);
    if !faults.is_empty() {
        return Err(faults.into());
    }
    let (mut settings, effective) = loader.build().map_err(|fault| Faults::from(vec![fault]))?;
    settings.path_conf.clone_from(&sources.path_conf);
    settings.file = sources.file.filter(|file| !is_passing(file.name)).map(|file| file.name.into());
    settings.given = loader.canonical();
    settings.origins = loader.origins();
    settings.in_file = in_file(&written);
    settings.launch = launch(sources, &written);
    let mut warnings = combine::combine(&mut settings, &loader).map_err(Faults::from)?;
    let strange = |name| format!("the environment variable [{name}] names no setting, see docs/configuration.md");
    warnings.extend(strange_variables.into_iter().map(strange));
    let without_meaning = loader.without_meaning();
    Ok(Loaded { settings, effective, without_meaning, warnings })
}

/// What to do about what is wrong with some settings, if that is known of all of it. A file that cannot be read to its end
/// becomes one that can, then whatever is wrong with that is seen.
pub fn remedies(sources: &Sources<'_>, faults: &Faults) -> Option<Vec<Remedy>> {
    let Some(file) = sources.file.filter(|file| !yaml::read(file).is_whole) else { return faults.remedies() };
    let Repaired { text, remedies } = repaired(file.text)?;
    let again = Sources { file: Some(FileText { text: &text, ..file }), ..sources.clone() };
    let rest = load(&again).err().and_then(|rest| rest.remedies()).unwrap_or_default();
    Some(remedies.into_iter().chain(rest).collect())
}

/// What is given besides a file.
#[derive(Debug)]
pub struct Besides {
    /// Keys and values from the command line.
    pub arguments: Vec<(String, String)>,
    /// The variables of the environment.
    pub environment: BTreeMap<String, String>,
}

/// The arguments and variables with what was meant in the place of what makes no sense; nothing where that is not clear, or
/// where something else is wrong.
pub fn meant_besides(sources: &Sources<'_>) -> Option<Besides> {
    let mut arguments = Vec::new();
    for (key, value) in sources.arguments {
        arguments.extend(pair_meant(key, value, sources)?);
    }
    let mut variables = sources.environment.clone();
    for (name, value) in sources.environment {
        if let Some(key) = environment::key(name).filter(|_| !value.is_empty()) {
            // A variable that means nothing cannot be left out of a line.
            variables.insert(name.clone(), pair_meant(&key, value, sources)??.1);
        }
    }
    let again = Sources { arguments: &arguments, environment: &variables, ..sources.clone() };
    load(&again).ok()?;
    Some(Besides { arguments, environment: variables })
}

/// A key and a value as they were meant, or nothing in their place; found out as if they were the line of a file.
fn pair_meant(key: &str, value: &str, sources: &Sources<'_>) -> Option<Option<(String, String)>> {
    let (text, none) = (format!("{key}: {value}\n"), BTreeMap::new());
    let file = Some(FileText { name: "", text: &text });
    let Err(faults) = load(&Sources { file, arguments: &[], environment: &none, ..sources.clone() }) else {
        return Some(Some((key.to_owned(), value.to_owned())));
    };
    let line = mended(&text, &faults.remedies()?);
    let pair = line.trim_end().split_once(": ").filter(|_| !line.starts_with('#'));
    Some(pair.map(|(key, value)| (key.to_owned(), value.to_owned())))
}

/// What a file gives that nothing goes over.
fn in_file(given: &Layer) -> BTreeMap<String, Value> {
    let of_file = given.iter().filter(|(_, one)| matches!(one.at, At::File { .. }));
    of_file.map(|(key, one)| (key.clone(), one.canonical(is_boolean(key)))).collect()
}

/// What is given besides a file that can be named again.
fn launch(sources: &Sources<'_>, given: &Layer) -> Launch {
    let mut launch = Launch::of(sources);
    if sources.file.is_some_and(|file| is_passing(file.name)) {
        for one in given.values() {
            launch.take_in(one, &one.canonical(is_boolean(&one.key)));
        }
    }
    launch
}

/// What the sources give, the strongest last; and variables that name no setting.
fn merged(sources: &Sources<'_>, faults: &mut Vec<Fault>) -> (Layer, Vec<String>) {
    let file = sources.file.as_ref();
    let mut all = Layer::new();
    if let Some(file) = file {
        let mut read = yaml::read(file);
        faults.append(&mut read.faults);
        all = layer(read.given, Some(file), faults);
    }
    let (in_environment, strange) = environment::given(sources.environment);
    all.append(&mut layer(in_environment, None, faults));
    let argument = |(key, value): &(String, String)| Given {
        key: key.clone(),
        value: Value::Text(value.clone()),
        is_plain: true,
        at: At::CommandLine,
    };
    let arguments: Vec<Given> = sources.arguments.iter().map(argument).collect();
    for given in arguments.iter().filter(|given| given.value.is_empty()) {
        faults.push(given.fault(None, Part::Value, format!("setting [{}] must not be empty", given.key)));
    }
    all.append(&mut layer(arguments, None, faults));
    (all, strange)
}

/// The same with placeholders replaced, and without what is empty then, which stands for not given. An empty list is
/// not: it says that there are none.
fn resolved(given: Layer, sources: &Sources<'_>, faults: &mut Vec<Fault>) -> Layer {
    let find = |name: &str| -> Option<String> {
        let in_environment = sources.environment.get(name).cloned();
        let in_settings = || given.get(name).map(|given| given.value.joined());
        let default = || setting(name).ok().and_then(|setting| setting.effective::<&str>(&[]));
        in_environment.or_else(in_settings).or_else(default)
    };
    let mut all = Layer::new();
    for (key, one) in &given {
        let value = match &one.value {
            Value::Text(text) => placeholder::resolve(text, &find).map(Value::Text),
            Value::List(elements) => elements
                .iter()
                .map(|element| placeholder::resolve(element, &find))
                .collect::<Result<_, _>>()
                .map(Value::List),
        };
        match value {
            Ok(value) if value.text() == Some("") => {}
            Ok(value) => drop(all.insert(key.clone(), Given { value, ..one.clone() })),
            Err(_) if faults.len() >= FAULTS_MAX => {}
            Err(error) => {
                let message = format!("{error}, in [{}] for setting [{key}]", one.value.joined());
                faults.push(one.fault(sources.file.as_ref(), Part::Value, message));
            }
        }
    }
    all
}
