//! Colours of a terminal, where they are wanted.

use clap::ValueEnum;
use std::io::IsTerminal;

/// When to use colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum ColorWhen {
    /// On a terminal, unless NO_COLOR is set.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// What a text is to look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tone {
    /// As all else.
    Plain,
    /// As a heading.
    Strong,
    /// As something beside the point.
    Faint,
    /// As it should be.
    Good,
    /// Worth a look.
    Odd,
    /// Not as it should be.
    Bad,
}

/// Paints texts, or leaves them as they are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Paint(bool);

impl ColorWhen {
    /// Whether that is so here.
    pub(super) fn is_wanted(self) -> bool {
        let is_refused = || std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        match self {
            ColorWhen::Auto => std::io::stdout().is_terminal() && !is_refused(),
            ColorWhen::Always => true,
            ColorWhen::Never => false,
        }
    }
}

impl Paint {
    pub(super) fn new(when: ColorWhen) -> Self {
        Paint(when.is_wanted())
    }

    pub(super) fn paint(self, tone: Tone, text: &str) -> String {
        let code = match tone {
            Tone::Plain => "",
            Tone::Strong => "1",
            Tone::Faint => "2",
            Tone::Good => "32",
            Tone::Odd => "33",
            Tone::Bad => "31",
        };
        if self.0 && !code.is_empty() && !text.is_empty() { format!("\x1b[{code}m{text}\x1b[0m") } else { text.into() }
    }
}
