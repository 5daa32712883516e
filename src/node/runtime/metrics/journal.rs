//! The store, and how long it takes to write.

use crate::protocol::Disk;
use crate::runtime::instruments::Instruments;
use crate::runtime::journal::Keeper;
use crate::runtime::store::{Store, StoreError};
use crate::zen::{Memory, Write};
use std::sync::Arc;
use std::time::Instant;

/// A store whose writes are measured.
pub(in crate::runtime) struct Timed {
    store: Store,
    instruments: Arc<Instruments>,
}

impl Timed {
    pub(in crate::runtime) fn new(store: Store, instruments: Arc<Instruments>) -> Self {
        let timed = Timed { store, instruments };
        timed.weigh();
        timed
    }

    fn weigh(&self) {
        let (used, length) = self.store.room();
        self.instruments.journal_used.set(used);
        self.instruments.journal_bytes.set(length);
    }
}

impl Keeper for Timed {
    #[expect(clippy::disallowed_methods, reason = "how long a disk takes is measured by the real clock")]
    fn write(&mut self, writes: &[Write]) -> Result<(), StoreError> {
        let began = Instant::now();
        let written = Store::write(&mut self.store, writes);
        if !writes.iter().all(Memory::is_lazy) {
            self.instruments.sync.took(began.elapsed());
        }
        self.instruments.writes.add(writes.len() as u64);
        self.weigh();
        written
    }

    fn prepare(&mut self) -> Result<bool, StoreError> {
        let prepared = Store::prepare(&mut self.store);
        self.weigh();
        prepared
    }

    fn look(&mut self) -> Result<(), StoreError> {
        Store::look(&mut self.store)
    }

    fn raise(&mut self, version: u32) -> Result<(), StoreError> {
        let raised = Store::raise(&mut self.store, version);
        self.weigh();
        raised
    }
}
