//! Stamped data without a load: what a target says of itself, one place of it, and damage on purpose.

mod error;
mod identity;
mod inject;
mod inspect;
mod promised;
mod promised_text;
mod reader;
mod recorded;
mod verified;
mod verify;
mod verify_text;

pub use error::StampedDataError;
pub use identity::{IdentitySource, TargetIdentity};
pub use inject::{InjectPlaces, InjectRequest, InjectedBlock, inject};
pub use inspect::{InspectRequest, InspectedPlace, inspect_place};
pub use verified::{JournalRequest, JournalVerdict, PromisedDamage, VerifyOutcome, VerifyRecording, VerifyRequest};
pub use verify::verify;
pub use verify_text::LOST_WRITES;
