//! What a user may do at a route: by role, and by the keys and leases that it touches.

use super::error::{Kind, RestError};
use super::login::Guest;
use super::parameters::Parameters;
use crate::runtime::secure::{Role, Share};
use crate::service::{Condition, Txn};
use axum::http::StatusCode;

/// What a route demands of whoever asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Needs {
    /// The least role.
    pub(super) role: Role,
    /// What it touches.
    pub(super) touches: Touches,
}

/// What a route touches, for those who may not touch everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Touches {
    /// Neither keys nor leases.
    Nothing,
    /// The key of its path.
    Key,
    /// The keys that begin as `prefix` says.
    Prefix,
    /// The lease of its path.
    Lease,
    /// What stands in its body, which the route looks at itself.
    Body,
    /// Any key or lease.
    Everything,
}

impl Touches {
    /// What of it is said behind the role.
    pub(super) fn told(self) -> &'static str {
        match self {
            Touches::Nothing => "",
            Touches::Key => ", and the key",
            Touches::Prefix => ", and keys that begin so",
            Touches::Lease => ", and the lease",
            Touches::Body => ", and all keys and leases of the body",
            Touches::Everything => ", and all keys and leases",
        }
    }

    /// What `openapi` calls it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Touches::Nothing => "nothing",
            Touches::Key => "key",
            Touches::Prefix => "prefix",
            Touches::Lease => "lease",
            Touches::Body => "body",
            Touches::Everything => "everything",
        }
    }
}

impl Needs {
    /// To look at the cluster.
    pub(super) const LOOK: Needs = Needs { role: Role::Read, touches: Touches::Nothing };
    /// To look at all that there is.
    pub(super) const LOOK_AT_ALL: Needs = Needs { role: Role::Read, touches: Touches::Everything };
    /// To change how the cluster works.
    pub(super) const OPERATE: Needs = Needs { role: Role::Operate, touches: Touches::Everything };
    /// To change what cannot be taken back.
    pub(super) const ADMIN: Needs = Needs { role: Role::Admin, touches: Touches::Everything };

    /// A role, and what is touched.
    pub(super) const fn of(role: Role, touches: Touches) -> Needs {
        Needs { role, touches }
    }
}

/// Whether a guest may do what a route does.
pub(super) fn check(guest: &Guest, name: &str, needs: Needs, parameters: &Parameters) -> Result<(), RestError> {
    if guest.user.role < needs.role {
        return Err(denied(guest, name, &format!("it needs the role [{}]", needs.role.name())));
    }
    let Some(share) = &guest.user.share else {
        return Ok(());
    };
    let text = |parameter: &str| parameters.text(parameter).unwrap_or_default();
    let is_fitting = match needs.touches {
        Touches::Nothing | Touches::Body => true,
        Touches::Key => share.has_keys(text("key")) && (text("lease").is_empty() || share.has_lease(text("lease"))),
        Touches::Prefix => share.has_keys(text("prefix")) && is_of_keys(parameters),
        Touches::Lease => share.has_lease(text("name")),
        Touches::Everything => false,
    };
    if is_fitting { Ok(()) } else { Err(denied(guest, name, &shown(share))) }
}

/// Whether a watcher wants to know of keys only, as it does unless it says otherwise.
fn is_of_keys(parameters: &Parameters) -> bool {
    parameters.list("kinds").is_none_or(|kinds| kinds.iter().all(|kind| *kind == "keys"))
}

/// Whether a guest may make a change of several keys.
pub(super) fn check_txn(guest: Option<&Guest>, name: &str, txn: &Txn) -> Result<(), RestError> {
    let Some((guest, share)) = guest.and_then(|guest| Some((guest, guest.user.share.as_ref()?))) else {
        return Ok(());
    };
    let condition = |condition: &Condition| match condition {
        Condition::Changed { key, .. } | Condition::Absent { key } | Condition::Present { key } => share.has_keys(key),
        Condition::Held(holding) => share.has_lease(&holding.name),
    };
    let puts = txn
        .puts
        .iter()
        .all(|put| share.has_keys(&put.key) && put.lease.as_ref().is_none_or(|holding| share.has_lease(&holding.name)));
    let is_fitting = puts && txn.deletes.iter().all(|key| share.has_keys(key)) && txn.conditions.iter().all(condition);
    if is_fitting { Ok(()) } else { Err(denied(guest, name, &shown(share))) }
}

fn shown(share: &Share) -> String {
    let (keys, leases) = (share.keys.join(", "), share.leases.join(", "));
    format!("it may touch keys that begin with [{keys}] and leases called [{leases}] only")
}

fn denied(guest: &Guest, name: &str, why: &str) -> RestError {
    let name = name.strip_suffix("_action").unwrap_or(name);
    let reason = format!("action [{name}] is unauthorized for user [{}]: {why}", guest.user.name);
    RestError::new(Kind::Security, reason).with_status(StatusCode::FORBIDDEN)
}
