//! The progress bar on standard error, if that is a terminal.

use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// A progress bar that shows a counter until it is dropped.
pub(super) struct Progress {
    /// Bytes read, before decompression.
    pub(crate) read: Arc<AtomicU64>,
    stop: Arc<AtomicBool>,
    painter: Option<JoinHandle<()>>,
}

impl Progress {
    /// Starts a bar for `total` bytes; 0 means unknown.
    pub(super) fn new(total: u64, wanted: bool) -> Self {
        let read = Arc::new(AtomicU64::new(0));
        let stop = Arc::new(AtomicBool::new(false));
        let painter = (wanted && std::io::stderr().is_terminal()).then(|| {
            let (read, stop) = (Arc::clone(&read), Arc::clone(&stop));
            std::thread::spawn(move || paint(total, &read, &stop))
        });
        Self { read, stop, painter }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(painter) = self.painter.take() {
            painter.thread().unpark();
            // If the painting thread panicked, there is nothing to stop.
            let _ = painter.join();
        }
    }
}

fn paint(total: u64, read: &AtomicU64, stop: &AtomicBool) {
    let bar = if total > 0 { ProgressBar::new(total) } else { ProgressBar::new_spinner() };
    let form = if total > 0 {
        "{wide_bar} {bytes} of {total_bytes}, {bytes_per_sec}, {eta} left"
    } else {
        "{spinner} {bytes}, {bytes_per_sec}"
    };
    bar.set_style(ProgressStyle::with_template(form).expect("a constant template"));
    while !stop.load(Ordering::Relaxed) {
        bar.set_position(read.load(Ordering::Relaxed));
        std::thread::park_timeout(Duration::from_millis(100));
    }
    bar.finish_and_clear();
}
