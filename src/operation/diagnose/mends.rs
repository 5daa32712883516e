//! The mends of a case: the lines that start nodes, change their settings, or are typed on their hosts.

use super::case::{Case, HOSTS, Known};
use super::shell::quoted;
use super::start::stopped;
use super::{Mend, Process, Report, Start, Verdict, Worth};
use crate::cluster::{Address, is_loopback};
use crate::zen::explain::{Host, PingOutcome};

/// Says of what a line changes for one start where it comes from: an environment gives it again at the next.
pub(super) fn with_variables(case: &Case<'_>, verdict: Verdict) -> Verdict {
    let Some(mend) = verdict.mend.clone().filter(|mend| !mend.is_setting) else { return verdict };
    let Some(report) = case.reports.iter().find(|report| Some(case.name(report)) == mend.node) else { return verdict };
    let given = report.facts.launch.variables.iter().filter_map(|one| Some((one.name.as_str(), one.gives.as_deref()?)));
    // A value with a blank stands in quotes with its key.
    let changed =
        given.filter(|(_, key)| ["", "'"].iter().any(|quote| mend.line.contains(&format!(" -E {quote}{key}="))));
    changed.fold(verdict, |verdict, (name, key)| {
        let what = format!("[{key}] comes from the variable [{name}] of my environment, which wins over the file");
        verdict.because(case.says(report, what))
    })
}

impl<'a> Case<'a> {
    /// How a node is started that should be at an address, or goes by a name. Never one that answered.
    pub(super) fn start(&self, address: Option<&Address>, name: &str, id: Option<&str>) -> Option<Mend> {
        let is_there = |known: &Known<'_>| {
            address.is_some_and(|address| known.sibling.is_at(address) && self.can_tell(known.by, address))
        };
        let there = self.nearest(self.siblings().filter(is_there), id);
        let Some(known) = there.or_else(|| self.sibling_named(name)) else {
            return self.start_distant(address?, id);
        };
        let Known { by, sibling } = known;
        // Nobody knows what was meant in its file: a start would only say so again.
        if sibling.slip.as_ref().is_some_and(|slip| slip.mend.is_none() && !slip.is_withheld) {
            return None;
        }
        let start = Start::of(&by.facts.binary, sibling);
        let start = match sibling.left_behind(&sibling.data) {
            // What it had on disk is where it ran last, whatever its file says since.
            Some(left) => start.on(left),
            // A file that names no data directory, and was never used: the teller's own is taken.
            None if sibling.data == by.facts.data => start.on(&format!("{}-{name}", sibling.data)),
            None => start,
        };
        // What is not another user's is that of the teller.
        let owner = sibling.owner.or(by.facts.user).filter(|_| self.is_here(by) && self.me.facts.is_root);
        let start = start.owned_by(owner);
        // What root left there its owner cannot read.
        let (data, mixed) = (sibling.left.as_ref().unwrap_or(&sibling.data), owner.filter(|_| sibling.is_mixed));
        let given = mixed.map(|(user, group)| format!("chown -R {user}:{group} {}", quoted(data)));
        let first = sibling.slip.as_ref().and_then(|slip| slip.mend.clone()).into_iter().chain(given);
        let mend = start.mend(&first.map(|first| format!("{first} && ")).collect::<String>()).about(name);
        Some(self.placed_as(Mend { file: sibling.file.clone(), ..mend }, known))
    }

    /// The node that a line starts, if it starts one by its file.
    pub(super) fn started_by(&self, mend: &Mend) -> Option<Known<'a>> {
        let file = mend.file.as_deref().filter(|_| !mend.is_setting)?;
        self.siblings().find(|known| known.sibling.file.as_deref() == Some(file))
    }

    /// The same mend, with its host where that is not the one of the node that was asked.
    pub(super) fn placed_as(&self, mend: Mend, known: Known<'_>) -> Mend {
        match known.sibling.hosts.first().filter(|_| known.sibling.is_elsewhere) {
            Some(host) => Mend { host: Some(host.clone()), ..mend },
            None => self.placed(mend, known.by),
        }
    }

    /// The host of a node: what it publishes may be another one's, so where it listens goes first.
    pub(super) fn host(&self, report: &Report) -> String {
        let mut bound = report.facts.bound.iter().map(|bound| Address::from(bound.as_str()));
        let is_one = |at: &Address| !at.is_loopback() && !["0.0.0.0", "::"].contains(&at.host());
        let told = bound.find(is_one).map(|at| at.host().to_owned());
        let published = || report.explanation.node.host().to_owned();
        // By which address loopback is left says nothing: a node may have one of its own there.
        let outward = report.facts.outward.clone().filter(|host| !is_loopback(host));
        told.or(outward).unwrap_or_else(published)
    }

    fn placed(&self, mend: Mend, by: &Report) -> Mend {
        let host = (!self.is_here(by)).then(|| self.host(by));
        Mend { host, ..mend }
    }

    /// Another value of a setting of a node that does not run: in its file, or in the line that starts it.
    pub(super) fn set_sibling(&self, known: Known<'a>, key: &str, worth: &Worth) -> Mend {
        let Known { by, sibling } = known;
        let mend = if sibling.launch.gives(key) {
            let mend = Start::of(&by.facts.binary, sibling).with(key, worth).mend("");
            Mend { file: sibling.file.clone(), ..mend }
        } else {
            Mend::setting(key, worth, sibling.file.clone())
        };
        self.placed_as(mend, known)
    }

    /// Another value of a setting of a node that runs: in its file, or in the line that starts it anew.
    pub(super) fn set(&self, report: &Report, key: &str, worth: &Worth) -> Mend {
        let facts = &report.facts;
        let again = self.again(report).filter(|_| facts.launch.gives(key));
        let mend = match again {
            Some(start) => start.with(key, worth).mend(&stopped(facts)),
            None => Mend::setting(key, worth, facts.file.clone()),
        };
        self.placed(mend.about(self.name(report)), report)
    }

    /// Another address for others to reach a node at, where the setting stands that it has.
    pub(super) fn publish(&self, report: &Report, host: &str) -> Mend {
        let keys = ["transport.publish_host", "transport.host", "network.publish_host"];
        let given = keys.into_iter().find(|key| report.facts.given.contains_key(*key));
        self.text(report, given.unwrap_or("network.publish_host"), host)
    }

    /// The same with a text.
    pub(super) fn text(&self, report: &Report, key: &str, value: &str) -> Mend {
        self.set(report, key, &Worth::Text(value.to_owned()))
    }

    /// The same with a number or a word.
    pub(super) fn plain(&self, report: &Report, key: &str, value: impl ToString) -> Mend {
        self.set(report, key, &Worth::Plain(value.to_string()))
    }

    /// The same with a list.
    pub(super) fn list(&self, report: &Report, key: &str, elements: Vec<String>) -> Mend {
        self.set(report, key, &Worth::List(elements))
    }

    /// The seed hosts of a node with some changed or left out; none if none are left, as a node that has none makes a
    /// cluster by itself.
    pub(super) fn hosts(
        &self,
        report: &Report,
        seeds: &[String],
        change: impl Fn(&str) -> Option<String>,
    ) -> Option<Mend> {
        let given = &report.facts.seeds;
        let left: Vec<String> = seeds.iter().filter_map(|seed| change(seed)).collect();
        // What is left may be the names of the node itself, as all that they led to is.
        let adds_none = given.as_ref().is_some_and(|given| left.iter().all(|seed| given.contains(seed)));
        let own = &report.explanation.node.address;
        let is_own = |at: &Address| at == own || at.is_loopback() && !own.is_loopback();
        let is_itself = |host: &Host| host.outcome == PingOutcome::Itself || is_own(&host.address);
        let is_alone = adds_none && report.explanation.hosts.iter().all(is_itself) && report.facts.members.len() < 2;
        (!left.is_empty() && !is_alone).then(|| self.seeds(report, left))
    }

    /// These as the seed hosts of a node: in the file of hosts that it reads, unless what its settings name is wrong.
    fn seeds(&self, report: &Report, right: Vec<String>) -> Mend {
        let facts = &report.facts;
        let Some(file) = &facts.hosts_file else { return self.list(report, HOSTS, right) };
        let of_settings = facts.seeds.iter().flatten().filter(|seed| !file.hosts.contains(seed));
        if of_settings.clone().any(|seed| !right.contains(seed)) {
            return self.list(report, HOSTS, right);
        }
        self.command(report, file.naming(&right))
    }

    /// A command about a node, to be typed on its host.
    pub(super) fn command(&self, report: &Report, line: String) -> Mend {
        self.placed(Mend::command(line).about(self.name(report)), report)
    }

    /// How a node that runs is started again, as the user that it is: whoever types it where the asked one is root's is root.
    pub(super) fn again(&self, report: &Report) -> Option<Start> {
        let start = Start::again(&report.facts)?;
        let is_typed_by_root = self.is_here(report) && self.me.facts.is_root;
        Some(if is_typed_by_root { start.owned_by(report.facts.user) } else { start })
    }

    /// Ends a node, does something, and starts it as it was but for some changes.
    pub(super) fn restart(&self, report: &Report, between: &str, change: impl Fn(Start) -> Start) -> Option<Mend> {
        let mend = change(self.again(report)?).mend(&format!("{}{between}", stopped(&report.facts)));
        Some(self.placed(mend.about(self.name(report)), report))
    }

    /// The command that lets a stopped process of a node go on: what a debugger holds goes on when that ends.
    pub(super) fn go_on(&self, name: &str, process: &Process) -> Mend {
        let line = match process.tracer {
            Some(tracer) => format!("kill {tracer}"),
            None => format!("kill -CONT {}", process.pid),
        };
        let mend = Mend::command(line).about(name);
        match self.listener(&process.address) {
            Some((by, _)) => self.placed(mend, by),
            None => mend,
        }
    }
}

/// Another data directory for one that is to join: what it holds of users would be in no cluster any more.
pub(super) fn on_new_data(case: &Case<'_>, report: &Report) -> Option<Mend> {
    let new = || case.text(report, "path.data", &format!("{}-new", report.facts.data));
    (!report.facts.holds_something).then(new)
}

/// What is said of one that holds something of users.
pub(super) fn holding(report: &Report) -> &'static str {
    match report.facts.holds_something {
        true => {
            "; it holds keys, leases or settings of its own, which would stay behind: see first whether they are needed"
        }
        false => "",
    }
}
