//! Sends the log of this process to its standard output, or to a file of its own.
//!
//! What the lines look like and which are printed is decided in `runtime::log`.

use super::{CommandError, failed};
use crate::runtime::StartError;
use crate::runtime::log::{Flusher, Form, Levels, Lines, Log, LogFile, Origin, Rotation, Writer, tell_panics};
use crate::settings::NodeSettings;
use std::fs::File;
use std::os::fd::AsFd;
use std::time::SystemTime;
use std::{fmt, io};
use tracing_subscriber::Registry;
use tracing_subscriber::layer::SubscriberExt;

/// From here on everything that is logged is printed. The last lines are out when the flusher is dropped.
#[expect(clippy::disallowed_methods, reason = "a line of the log tells when it was written")]
pub(super) fn install(settings: &NodeSettings, out: Box<dyn io::Write + Send>) -> Result<(Log, Flusher), CommandError> {
    let refused = |error: &dyn fmt::Display| failed("start the log", error);
    let (levels, filter) = Levels::new(&settings.log).map_err(|error| CommandError::Usage(error.to_string()))?;
    let (writer, flusher) = Writer::start(out).map_err(|error| refused(&error))?;
    let form = if settings.log.json { Form::Json } else { Form::Plain };
    let lines = Lines::new(form, origin(settings), SystemTime::now, move |line| writer.write(line));
    let subscriber = Registry::default().with(filter).with(lines);
    tracing::subscriber::set_global_default(subscriber).map_err(|error| refused(&error))?;
    tell_panics();
    Ok((Log::new(levels), flusher))
}

/// Where lines are to go.
#[expect(clippy::disallowed_methods, reason = "a file of the log is as old as the real clock says")]
pub(super) fn output(settings: &NodeSettings) -> Result<Box<dyn io::Write + Send>, StartError> {
    let Some(path) = &settings.log.path else {
        // A handle of its own: the usual one is locked by the command, for as long as it runs.
        let out =
            io::stdout().as_fd().try_clone_to_owned().map_err(|error| StartError::System("start the log", error))?;
        return Ok(Box::new(File::from(out)));
    };
    let file = LogFile::open(path, settings.cluster_name.as_str(), Rotation::of(&settings.log), SystemTime::now);
    file.map(|file| Box::new(file) as Box<dyn io::Write + Send>).map_err(|error| StartError::Log(path.clone(), error))
}

/// What is known of the node before its disk is read.
fn origin(settings: &NodeSettings) -> Origin {
    Origin {
        node_name: settings.node_name.as_deref().unwrap_or("unknown").into(),
        cluster_name: settings.cluster_name.to_string(),
        node_id: String::new(),
    }
}
