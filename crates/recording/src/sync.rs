//! Forces the journal to the disk beside the writer: a disk that takes a second to sync must not make the interval
//! under way a second longer.

use std::fs::File;
use std::io;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};

/// A thread that syncs one file when asked.
#[derive(Debug)]
pub(crate) struct Syncer {
    asked: SyncSender<()>,
    failed: Arc<Mutex<Option<io::Error>>>,
}

impl Syncer {
    /// Starts the thread; it ends when the syncer is dropped, after a sync under way.
    pub(crate) fn start(file: File) -> io::Result<Self> {
        let (asked, asks) = sync_channel::<()>(1);
        let failed = Arc::new(Mutex::new(None));
        let failure = Arc::clone(&failed);
        std::thread::Builder::new().name("journal-sync".to_string()).spawn(move || {
            while asks.recv().is_ok() {
                if let Err(error) = file.sync_data() {
                    *failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                }
            }
        })?;
        Ok(Self { asked, failed })
    }

    /// Asks for a sync of what is written by now, and tells how an earlier one failed.
    pub(crate) fn ask(&self) -> io::Result<()> {
        // One that waits already will cover this one.
        let _ = self.asked.try_send(());
        self.failed.lock().unwrap_or_else(PoisonError::into_inner).take().map_or(Ok(()), Err)
    }
}
