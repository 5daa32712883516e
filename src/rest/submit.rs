//! Changes of the cluster state: a task goes to the master by way of the node, and its fate becomes an answer.
//!
//! Mirrors `TransportMasterNodeAction` and `AcknowledgedRequest` (6.8).

use super::error::{Kind, RestError};
use super::parameters::{Parameter, Values};
use super::route::Call;
use super::snapshot::{self, MASTER, MASTER_TIMEOUT};
use super::time::human_time;
use crate::cluster::{BlockLevel, StateId};
use crate::service::{Answer, Question, Task};
use std::time::Duration;
use tokio::time::Instant;

/// How long to wait until all nodes have applied a change unless the request says otherwise.
const TIMEOUT: Duration = Duration::from_secs(30);

/// What every change understands.
pub(super) const WRITE: &[Parameter] = &[
    MASTER,
    Parameter {
        name: "timeout",
        values: Values::Time,
        default: "30s",
        doc: "How long to wait, once the change is committed, until every node has applied it; then the answer says \
              `\"acknowledged\": false`.",
    },
];

/// A change that is committed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Done {
    /// The state that holds it.
    pub(super) at: StateId,
    /// Whether every node had applied it in time.
    pub(super) acknowledged: bool,
}

/// Waits for blocks to go that may go by themselves, and is refused by the others. Without a master there is nothing to
/// wait for here: the change itself waits for one.
pub(super) async fn check_blocks(call: &Call) -> Result<(), RestError> {
    let timeout = call.parameters.time("master_timeout", MASTER_TIMEOUT)?;
    let state = call.handle.state();
    if state.nodes.master.is_some() {
        snapshot::unblocked(&call.handle, state, BlockLevel::MetadataWrite, Instant::now() + timeout).await?;
    }
    Ok(())
}

/// Has a change carried out.
pub(super) async fn submit(call: &Call, task: Task) -> Result<Done, RestError> {
    let timeout = call.parameters.time("timeout", TIMEOUT)?;
    let master_timeout = call.parameters.time("master_timeout", MASTER_TIMEOUT)?;
    let answer = call.handle.ask(Question::Submit { task, timeout, master_timeout }).await;
    if let Answer::Done { at, acknowledged } = answer {
        return Ok(Done { at, acknowledged });
    }
    if let Answer::TimedOut { source } = answer {
        let reason = format!("failed to process cluster event ({source}) within {}", human_time(master_timeout));
        return Err(RestError::new(Kind::ProcessClusterEventTimeout, reason));
    }
    Err(answer.into())
}
