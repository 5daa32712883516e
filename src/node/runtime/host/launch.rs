//! How a node is started besides by its file: by arguments and variables.

use super::absolute;
use crate::diagnose::{Launch, Mend, Start, Variable};
use crate::runtime::program;
use crate::settings::{self, Besides, Sources, is_passing, meant_besides};
use std::path::Path;

/// What a node was given besides its file, to be told to others.
pub fn launch_of(launch: &settings::Launch) -> Launch {
    let variable = |one: &settings::Variable| Variable {
        name: one.name.clone(),
        value: one.value.clone(),
        gives: one.gives.clone(),
    };
    let settings::Launch { arguments, variables, withheld } = launch;
    Launch {
        arguments: arguments.clone(),
        variables: variables.iter().map(variable).collect(),
        withheld: withheld.clone(),
    }
}

/// The start with what was meant by its arguments and variables, where the file is right.
pub(in crate::runtime) fn besides(sources: &Sources<'_>) -> Option<Mend> {
    let file = sources.file.filter(|file| !is_passing(file.name)).map(|file| absolute(Path::new(file.name)));
    let Besides { arguments, environment } = meant_besides(sources)?;
    let meant = Sources { arguments: &arguments, environment: &environment, ..sources.clone() };
    Some(Start::new(&program(), file.as_deref(), &launch_of(&settings::Launch::of(&meant))).mend(""))
}
