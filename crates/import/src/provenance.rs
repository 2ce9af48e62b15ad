//! Where a recording was imported from: its manifest, and events that say so.

use crate::printed::seconds;
use recording::rows::Event;
use recording::{ClockAnchor, EventKind, EventSeverity, Manifest};

/// The manifest of what happened elsewhere, at another time.
pub(crate) fn imported_manifest(command_line: &[String]) -> Manifest {
    let mut manifest = Manifest::new(command_line);
    manifest.host = "imported".to_string();
    manifest.kernel = String::new();
    (manifest.started_t_ns, manifest.started_wall_ns) = (0, 0);
    manifest.clock_anchors = vec![ClockAnchor { t_ns: 0, wall_ns: 0 }];
    manifest.exit = Some("imported".to_string());
    manifest
}

/// Where it came from, and what was not taken over.
pub(crate) fn events(t_ns: i64, first: String, notes: &[String]) -> Vec<Event> {
    let event = |severity: EventSeverity, kind: EventKind, message: String| Event {
        t_ns,
        t_s: seconds(t_ns),
        severity,
        kind,
        class: None,
        run: None,
        target: None,
        message,
        count: 1,
    };
    let notes = notes.iter().map(|note| event(EventSeverity::Warning, EventKind::Import, note.clone()));
    std::iter::once(event(EventSeverity::Info, EventKind::Imported, first)).chain(notes).collect()
}
