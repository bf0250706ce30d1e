//! Properties of any text that is read as lines of the apiserver's own log.

use kubetoll::decode::klog::{self, Clock, ClockContext, KlogKind};
use kubetoll::input::SourcePosition;
use kubetoll::ledger::Ledger;
use kubetoll::requests::Classifier;

/// Each line gives the same result when it is read again, and a request is counted once.
pub fn klog(text: &str) {
    let contexts = [
        ClockContext::default(),
        ClockContext { wrapper: Some(1_800_000_000_000_000), ..ClockContext::default() },
        ClockContext { wrapper: Some(i64::MAX), ..ClockContext::default() },
        ClockContext { wrapper: Some(i64::MIN), ..ClockContext::default() },
        ClockContext { year: Some(i32::MAX), ..ClockContext::default() },
        ClockContext { year: Some(2026), file_time: Some(i64::MAX), ..ClockContext::default() },
        ClockContext { file_time: Some(1_800_000_000_000_000), ..ClockContext::default() },
        ClockContext { file_time: Some(i64::MIN), ..ClockContext::default() },
    ];
    let mut ledger = Ledger::default();
    for text in text.split('\n').chain([text]) {
        let _ = klog::audit_id(text.as_bytes());
        let Some(line) = klog::read(text) else {
            assert!(!klog::is_klog(text), "what has the header is a line of the log");
            continue;
        };
        assert_eq!(klog::read(text).as_ref(), Some(&line));
        if let Clock::Klog(time) = line.clock {
            assert!((1..=12).contains(&time.month) && (1..=31).contains(&time.day));
        }
        let place = SourcePosition { source: 0, offset: 0, line: 1 };
        match &line.kind {
            KlogKind::Access(access) => {
                assert!(!access.verb.is_empty() && !access.uri.is_empty());
                assert!(access.status.is_none_or(|status| (100..600).contains(&status)));
                for context in contexts {
                    let written = line.clock.resolve(&context);
                    ledger.clients.observe(&Classifier::default().line(access, written, place));
                }
            }
            KlogKind::Trace(fragment) => {
                assert_eq!(&fragment.clone().into_owned(), fragment);
                ledger.observe_trace(place, fragment);
            }
            KlogKind::Continuation | KlogKind::Start(_) | KlogKind::Other => {}
        }
        for context in contexts {
            let _ = line.clock.resolve(&context);
        }
    }
}
