//! A worker counts the records of the blocks that it takes.

use super::block_reader::BlockReader;
use super::counting::Counting;
use super::pass::{Counted, Pass};
use super::settings::Settings;
use super::shared::Shared;
use crate::decode::Decoder;
use crate::input::Block;

/// A worker of a pass.
#[derive(Debug)]
pub struct Worker<'a> {
    pub(super) decoder: Decoder,
    pub(super) counting: Counting<'a>,
}

impl<'a> Worker<'a> {
    #[must_use]
    pub fn new(shared: &'a Shared<'a>, pass: &'a Pass<'a>) -> Self {
        let Settings { format, max_record, .. } = shared.settings;
        let decoder = match pass {
            Pass::Etcd => Decoder::for_etcd(*max_record),
            _ => Decoder::new(*format, *max_record),
        };
        let counting = Counting::new(shared, pass);
        Self { decoder, counting }
    }

    /// Returns the counts of a pass that has only this worker; for more workers, see [`Worker::sum`].
    #[must_use]
    pub fn into_counted(self) -> Counted {
        Self::sum([self])
    }

    /// Merges the counts of all workers at the end of a pass.
    #[must_use]
    pub fn sum(workers: impl IntoIterator<Item = Self>) -> Counted {
        Counting::sum(workers.into_iter().map(|worker| worker.counting).collect())
    }

    /// Counts the records of a block.
    pub fn read(&mut self, block: &Block) {
        let Self { decoder, counting } = self;
        counting.begin(block);
        let mut reader = BlockReader::new(decoder, counting, block);
        for run in block.runs() {
            reader.run(&run);
        }
        reader.finish();
        counting.end(block.source);
    }
}
