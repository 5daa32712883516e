//! The settings that a node runs by: as it was started with them, but for the dynamic ones that were read again since.

use crate::settings::NodeSettings;
use parking_lot::RwLock;
use std::sync::Arc;

/// The newest settings of a node. Clones show the same ones.
#[derive(Clone)]
pub struct Current(Arc<RwLock<Arc<NodeSettings>>>);

impl Current {
    /// Begins with these.
    pub fn new(settings: NodeSettings) -> Self {
        Current(Arc::new(RwLock::new(Arc::new(settings))))
    }

    /// Those that hold now.
    pub fn get(&self) -> Arc<NodeSettings> {
        self.0.read().clone()
    }

    /// Others hold from now on.
    pub(super) fn set(&self, settings: NodeSettings) {
        *self.0.write() = Arc::new(settings);
    }
}
