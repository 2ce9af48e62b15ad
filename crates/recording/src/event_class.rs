//! What events of iodyno itself tell of, for readers that act on it: the column `class` of the table `event`.
//!
//! Recordings from before these classes have only the sentence. [`EventClass::of`] is the only place that reads it there.

use crate::label::Label;
use crate::rows::Event;
use crate::stored_names::{EventKind, EventSeverity};

/// How the message of a dump of the flight recorder begins; the dump's path and what is in it stand behind.
pub const IOS_ARE_IN: &str = "the I/Os around it are in ";

/// What an event of iodyno itself tells of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventClass {
    /// The kernel's messages cannot be read (kind `counters`).
    KernelLogUnread,
    /// Not all I/Os that failed are counted (kind `probe`).
    FailuresUncounted,
    /// The flight recorder wrote the I/Os around a finding (kind `flight`).
    FlightDump,
}

impl EventClass {
    const ALL: [Self; 3] = [Self::KernelLogUnread, Self::FailuresUncounted, Self::FlightDump];

    /// Name in the column.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::KernelLogUnread => "kernel_log_unread",
            Self::FailuresUncounted => "failures_uncounted",
            Self::FlightDump => "flight_dump",
        }
    }

    /// The kind of its events.
    fn kind(self) -> EventKind {
        match self {
            Self::KernelLogUnread => EventKind::Counters,
            Self::FailuresUncounted => EventKind::Probe,
            Self::FlightDump => EventKind::Flight,
        }
    }

    /// As a cell of the column.
    #[must_use]
    pub fn label(self) -> Label {
        Label::from(self.name())
    }

    /// That of an event; `None` where its class is another one, or of no event of iodyno itself.
    #[must_use]
    pub fn of(event: &Event) -> Option<Self> {
        let of_kind = Self::ALL.into_iter().filter(|class| class.kind() == event.kind);
        match event.class.as_deref() {
            Some(name) => of_kind.into_iter().find(|class| class.name() == name),
            None => of_kind.into_iter().find(|class| class.is_older_sentence(event)),
        }
    }

    /// For compatibility: is it this, by its sentence, in a recording from before the classes?
    fn is_older_sentence(self, event: &Event) -> bool {
        match self {
            Self::KernelLogUnread => event.message.contains("messages of the kernel"),
            Self::FailuresUncounted => {
                event.severity == EventSeverity::Error && event.message.contains("I/Os that fail")
            }
            Self::FlightDump => event.message.starts_with(IOS_ARE_IN),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(severity: EventSeverity, kind: EventKind, class: Option<EventClass>, message: &str) -> Event {
        let class = class.map(EventClass::label);
        Event { severity, kind, class, message: message.to_string(), ..Event::default() }
    }

    #[test]
    fn an_event_says_its_class_in_its_column() {
        for class in EventClass::ALL {
            let said = |kind| EventClass::of(&event(EventSeverity::Info, kind, Some(class), "in other words"));
            assert_eq!(said(class.kind()), Some(class));
            assert_eq!(said(EventKind::Kernel), None, "a message of the kernel may be of any class");
        }
        let sentence = "I/Os that fail are not counted any more: gone";
        let other = Event {
            class: Some(Label::from("later")),
            ..event(EventSeverity::Error, EventKind::Probe, None, sentence)
        };
        assert_eq!(EventClass::of(&other), None, "where there is a class, the sentence is not asked");
    }

    #[test]
    fn sentences_of_older_recordings_are_recognised() {
        let check = |severity, kind, message: &str, expected| {
            assert_eq!(EventClass::of(&event(severity, kind, None, message)), expected, "{message}");
        };
        let unread = "nothing is known of messages of the kernel: Permission denied (os error 13)";
        check(EventSeverity::Info, EventKind::Counters, unread, Some(EventClass::KernelLogUnread));
        check(EventSeverity::Info, EventKind::Counters, "nothing is known of listeners: no", None);
        let kept = "messages of the kernel that were not kept";
        check(EventSeverity::Warning, EventKind::Kernel, kept, None);
        let lost = "3 I/Os that failed are in no row: the probe's table is full";
        check(EventSeverity::Error, EventKind::Probe, lost, Some(EventClass::FailuresUncounted));
        let ended = "I/Os that fail are not counted any more: gone";
        check(EventSeverity::Error, EventKind::Probe, ended, Some(EventClass::FailuresUncounted));
        check(EventSeverity::Info, EventKind::Probe, "I/Os that fail: no names of files", None);
        let dump = "the I/Os around it are in /a/b: 3 from 60 s before to 10 s after it opened";
        check(EventSeverity::Info, EventKind::Flight, dump, Some(EventClass::FlightDump));
        let failed = "the I/Os around a finding could not be written: no room";
        check(EventSeverity::Warning, EventKind::Flight, failed, None);
    }
}
