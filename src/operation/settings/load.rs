//! From what a user gives to the settings of a node.
//!
//! A file, the environment and the command line are read, the later ones win; placeholders are replaced; every key must
//! be known and every value fit; then each setting takes effect by its entry in the table. Finding the sources is left to
//! the command line. Mirrors `InternalSettingsPreparer` (6.8).

use super::fault::{FAULTS_MAX, Fault, Faults, Remedy};
use super::launch::is_passing;
use super::layer::{At, Given, Layer, Part, layer};
use super::meant::{plausible, remedy, remedy_to};
use super::repair::{Repaired, mended, repaired};
use super::setting::Presumed;
use super::{DefaultValue, Effect, Kind, Launch, NodeSettings, Origin, REGISTRY, Setting, Value};
use super::{combine, environment, known, placeholder, setting, yaml};
use crate::zen::Tuning;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The text of a file.
#[derive(Clone, Copy, Debug)]
pub struct FileText<'a> {
    /// The file, as the user named it.
    pub name: &'a str,
    /// What is in it.
    pub text: &'a str,
}

/// All that settings may come from.
#[derive(Clone, Debug)]
pub struct Sources<'a> {
    /// The configuration file, if there is one.
    pub file: Option<FileText<'a>>,
    /// The environment: for `ZAZEN_…` variables and for placeholders.
    pub environment: &'a BTreeMap<String, String>,
    /// Keys and values from the command line.
    pub arguments: &'a [(String, String)],
    /// The directory of the configuration.
    pub path_conf: PathBuf,
}

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

/// A setting that takes effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Effective {
    /// Its key.
    pub key: String,
    /// Its value.
    pub value: Value,
    /// Where that comes from.
    pub origin: Origin,
}

/// A setting that was given and has no meaning here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unheeded {
    /// Its key.
    pub key: String,
    /// Where it was given.
    pub origin: Origin,
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
    of_file.map(|(key, one)| (key.clone(), canonical(one, is_boolean(key)))).collect()
}

/// What is given besides a file that can be named again.
fn launch(sources: &Sources<'_>, given: &Layer) -> Launch {
    let mut launch = Launch::of(sources);
    if sources.file.is_some_and(|file| is_passing(file.name)) {
        for one in given.values() {
            launch.take_in(one, &canonical(one, is_boolean(&one.key)));
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

/// What was given, ready to be taken over.
pub(super) struct Loader<'a> {
    file: Option<&'a FileText<'a>>,
    given: Layer,
}

impl Loader<'_> {
    /// What was given for a key.
    pub(super) fn given(&self, key: &str) -> Option<&Given> {
        self.given.get(key)
    }

    /// A fault in the value of a key that was given, or in the settings as a whole.
    pub(super) fn fault(&self, key: &str, message: String) -> Fault {
        match self.given(key) {
            Some(given) => given.fault(self.file, Part::Value, message),
            None => Fault::new("settings", message),
        }
    }

    /// Gives a key that stands in the file another value.
    pub(super) fn remedy_to(&self, key: &str, value: &str) -> Option<Remedy> {
        self.given(key).zip(self.file).and_then(|(given, file)| remedy_to(file, given, value))
    }

    /// Every key must be known and have a value of its kind.
    fn check(&self, faults: &mut Vec<Fault>) {
        for given in self.given.values() {
            if faults.len() >= FAULTS_MAX {
                break;
            }
            let (part, result) = match (setting(&given.key), known(&given.key)) {
                (Ok(setting), _) => {
                    (Part::Value, setting.kind.check(&given.key, &canonical(given, setting.kind == Kind::Boolean)))
                }
                (Err(_), Some(known)) => (Part::Value, known.check(&given.key, &canonical(given, known.is_boolean()))),
                (Err(error), None) => (Part::Key, Err(plausible(error, given))),
            };
            if let Err(error) = result {
                let remedy = self.file.and_then(|file| remedy(file, given, &error));
                faults.push(given.fault(self.file, part, error.to_string()).with_remedy(remedy));
            }
        }
    }

    /// The settings of the node, by the table.
    fn build(&self) -> Result<(NodeSettings, Vec<Effective>), Fault> {
        let mut node = NodeSettings::default();
        let mut effective = Vec::new();
        for setting in REGISTRY.iter().filter(|setting| setting.has_effect()) {
            for one in self.values(setting) {
                let taken = take_over(setting, &one, &mut node);
                taken.ok_or_else(|| self.fault(&one.key, setting.not_understood(&one.value.joined()).to_string()))?;
                effective.push(one);
            }
        }
        let is_override = |key: &&str| self.given(key).is_some_and(Given::is_override);
        node.tuning.overrides = Tuning::dynamic_keys().filter(is_override).collect();
        Ok((node, effective))
    }

    /// The value of a setting, if it has one; those of a family that were given.
    fn values(&self, setting: &'static Setting) -> Vec<Effective> {
        let of_given = |given: &Given| Effective {
            key: given.key.clone(),
            value: listed(canonical(given, setting.kind == Kind::Boolean), setting),
            origin: given.origin(self.file),
        };
        if setting.is_family() {
            let of_family = |given: &&Given| super::setting(&given.key).is_ok_and(|found| found.key == setting.key);
            return self.given.values().filter(of_family).map(of_given).collect();
        }
        let follows_others = matches!(setting.default, DefaultValue::First { .. });
        let own = self.given(setting.key).filter(|given| !(follows_others && given.value.is_empty()));
        if let Some(given) = own {
            return vec![of_given(given)];
        }
        let Presumed { value, follows } = setting.presumed(&|key| self.given(key).map(|given| &given.value));
        let origin = follows.map_or(Origin::Default, Origin::Follows);
        value
            .map(|value| Effective { key: setting.key.into(), value: listed(value, setting), origin })
            .into_iter()
            .collect()
    }

    /// All that was given, as it is understood.
    fn canonical(&self) -> BTreeMap<String, Value> {
        self.given.iter().map(|(key, given)| (key.clone(), canonical(given, is_boolean(key)))).collect()
    }

    /// Where what was given was given.
    fn origins(&self) -> BTreeMap<String, String> {
        self.given.iter().map(|(key, given)| (key.clone(), given.origin(self.file).to_string())).collect()
    }

    fn without_meaning(&self) -> Vec<Unheeded> {
        let has_none = |given: &&Given| setting(&given.key).map_or(true, |setting| !setting.has_effect());
        let unheeded = |given: &Given| Unheeded { key: given.key.clone(), origin: given.origin(self.file) };
        self.given.values().filter(has_none).map(unheeded).collect()
    }
}

/// Whether a value is read as `true` or `false`.
fn is_boolean(key: &str) -> bool {
    match setting(key) {
        Ok(setting) => setting.kind == Kind::Boolean,
        Err(_) => known(key).is_some_and(|known| known.is_boolean()),
    }
}

/// Lets a setting take effect.
fn take_over(setting: &Setting, one: &Effective, node: &mut NodeSettings) -> Option<()> {
    let text = || one.value.text();
    match setting.effect {
        Effect::None | Effect::Others => Some(()),
        Effect::Cluster => node.tuning.set_dynamic(setting.key, text()?),
        Effect::Protocol(set) => set(&mut node.tuning, text()?),
        Effect::Node(set) => set(node, text()?),
        Effect::Family(set) => set(node, one.key.strip_prefix(setting.stem())?, text()?),
        Effect::Elements(set) => {
            set(node, one.value.elements());
            Some(())
        }
    }
}

/// The same as a list, where a list is meant.
fn listed(value: Value, setting: &Setting) -> Value {
    if setting.kind.is_list() { Value::List(value.elements()) } else { value }
}

/// What was given, with the words that YAML 1.1 has for `true` and `false`, where one of these is meant.
pub(super) fn canonical(given: &Given, is_boolean: bool) -> Value {
    let word = given.value.text().filter(|_| is_boolean && given.is_plain && matches!(given.at, At::File { .. }));
    match word.map(str::to_ascii_lowercase).as_deref() {
        Some("true" | "yes" | "on") => "true".into(),
        Some("false" | "no" | "off") => "false".into(),
        Some(_) | None => given.value.clone(),
    }
}
