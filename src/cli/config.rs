//! Where settings come from: a file or a directory, the environment, and arguments.
//!
//! Finds and reads them; what they mean is decided in `settings`, and what to type about faults in `start_failure`.

use super::{CommandError, completions};
use crate::diagnose::{Code, quoted};
use crate::runtime::inquiry::{self, launch_of};
use crate::runtime::log::NODE;
use crate::runtime::program;
use crate::runtime::start_failure::{self, NAMES, file_in};
use crate::settings::{self, FileText, Launch, Loaded, Sources, is_passing};
use clap::Args;
use clap_complete::ArgValueCompleter;
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::{env, str};

/// Longer files are not read.
const BYTES_MAX: u64 = 1 << 20;

/// How many files beside a configuration are looked at.
const FILES_MAX: usize = 64;
/// Where it is looked for if nothing is said.
const DIRECTORY: &str = "config";
/// Names another directory, or a file.
const DIRECTORY_VARIABLES: [&str; 2] = ["ZAZEN_PATH_CONF", "ES_PATH_CONF"];
/// Elasticsearch's own script exports it, and few shells do.
const HOST_VARIABLE: &str = "HOSTNAME";

/// Where the settings of a node come from.
#[derive(Clone, Debug, Default, Args)]
pub(super) struct ConfigArgs {
    /// The configuration: a file, or a directory with a zazen.yml or an elasticsearch.yml.
    ///
    /// Without it, ZAZEN_PATH_CONF names one of these, or ES_PATH_CONF; without those, `config` is looked into, and no file
    /// is needed.
    #[arg(short, long, value_name = "FILE", help_heading = "Settings")]
    pub(super) config: Option<PathBuf>,

    /// A setting, as in -E node.name=n0; it wins over ZAZEN_… variables, and these over the file.
    ///
    /// Can be given several times. What PUT /_cluster/settings could change of the protocol, as
    /// discovery.zen.commit_timeout, is this node's own then: it wins over what the cluster is told.
    /// All settings are listed in docs/settings.md.
    #[arg(short = 'E', value_name = "KEY=VALUE", value_parser = key_and_value, help_heading = "Settings",
          add = ArgValueCompleter::new(completions::setting_value))]
    pub(super) settings: Vec<(String, String)>,
}

/// Reads `key=value`.
pub(super) fn key_and_value(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("there is no `=`; allowed: KEY=VALUE")?;
    Ok((key.trim().into(), value.into()))
}

/// What settings are read for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Purpose {
    Look,
    Start,
    Again,
}

/// Loads the settings that the arguments, this process's environment and a file give.
pub(super) fn load(args: &ConfigArgs) -> Result<Loaded, CommandError> {
    load_for(args, Purpose::Look)
}

/// The same for a node that is to start: what is said of faults starts it once they are mended.
pub(super) fn load_to_start(args: &ConfigArgs) -> Result<Loaded, CommandError> {
    load_for(args, Purpose::Start)
}

/// The same for a node that runs, which waits for no writer: only a file in the strict sense is read. A pipe that it was
/// started by has been read, and a number of a descriptor may stand for something else now.
pub(super) fn load_again(args: &ConfigArgs) -> Result<Loaded, CommandError> {
    load_for(args, Purpose::Again)
}

fn load_for(args: &ConfigArgs, purpose: Purpose) -> Result<Loaded, CommandError> {
    let mut environment = environment()?;
    let directory = DIRECTORY_VARIABLES.map(|variable| environment.remove(variable));
    let directory = directory.into_iter().flatten().find(|directory| !directory.is_empty());
    let (path, path_conf) = match args.config.clone().or(directory.map(PathBuf::from)) {
        Some(path) => named_file(&path)?,
        None => (file_in(Path::new(DIRECTORY)), DIRECTORY.into()),
    };
    let text = path.as_deref().map(|path| read(path, purpose)).transpose()?;
    let name = path.as_deref().map(|path| path.display().to_string()).unwrap_or_default();
    let file = text.as_deref().map(|text| FileText { name: &name, text });
    let sources = Sources { file, environment: &environment, arguments: &args.settings, path_conf };
    let refused = |faults| {
        if purpose == Purpose::Start {
            tell_others(&sources);
        }
        CommandError::Usage(start_failure::faults(&faults, &sources, purpose == Purpose::Start))
    };
    let mut loaded = settings::load(&sources).map_err(refused)?;
    // Who names a file means it.
    let found = path.as_deref().filter(|path| args.config.as_deref() != Some(path));
    loaded.warnings.extend(found.and_then(passed_over));
    Ok(loaded)
}

/// That a directory has a file of Elasticsearch's name as well, where the other one is read.
fn passed_over(path: &Path) -> Option<String> {
    let [first, second] = NAMES;
    let other = path.with_file_name(second);
    (path.file_name()? == first && other.is_file())
        .then(|| format!("[{}] is read, and [{}] beside it is not", path.display(), other.display()))
}

/// What a user should know of the configuration.
pub(super) fn warn(loaded: &Loaded) {
    if !loaded.without_meaning.is_empty() {
        let keys: Vec<&str> = loaded.without_meaning.iter().map(|unheeded| unheeded.key.as_str()).collect();
        let keys = keys.join(", ");
        tracing::warn!(target: NODE, "these settings of Elasticsearch have no meaning here and are passed over: [{keys}]");
    }
    for warning in &loaded.warnings {
        tracing::warn!(target: NODE, "{warning}");
    }
}

/// The seed hosts hear why there will be no node, as far as the configuration makes sense. Nothing depends on it.
fn tell_others(sources: &Sources<'_>) {
    let Some(file) = sources.file.filter(|file| !is_passing(file.name)) else { return };
    let launch = launch_of(&Launch::of(sources));
    if let Ok(runtime) = super::runtime() {
        runtime.block_on(inquiry::tell_of_faults(file.name, file.text, &launch));
        runtime.shutdown_background();
    }
}

/// The environment. Variables that are no text are left out, unless they are ours.
fn environment() -> Result<BTreeMap<String, String>, CommandError> {
    let mut environment = BTreeMap::new();
    for (name, value) in env::vars_os() {
        match (name.to_str(), value.to_str()) {
            (Some(name), Some(value)) => drop(environment.insert(name.to_owned(), value.to_owned())),
            (Some(name), None) if name.starts_with("ZAZEN_") => {
                let value = value.to_string_lossy();
                return Err(CommandError::Usage(format!("{name}={value}: the value is not UTF-8")));
            }
            (Some(_) | None, _) => {}
        }
    }
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    environment.entry(HOST_VARIABLE.into()).or_insert(host);
    Ok(environment)
}

/// The file that a path names, itself or as its directory; and the directory.
fn named_file(path: &Path) -> Result<(Option<PathBuf>, PathBuf), CommandError> {
    if !path.is_dir() {
        let parent = path.parent().filter(|parent| *parent != Path::new("")).unwrap_or(Path::new("."));
        return Ok((Some(path.to_owned()), parent.to_owned()));
    }
    match file_in(path) {
        Some(file) => Ok((Some(file), path.to_owned())),
        None => {
            let (path, [first, second]) = (path.display(), NAMES);
            Err(CommandError::Usage(format!("there is neither a {first} nor an {second} in the directory {path}")))
        }
    }
}

/// The text of a file.
fn read(path: &Path, purpose: Purpose) -> Result<String, CommandError> {
    let mut bytes = Vec::new();
    let read = |file: File| file.take(BYTES_MAX + 1).read_to_end(&mut bytes);
    let file = if purpose == Purpose::Again { open_regular(path) } else { File::open(path) };
    file.and_then(read).map_err(|error| unreadable(path, &error))?;
    if bytes.len() as u64 > BYTES_MAX {
        let path = path.display();
        return Err(CommandError::Usage(format!(
            "{path} has more than {BYTES_MAX} bytes, which no file of settings needs"
        )));
    }
    // Windows' editors put a mark before the text.
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
    not_text(path, bytes, purpose).map_or_else(|| Ok(String::from_utf8_lossy(bytes).into_owned()), Err)
}

/// Opens what is a file in the strict sense. It is looked at first, as some devices do something when they are opened, and
/// once more when it is open, as it may have been replaced in between; opening never waits.
fn open_regular(path: &Path) -> io::Result<File> {
    let refused = || io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file");
    if !fs::metadata(path)?.is_file() {
        return Err(refused());
    }
    let flags = rustix::fs::OFlags::NONBLOCK.bits();
    let file = OpenOptions::new().read(true).custom_flags(flags.cast_signed()).open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(refused()) }
}

fn unreadable(path: &Path, error: &io::Error) -> CommandError {
    let [first, second] = NAMES;
    if error.kind() == io::ErrorKind::PermissionDenied {
        return CommandError::Usage(format!(
            "cannot read {}: {error} [{}]; to mend it, as root: {}",
            path.display(),
            Code::BadSettings.name(),
            given_over(path)
        ));
    }
    let meant = if error.kind() == io::ErrorKind::NotFound { meant(path) } else { None };
    let mend = meant.and_then(|meant| typed_with(path, &meant)).map(|line| format!("; to mend it: {line}"));
    CommandError::Usage(format!(
        "cannot read {}: {error}; allowed: a file, or a directory with a {first} or an {second} [{}]{}",
        path.display(),
        Code::BadSettings.name(),
        mend.unwrap_or_default()
    ))
}

/// Gives the user of this process a file that it may not read, and those beside it.
fn given_over(path: &Path) -> String {
    let (user, group) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    // Where nobody may look nothing is known of the files.
    let (home, barred) = (path.parent().filter(|_| fs::metadata(path).is_err()), barred(path));
    if let Some(home) = home {
        let opened = barred.filter(|barred| *barred != home);
        let opened =
            opened.map_or_else(String::new, |dir| format!("chmod a+x {} && ", quoted(&dir.display().to_string())));
        return format!("{opened}chown -R {user}:{group} {}", quoted(&home.display().to_string()));
    }
    let is_barred =
        |file: &PathBuf| File::open(file).is_err_and(|error| error.kind() == io::ErrorKind::PermissionDenied);
    let beside = path.parent().and_then(|home| home.read_dir().ok()).into_iter().flatten();
    let beside = beside
        .take(FILES_MAX)
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|file| file != path && file.is_file());
    let mut files: Vec<PathBuf> = beside.filter(is_barred).collect();
    files.sort();
    let files = std::iter::once(path.to_owned()).chain(files).map(|file| quoted(&file.display().to_string()));
    format!("chown {user}:{group} {}", files.collect::<Vec<_>>().join(" "))
}

/// The outermost directory above a file into which this user may not go.
fn barred(path: &Path) -> Option<&Path> {
    let above: Vec<&Path> = path.ancestors().skip(1).filter(|dir| !dir.as_os_str().is_empty()).collect();
    let is_barred = |dir: &&Path| {
        rustix::fs::access(*dir, rustix::fs::Access::EXEC_OK).is_err_and(|error| error == rustix::io::Errno::ACCESS)
    };
    above.into_iter().rev().find(is_barred)
}

/// The file beside one that is missing that is called alike, but for how it ends.
fn meant(path: &Path) -> Option<PathBuf> {
    let is_yaml = path.extension().is_some_and(|ending| ending == "yml" || ending == "yaml");
    let stem = if is_yaml { path.file_stem()? } else { path.file_name()? }.to_string_lossy();
    let mut named = ["yml", "yaml"].into_iter().map(|ending| path.with_file_name(format!("{stem}.{ending}")));
    named.find(|path| path.is_file())
}

/// The line that was typed, with another file. What gives settings besides may be secret, and is not told.
fn typed_with(path: &Path, meant: &Path) -> Option<String> {
    let mut words: Vec<String> = env::args_os().skip(1).map(|word| word.to_string_lossy().into()).collect();
    let is_secret = words.iter().any(|word| word.contains('='));
    let file = words.iter_mut().find(|word| Path::new(word.as_str()) == path).filter(|_| !is_secret)?;
    *file = meant.display().to_string();
    let words = std::iter::once(program()).chain(words).map(|word| quoted(&word));
    Some(words.collect::<Vec<_>>().join(" "))
}

/// What is said of a file that is no text, or of another encoding.
fn not_text(path: &Path, bytes: &[u8], purpose: Purpose) -> Option<CommandError> {
    let found = start_failure::misencoded(&path.display().to_string(), bytes)?;
    let typed = typed_with(path, path).filter(|_| purpose == Purpose::Start);
    Some(CommandError::Usage(start_failure::said_of_encoding(&found, typed.as_deref())))
}
