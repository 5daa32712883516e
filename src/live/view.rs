//! What users see of a process that elects: a cluster state made up of who takes part and who leads.

use super::places::Places;
use crate::cluster::{Address, ClusterName, ClusterState, EphemeralId, Node, NodeId, Roles, Term, Uuid, Version};
use crate::lab::{Rank, Stand};
use crate::protocol::Time;
use crate::runtime::VERSION;
use crate::service::{Answer, Query, Question, Refusal};
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::sync::oneshot;

/// How many users may wait for a leader.
const WAITING_MAX: usize = 1_024;

/// The id of the process with this rank.
pub(super) fn id_of(rank: Rank) -> NodeId {
    NodeId::from(format!("lab-{:03}", rank.0))
}

/// The attribute by which users see that a node is no real one; its value is the algorithm.
pub(super) const MARK: &str = "experimental";

/// The state that is shown, and who waits for another one.
pub(super) struct View {
    state: ClusterState,
    is_news: bool,
    waiting: Vec<(Time, oneshot::Sender<Answer>)>,
}

impl View {
    pub(super) fn new(cluster_name: ClusterName, local: Arc<Node>, places: &Places) -> Self {
        let mut state = ClusterState::initial(cluster_name);
        state.version = Version::ZERO.next();
        state.uuid = Uuid::from_u128(1);
        let is_mark = |(key, _): &(&String, &String)| *key == MARK;
        let mark: BTreeMap<String, String> =
            local.attributes.iter().filter(is_mark).map(|(key, value)| (key.clone(), value.clone())).collect();
        let mark = Arc::new(mark);
        for (rank, address) in places.all() {
            if rank != places.me {
                let address = Address::from(address.to_string());
                let name = format!("{rank}").into();
                let ephemeral_id = EphemeralId::from(format!("{rank}-{address}"));
                let node = Node {
                    id: id_of(rank),
                    ephemeral_id,
                    name,
                    address,
                    roles: Roles::ALL,
                    attributes: mark.clone(),
                    version: VERSION.into(),
                };
                state.nodes.insert(Arc::new(node));
            }
        }
        state.nodes.insert(local);
        View { state, is_news: false, waiting: Vec::new() }
    }

    /// What is shown.
    pub(super) fn state(&self) -> Arc<ClusterState> {
        Arc::new(self.state.clone())
    }

    /// The state, if it is another one than that which was told of last.
    pub(super) fn news(&mut self) -> Option<Arc<ClusterState>> {
        std::mem::take(&mut self.is_news).then(|| self.state())
    }

    /// Another process told what it is called.
    pub(super) fn named(&mut self, rank: Rank, name: &str) {
        let known = self.state.nodes.get(&id_of(rank)).filter(|node| &*node.name != name).cloned();
        if let Some(known) = known {
            self.state.nodes.insert(Arc::new(Node { name: name.into(), ..(*known).clone() }));
            self.changed();
        }
    }

    /// The process stands there.
    pub(super) fn stands(&mut self, stand: Stand) {
        let (term, master) = (Term::new(stand.term).unwrap_or(Term::MAX), stand.leader.map(id_of));
        if self.state.term != term || self.state.nodes.master != master {
            self.state.term = term;
            self.state.nodes.master = master;
            self.changed();
        }
    }

    fn changed(&mut self) {
        self.is_news = true;
        self.state.version = self.state.version.next();
        self.state.uuid = Uuid::from_u128(u128::from(self.state.version.get()));
        if self.state.nodes.master.is_some() {
            for (_, answer) in std::mem::take(&mut self.waiting) {
                // Whoever does not wait any more is not answered.
                let _ = answer.send(self.leader());
            }
        }
    }

    fn leader(&self) -> Answer {
        Answer::Newest { at: self.state.id() }
    }

    /// Answers a user: who leads, at once or when somebody does; nothing else can be asked for.
    pub(super) fn answer(&mut self, now: Time, question: &Question, answer: oneshot::Sender<Answer>) {
        let said = match question {
            Question::Read { master_timeout, .. } if self.state.nodes.master.is_none() => {
                if self.waiting.len() < WAITING_MAX {
                    return self.waiting.push((now + *master_timeout, answer));
                }
                Answer::NoMaster
            }
            Question::Read { query: Query::Newest, .. } => self.leader(),
            Question::PendingTasks { .. } => Answer::Pending(Vec::new()),
            Question::Read { .. } | Question::Submit { .. } | Question::HandOver { .. } | Question::Leave => {
                let why = "an experimental [discovery.type] elects a leader and keeps nothing";
                Answer::Refused(Refusal::Invalid(why.into()))
            }
        };
        let _ = answer.send(said);
    }

    /// Answers those who waited long enough.
    pub(super) fn give_up(&mut self, now: Time) {
        for (until, answer) in std::mem::take(&mut self.waiting) {
            if until > now {
                self.waiting.push((until, answer));
            } else {
                let _ = answer.send(Answer::NoMaster);
            }
        }
    }

    /// When somebody has waited long enough.
    pub(super) fn next_due(&self) -> Option<Time> {
        self.waiting.iter().map(|(until, _)| *until).min()
    }
}
