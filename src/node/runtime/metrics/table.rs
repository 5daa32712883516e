//! Every metric once: its name, its kind, its labels, what it tells, and where it is read. The page of metrics and every
//! scrape are made from this table.

use super::samples::{MICROS, Sample, Scraped, Value, flag, histogram, indexed, number, seconds};
use super::{INBOXES, MODES, PRIORITIES};

/// How a metric is to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// It only grows, as long as the process lives. `_total` is added to its name.
    Counter,
    /// It goes up and down.
    Gauge,
    /// It tells how often what was how large.
    Histogram,
}

impl Kind {
    pub(super) fn name(self) -> &'static str {
        match self {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram => "histogram",
        }
    }
}

/// One metric.
#[derive(Clone, Copy, Debug)]
pub(super) struct Metric {
    /// What it is about, as the page is divided.
    pub(super) topic: &'static str,
    pub(super) kind: Kind,
    /// Its name; that of a counter without `_total`.
    pub(super) name: &'static str,
    pub(super) labels: &'static [&'static str],
    pub(super) doc: &'static str,
    pub(super) read: fn(&Scraped<'_>) -> Vec<Sample>,
}

impl Metric {
    /// The name that queries use.
    pub(super) fn full_name(&self) -> String {
        match self.kind {
            Kind::Counter => format!("{}_total", self.name),
            Kind::Gauge | Kind::Histogram => self.name.to_owned(),
        }
    }
}

macro_rules! table {
    ($($topic:literal: { $($kind:ident $name:literal [$($label:literal),*] $doc:literal |$from:ident| $read:expr;)+ })+) => {
        /// All of them.
        pub(super) const TABLE: &[Metric] = &[
            $($(Metric {
                topic: $topic,
                kind: Kind::$kind,
                name: $name,
                labels: &[$($label),*],
                doc: $doc,
                read: |$from| $read,
            },)+)+
        ];
    };
}

table! {
    "Masters and elections": {
        Gauge "zazen_has_master" []
            "1 while this node follows a master or is one, else 0."
            |s| number(flag(s.state.nodes.master.is_some()));
        Gauge "zazen_is_master" []
            "1 while this node is the master, else 0. The sum over all nodes is never above 1 for longer than a \
             scrape takes."
            |s| number(flag(s.state.nodes.master.as_ref() == Some(&s.handle.local().id)));
        Gauge "zazen_mode" ["mode"]
            "1 for what the node is doing: finding, electing, joining, leading or following; 0 for the others."
            |s| indexed(&MODES, |place| flag(s.told().mode.get() == place as u64) as f64);
        Gauge "zazen_term" []
            "The highest term that this node voted in. It rises with each election; a term that rises all the time \
             tells of nodes that cannot agree."
            |s| number(s.told().term.get());
        Counter "zazen_elections" ["cause", "outcome"]
            "Candidacies of this node that ended: what they began with (`best candidate`, `the master hands over`, \
             …), and whether they were won."
            |s| s.elections();
        Counter "zazen_votes" []
            "Votes that this node gave to others."
            |s| number(s.told().votes.get());
        Histogram "zazen_masterless_seconds" []
            "How long this node had no master, each time; the first time begins with the process."
            |s| histogram(s.told().masterless.read(MICROS));
        Gauge "zazen_masterless_now_seconds" []
            "For how long this node has had no master; 0 while it has one."
            |s| seconds(s.told().masterless_for().as_secs_f64());
        Counter "zazen_master_changes" []
            "How often this node got another master than the one before, or one after it had none."
            |s| number(s.told().master_changes.get());
        Counter "zazen_masters_lost" []
            "Masters that this node gave up, because they failed, left or refused it."
            |s| number(s.told().masters_lost.get());
        Counter "zazen_step_downs" []
            "How often this node stopped being master without having handed over."
            |s| number(s.told().step_downs.get());
        Counter "zazen_handovers" []
            "How often this node, as master, asked another one to lead."
            |s| number(s.told().hand_overs.get());
    }
    "Members": {
        Gauge "zazen_nodes" ["role"]
            "Members of the newest state by role: `master` for those that may become master, `data`, and `all`."
            |s| s.nodes();
        Gauge "zazen_voting_nodes" []
            "Nodes of the voting set, present or not."
            |s| number(s.state.metadata.voting.own.len() as u64);
        Gauge "zazen_voting_nodes_present" []
            "Nodes of the voting set that are members now, as the master has it; none is told without a master. Elections and commits \
             need more than half of the set."
            |s| s.voters_present();
        Counter "zazen_nodes_joined" []
            "Nodes that joined, as this node saw it; it counts itself where it is elected."
            |s| number(s.told().nodes_joined.get());
        Counter "zazen_nodes_left" []
            "Nodes that left or were removed, as this node saw it."
            |s| number(s.told().nodes_left.get());
        Gauge "zazen_member" ["member", "name", "address"]
            "1 for each member of the newest state; joins the address of a peer with its name."
            |s| s.members();
    }
    "The cluster state": {
        Gauge "zazen_state_version" []
            "The version of the newest state that this node applied."
            |s| number(s.state.version.get());
        Gauge "zazen_state_accepted_version" []
            "The version of the newest state that this node accepted; above `zazen_state_version` while a publish is \
             under way."
            |s| number(s.told().accepted_version.get());
        Histogram "zazen_publish_bytes" ["form"]
            "The size of the states that this master published, each encoded once for all receivers: whole (`full`) \
             or as a change (`diff`)."
            |s| s.state_bytes();
        Histogram "zazen_publish_seconds" ["phase"]
            "How long publishes of this master took: until enough nodes had stored the state (`commit`), and until \
             the next one began or all had it (`whole`)."
            |s| s.publishes();
        Counter "zazen_publishes_failed" []
            "Publishes of this master that were not committed in time. Each ends its mastership."
            |s| number(s.told().publishes_failed.get());
        Counter "zazen_states_received" ["form"]
            "States that this node got from masters: whole (`full`), as a change that fitted (`diff`), as a change \
             that did not (`misfit`)."
            |s| s.received();
        Counter "zazen_nodes_behind" []
            "Nodes that had not applied a committed state of this master within `commit_timeout`, each time."
            |s| number(s.told().behind.get());
        Gauge "zazen_keys" []
            "Keys in the newest state."
            |s| number(s.state.metadata.keys.len() as u64);
        Gauge "zazen_keys_bytes" []
            "What keys and values take together; all may have 16 MiB."
            |s| number(s.state.metadata.key_bytes);
        Gauge "zazen_leases" []
            "Leases that are held."
            |s| number(s.state.metadata.leases.len() as u64);
        Counter "zazen_leases_granted" []
            "Leases that were granted, as this node saw it."
            |s| number(s.told().leases_granted.get());
        Counter "zazen_leases_ended" []
            "Leases that ended, released or lost, as this node saw it."
            |s| number(s.told().leases_ended.get());
        Counter "zazen_leases_lost" []
            "Leases that this master ended because their holders did not keep them alive."
            |s| number(s.told().leases_lost.get());
    }
    "Tasks of the master": {
        Gauge "zazen_tasks_queued" ["priority"]
            "Tasks that wait for the next publish of this master, by priority."
            |s| indexed(&PRIORITIES, |place| s.told().queued[place].get() as f64);
        Gauge "zazen_tasks_queued_age_seconds" ["priority"]
            "How long the oldest task of each priority has waited."
            |s| indexed(&PRIORITIES, |place| s.told().queued_age[place].get() as f64 / MICROS);
        Histogram "zazen_task_seconds" []
            "How long tasks took, from their arrival at this master to their commit."
            |s| histogram(s.told().tasks.read(MICROS));
        Gauge "zazen_questions" []
            "Requests of users that this node has not answered yet."
            |s| number(s.told().questions.get());
    }
    "Between nodes": {
        Histogram "zazen_peer_round_trip_seconds" ["peer"]
            "How long answers to pings took, by the address of the peer."
            |s| s.peers(|peer| Value::Histogram(peer.round_trip.read(MICROS)));
        Counter "zazen_peer_misses" ["peer"]
            "Pings of fault detectors that failed, by the address of the peer."
            |s| s.peers(|peer| Value::Number(peer.misses.get() as f64));
        Gauge "zazen_calls" []
            "Requests of this node to others that are under way."
            |s| number(s.told().calls.get());
        Gauge "zazen_links" ["side"]
            "Held-open links: those that this node holds (`held`), and those that others hold to it (`accepted`)."
            |s| indexed(&["held", "accepted"], |place| s.links()[place]);
        Counter "zazen_transport_sent_messages" []
            "Messages to other nodes."
            |s| number(s.traffic().sent);
        Counter "zazen_transport_sent_bytes" []
            "Bytes of messages to other nodes."
            |s| number(s.traffic().sent_bytes);
        Counter "zazen_transport_received_messages" []
            "Messages from other nodes."
            |s| number(s.traffic().received);
        Counter "zazen_transport_received_bytes" []
            "Bytes of messages from other nodes."
            |s| number(s.traffic().received_bytes);
        Gauge "zazen_transport_connections" []
            "Connections that other nodes have to this one."
            |s| number(s.handle.meter().peers().open);
    }
    "The node's own thread": {
        Histogram "zazen_core_step_seconds" []
            "How long the one thread that owns the node was busy with one thing that happened. What takes long delays \
             heartbeats."
            |s| histogram(s.told().step.read(MICROS));
        Histogram "zazen_core_late_seconds" []
            "How much later than due the node looked at a deadline. What is late is a sign of too little processor \
             time."
            |s| histogram(s.told().late.read(MICROS));
        Gauge "zazen_core_inbox" ["inbox"]
            "What waits for the node's thread: messages of other nodes (`nodes`), requests of users (`requests`), \
             fates of its own requests (`outcomes`), of its writes and look-ups (`local`). `nodes` and `requests` \
             hold 1,024 at the most, and whoever brings more waits."
            |s| indexed(&INBOXES, |place| s.told().inboxes[place].get() as f64);
        Counter "zazen_core_stalls" []
            "How often this node found that it had been stalled, and doubted itself."
            |s| number(s.told().stalls.get());
    }
    "The disk": {
        Histogram "zazen_journal_sync_seconds" []
            "How long it took to make writes durable; up to 1,024 writes share one sync. Elections and commits wait \
             for it."
            |s| histogram(s.told().sync.read(MICROS));
        Counter "zazen_journal_writes" []
            "Writes to the journal."
            |s| number(s.told().writes.get());
        Gauge "zazen_journal_size_bytes" []
            "How long the file of the journal is."
            |s| number(s.told().journal_bytes.get());
        Gauge "zazen_journal_used_bytes" []
            "How much of it is written; when it is full, a new file begins."
            |s| number(s.told().journal_used.get());
        Gauge "zazen_journal_waiting" []
            "Writes that are not durable yet."
            |s| number(s.told().unsynced.get());
        Counter "zazen_journal_slow_writes" []
            "Writes that took so long, or are so long overdue, that others should lead."
            |s| number(s.told().slow_writes.get());
        Gauge "zazen_disk_available_bytes" []
            "What is left of the file system with `path.data`."
            |s| s.figure(|figures| Some(figures.disk?.available as f64));
        Gauge "zazen_disk_size_bytes" []
            "How large it is."
            |s| s.figure(|figures| Some(figures.disk?.total as f64));
    }
    "Users": {
        Counter "zazen_http_requests" ["route", "status"]
            "Requests of users, by route (as `_nodes/usage` names it; `none` for what no route understands) and \
             status."
            |s| s.requests();
        Histogram "zazen_http_request_seconds" ["route"]
            "How long they took to answer, without the time that the answer is on its way."
            |s| s.request_times();
        Gauge "zazen_watchers" []
            "Watches that are open."
            |s| number(s.told().watchers.get());
        Gauge "zazen_http_connections" []
            "Connections of users."
            |s| number(s.handle.meter().users().open);
    }
    "Hooks": {
        Counter "zazen_hooks" ["event", "outcome"]
            "Hooks that were run to their end, by event and outcome: done, given up after `hooks.attempts`, or dropped because \
             too many waited. Only those that are configured are told."
            |s| s.hooks();
    }
    "Tracing": {
        Counter "zazen_spans_dropped" []
            "Spans that the collector of `zazen.tracing.otlp.endpoint` did not take, or for which too many waited."
            |s| number(s.handle.spans().dropped());
    }
    "Budgets": {
        Gauge "zazen_request_memory_bytes" []
            "What requests and answers under way take of their memory."
            |s| number(s.handle.budget().taken());
        Gauge "zazen_request_memory_limit_bytes" []
            "What they may take."
            |s| number(s.handle.budget().all());
        Counter "zazen_request_memory_refused" []
            "How often there was no memory for a request or an answer, so that it was refused."
            |s| number(s.handle.budget().refused());
        Gauge "zazen_http_connections_limit" []
            "Connections that users may have."
            |s| number(s.handle.meter().users().max);
        Gauge "zazen_transport_connections_limit" []
            "Connections that other nodes may have."
            |s| number(s.handle.meter().peers().max);
    }
    "The process": {
        Gauge "zazen_build_info" ["version", "compatibility"]
            "1; the release of Zazen, and the release of Elasticsearch whose interface it has."
            |s| s.build();
        Gauge "zazen_node_info" ["cluster", "node", "name", "address"]
            "1; what this node is called."
            |s| s.node();
        Gauge "zazen_drained" []
            "1 while the node is drained by `/_zazen/drain`, to be stopped soon."
            |s| number(flag(s.handle.drain().is_on()));
        Gauge "zazen_uptime_seconds" []
            "How long the node has been running."
            |s| s.figure(|figures| Some(figures.uptime_millis as f64 / 1e3));
        Gauge "zazen_certificate_expiry_timestamp_seconds" ["setting"]
            "When the first certificate of a file ends, in seconds since 1970, by the setting that names the file."
            |s| s.expiries();
        Counter "process_cpu_seconds" []
            "Time on processors."
            |s| s.figure(|figures| Some(figures.process.cpu_millis? as f64 / 1e3));
        Gauge "process_resident_memory_bytes" []
            "Memory that the process has."
            |s| s.figure(|figures| Some(figures.memory?.used as f64));
        Gauge "process_virtual_memory_bytes" []
            "Addresses that it has laid claim to."
            |s| s.figure(|figures| Some(figures.process.virtual_bytes? as f64));
        Gauge "process_open_fds" []
            "Files and sockets that it has open."
            |s| s.figure(|figures| Some(figures.files?.used as f64));
        Gauge "process_max_fds" []
            "Files and sockets that it may have open."
            |s| s.figure(|figures| Some(figures.files?.max as f64));
        Gauge "process_threads" []
            "Its threads."
            |s| s.figure(|figures| Some(figures.process.threads? as f64));
        Gauge "process_start_time_seconds" []
            "When the node was started, in seconds since 1970."
            |s| s.figure(|figures| Some(figures.at_millis.saturating_sub(figures.uptime_millis) as f64 / 1e3));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_are_as_prometheus_asks() {
        let names: BTreeSet<&str> = TABLE.iter().map(|metric| metric.name).collect();
        assert_eq!(names.len(), TABLE.len(), "no name is given twice");
        for metric in TABLE {
            let name = metric.name;
            assert!(name.starts_with("zazen_") || name.starts_with("process_"), "{name}");
            assert!(name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'), "{name}");
            assert!(!name.ends_with("_total") && !name.ends_with("_count"), "{name}: that is added");
            assert!(!name.contains("millis") && !name.contains("kilo"), "{name}: base units only");
            let is_measured = name.ends_with("_seconds") || name.ends_with("_bytes");
            assert!(metric.kind != Kind::Histogram || is_measured, "{name} tells no unit");
            assert!(metric.doc.ends_with('.') && metric.doc.len() > 8, "{name} is not told in whole sentences");
        }
    }
}
