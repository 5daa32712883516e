//! `zazen user`: who may ask a cluster, in the file that its nodes read.

use super::setup::{give_to_hosts, write_private};
use super::{CommandError, CommandOutcome};
use crate::runtime::secure::{Role, fresh_token, hash_of_password, is_user_name, parse_users, read_private};
use clap::{Args, Subcommand};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

/// The longest password.
const PASSWORD_MAX: u64 = 1_024;

/// Add, list and remove those who may ask a cluster.
///
/// The file is the one that zazen.security.users names; copy it to every node, which takes over what changes in it within
/// 5 s. Where it lies beside the directories of hosts that `zazen setup` made, theirs are changed as well.
#[derive(Debug, Args)]
pub(super) struct UserArgs {
    /// The file of users.
    #[arg(long, value_name = "FILE", global = true, default_value = "security/users")]
    file: PathBuf,
    #[command(subcommand)]
    command: UserCommand,
}

#[derive(Debug, Subcommand)]
enum UserCommand {
    /// Add a user, or give one another token or password; a token is printed, once.
    ///
    /// Who is there already keeps --keys and --leases where neither is given; `change` changes or ends them.
    Add {
        /// The name.
        name: String,
        /// What the user may do: read, operate (and change keys, leases, settings), or admin (and remove members).
        #[arg(long, value_name = "ROLE", value_parser = Role::named)]
        role: Role,
        #[command(flatten)]
        share: ShareArgs,
        /// Read a password from the standard input instead of making a token.
        #[arg(long)]
        password_stdin: bool,
    },
    /// Change what a user may do or touch; the token or password stays.
    Change {
        /// The name.
        name: String,
        /// What the user may do: read, operate (and change keys, leases, settings), or admin (and remove members).
        #[arg(long, value_name = "ROLE", value_parser = Role::named, required_unless_present_any = ["keys", "leases", "everything"])]
        role: Option<Role>,
        #[command(flatten)]
        share: ShareArgs,
        /// All keys and leases, whatever the user was kept to.
        #[arg(long, conflicts_with_all = ["keys", "leases"])]
        everything: bool,
    },
    /// List the users.
    List,
    /// Remove a user.
    Remove {
        /// The name.
        name: String,
    },
}

/// What of the keys and leases a user may touch: all of them where neither is given.
#[derive(Debug, Args)]
struct ShareArgs {
    /// Only keys that begin so, with commas between them.
    #[arg(long, value_name = "PREFIX,…")]
    keys: Option<String>,
    /// Only leases of these names, with commas between them; a * at the end stands for any end.
    #[arg(long, value_name = "NAME,…")]
    leases: Option<String>,
}

impl UserArgs {
    pub(super) fn run(&self, out: &mut impl Write) -> Result<CommandOutcome, CommandError> {
        let text = if self.file.exists() { read(&self.file)? } else { String::new() };
        match &self.command {
            UserCommand::Add { name, role, share, password_stdin } => {
                self.add(&text, (name, *role, share), *password_stdin, out)?;
            }
            UserCommand::Change { name, role, share, everything } => {
                let entry = entry_of(&text, name).ok_or_else(|| self.unknown(name))?;
                let share = if *everything { String::new() } else { share.or_else(entry.share) };
                let role = role.map_or(entry.role, |role| role.name());
                self.write(&(without(&text, name) + &format!("{name} {role} {}{share}\n", entry.hash)))?;
            }
            UserCommand::List => self.list(&text, out)?,
            UserCommand::Remove { name } => {
                entry_of(&text, name).ok_or_else(|| self.unknown(name))?;
                self.write(&without(&text, name))?;
            }
        }
        Ok(CommandOutcome::Fine)
    }

    fn add(
        &self,
        text: &str,
        (name, role, share): (&str, Role, &ShareArgs),
        takes_password: bool,
        out: &mut impl Write,
    ) -> Result<(), CommandError> {
        if !is_user_name(name) {
            return Err(CommandError::Usage(format!(
                "[{name}] is no name, allowed: 1 to 64 letters, digits and [-_@]"
            )));
        }
        let no_entropy = || CommandError::Failed("the system gives no random numbers".into());
        let (shown, hash) = if takes_password {
            (None, hash_of_password(&password()?).ok_or_else(no_entropy)?)
        } else {
            let (token, hash) = fresh_token(name).ok_or_else(no_entropy)?;
            (Some(token), hash)
        };
        // Another token makes nobody touch more than before.
        let share = share.or_else(entry_of(text, name).map_or("", |entry| entry.share));
        self.write(&(without(text, name) + &format!("{name} {} {hash}{share}\n", role.name())))?;
        shown.map_or(Ok(()), |token| writeln!(out, "{token}"))?;
        Ok(())
    }

    fn list(&self, text: &str, out: &mut impl Write) -> Result<(), CommandError> {
        if !self.file.exists() {
            return Err(CommandError::Failed(format!(
                "there is no file [{}], allowed: --file FILE",
                self.file.display()
            )));
        }
        let users = parse_users(text).map_err(CommandError::Usage)?;
        for user in users.values() {
            let share = user.share.as_ref().map_or_else(String::new, |share| {
                format!("  keys [{}], leases [{}]", share.keys.join(", "), share.leases.join(", "))
            });
            writeln!(out, "{:<16} {:<8}{share}", user.name, user.role.name())?;
        }
        Ok(())
    }

    fn unknown(&self, name: &str) -> CommandError {
        CommandError::Failed(format!("there is no user [{name}] in [{}]", self.file.display()))
    }

    fn write(&self, text: &str) -> Result<(), CommandError> {
        parse_users(text).map_err(|why| CommandError::Usage(format!("[{}]: {why}", self.file.display())))?;
        write_private(&self.file, text)?;
        let beside = self.file.parent().filter(|_| self.file.file_name().is_some_and(|name| name == "users"));
        let Some(directory) = beside.filter(|directory| directory.join("ca.key").exists()) else { return Ok(()) };
        give_to_hosts(directory, "users").map(drop)
    }
}

fn read(path: &Path) -> Result<String, CommandError> {
    read_private(path).map_err(|error| CommandError::Usage(error.to_string()))
}

impl ShareArgs {
    /// As it stands at the end of a line; what a user may touch already, where neither is given.
    fn or_else(&self, before: &str) -> String {
        if self.keys.is_none() && self.leases.is_none() {
            return before.to_owned();
        }
        let lists = [("keys", &self.keys), ("leases", &self.leases)].into_iter();
        lists.filter_map(|(what, list)| Some(format!(" {what}={}", list.as_ref()?))).collect()
    }
}

/// The line of a user.
struct Entry<'a> {
    role: &'a str,
    hash: &'a str,
    /// What the user may touch, with the space before it.
    share: &'a str,
}

fn entry_of<'a>(text: &'a str, name: &str) -> Option<Entry<'a>> {
    let line = text.lines().map(str::trim).find(|line| line.split_whitespace().next() == Some(name))?;
    let mut words = line.split_whitespace().skip(1);
    let (role, hash) = (words.next()?, words.next()?);
    let end = line.find(hash)? + hash.len();
    Some(Entry { role, hash, share: &line[end..] })
}

/// The lines of all others.
fn without(text: &str, name: &str) -> String {
    let others = text.lines().filter(|line| line.split_whitespace().next() != Some(name));
    others.flat_map(|line| [line, "\n"]).collect()
}

fn password() -> Result<String, CommandError> {
    let mut text = String::new();
    std::io::stdin()
        .take(PASSWORD_MAX + 1)
        .read_to_string(&mut text)
        .map_err(|error| super::failed("read the password", error))?;
    let password = text.trim_end_matches(['\r', '\n']);
    if password.len() < 8 || password.len() as u64 > PASSWORD_MAX {
        return Err(CommandError::Usage(format!("a password has 8 to {PASSWORD_MAX} bytes")));
    }
    Ok(password.to_owned())
}
