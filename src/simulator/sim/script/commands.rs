//! The commands of the script language: what each is called, how it is written and who carries it out; and how those of a
//! block are played.

use super::mistake::{Mistake, ScriptError};
use super::script_world::ScriptWorld;
use super::text::Block;
use super::words::Words;
use super::{breakage, messages, questions, settle, setup, show, tables, updates};

type Run = fn(&mut ScriptWorld, &mut Words<'_>) -> Result<(), ScriptError>;

/// A command: how it is written, and who carries it out.
struct Command {
    usage: &'static str,
    run: Run,
}

impl Command {
    fn verb(&self) -> &'static str {
        self.usage.split_whitespace().next().unwrap_or_default()
    }
}

const fn command(usage: &'static str, run: Run) -> Command {
    Command { usage, run }
}

/// Every command but the faults, which are read as the world reads them.
const COMMANDS: &[Command] = &[
    command(
        "nodes a b… [apart] [hosts=a,b|none] [unresolved=x] [named=x:a] [initial=a,b] [min=2] [master=false] [data=false] [<setting>=…]",
        setup::nodes,
    ),
    command("node d [the options of `nodes`]", setup::nodes),
    command("configure a… [address=10.0.9.9:9300] [the options of `nodes`]", setup::configure),
    command("rules zazen|zen68|fd56|zen14|zen13", setup::speak),
    command("notes debug|info|warn|off", setup::notes),
    command("messages on|off [<kind>,…]", setup::messages),
    command("advance 3s", settle::advance),
    command("stabilise [a b…] [within 60s]", settle::stabilise),
    command("until <condition> [within 60s]", settle::until),
    command("start [a b…]", breakage::start),
    command("restart a…", breakage::restart),
    command("disk a [slow|fast|20ms|hangs]", show::disk),
    command("copy-disk a to b", show::copy_disk),
    command("drop <kind>,…|all [from a] [to b] [times=1]", messages::drop_them),
    command("hold <kind>,…|all [from a] [to b] [times=1]", messages::hold),
    command("deliver <kind>,…|all [from a] [to b]", messages::deliver),
    command("release", messages::release),
    command("pass", messages::pass),
    command(
        "put k v [via a] [timeout=30s] [master_timeout=30s] [if=1/3|none] [held=l:7] [lease=l:7] [size=100000] [once=1 [retry]]",
        questions::put,
    ),
    command("updates 30 [via a] [the options of `put`]", updates::updates),
    command("delete k [via a] [the options of `put`]", questions::delete),
    command("read k [via a] [master_timeout=30s]", questions::read),
    command("list <prefix> [after=k] [limit=100] [via a] [master_timeout=30s]", questions::list),
    command("acquire <lease> [for <holder>] [ttl=10s] [via a] [the options of `put`]", questions::acquire),
    command("keep-alive <lease>:<token> [via a] [master_timeout=30s]", questions::keep_alive),
    command("free <lease>:<token> [via a] [the options of `put`]", questions::free),
    command("lease <lease> [via a] [master_timeout=30s]", questions::lease),
    command("set transient|persistent <key>=<value> [via a] [timeout=30s] [master_timeout=30s]", questions::set),
    command("handover a [to b]", questions::hand_over),
    command("leave a", questions::leave),
    command("pending a", questions::pending),
    command("state [a b…]", show::state),
    command("timers a", show::timers),
    command("explain a", show::explain),
    command("masters", show::masters),
    command("oracle <name> [a b…] [for 60s]", updates::oracle),
    command("candidates [min=2] a=1/3[,blind][,data][,follows]…", tables::candidates),
    command("active-masters me=a [lost=m,100ms] [ignore] b=m[,50ms][,data][,higher]|- …", tables::active_masters),
    command("enough {a,b} [committed={…}] [own={…}] [min=2] [bootstrap={…}[,all]]", tables::enough),
    command("majority {a,b,c} {a,b}", tables::majority),
    command("next-voting-set current={a,b} live={a,b,c} master=a", tables::next_set),
];

impl ScriptWorld {
    /// Carries out the commands of a block and tells what they print.
    pub fn play(&mut self, block: &Block) -> Result<Vec<String>, ScriptError> {
        self.world.watch.0.since = self.world.now();
        self.world.watch.0.lines.clear();
        self.gave_up = false;
        for command in block.commands() {
            carry_out(self, &command.text).map_err(|trouble| trouble.at(command.number))?;
        }
        if self.world.watch.0.lines.is_empty() {
            self.say("ok");
        }
        Ok(self.printed().to_vec())
    }
}

/// Carries out one command.
fn carry_out(stage: &mut ScriptWorld, text: &str) -> Result<(), ScriptError> {
    let mut words = Words::of(text);
    let verb = words.need("a command")?;
    if let Some(command) = COMMANDS.iter().find(|command| command.verb() == verb) {
        return (command.run)(stage, &mut words).map_err(|trouble| with_usage(trouble, command.usage));
    }
    if breakage::FAULTS.iter().any(|usage| usage.split(' ').next() == Some(verb)) {
        return breakage::fault(stage, text);
    }
    let verbs: Vec<&str> = COMMANDS.iter().map(Command::verb).chain(breakage::verbs()).collect();
    Err(Mistake::new(format!("`{verb}` as a command"), verbs.join(", ")).into())
}

fn with_usage(trouble: ScriptError, usage: &str) -> ScriptError {
    match trouble {
        ScriptError::Mistake(mistake) => {
            let allowed = format!("{} (as in: {usage})", mistake.allowed);
            ScriptError::Mistake(Mistake { allowed, ..mistake })
        }
        ScriptError::Violation { .. } => trouble,
    }
}
