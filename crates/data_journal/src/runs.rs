//! The executions whose data may be on a target: those of a journal's sessions, and those that they accepted.

use crate::header::SessionHeader;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Of all targets of a journal. Most of them have the same, so each list is made once.
#[derive(Debug)]
pub(crate) struct AllRuns {
    /// Runs of the sessions, the newest first.
    sessions: Vec<u64>,
    /// By device: what sessions accepted, the newest first.
    accepted: HashMap<u64, Vec<Arc<[u64]>>>,
    made: HashMap<Vec<Arc<[u64]>>, Arc<[u64]>>,
}

impl AllRuns {
    pub(crate) fn new(sessions: &[Arc<SessionHeader>]) -> Self {
        let mut accepted: HashMap<u64, Vec<Arc<[u64]>>> = HashMap::new();
        for target in sessions.iter().rev().flat_map(|session| &session.targets) {
            let of_device = accepted.entry(target.device).or_default();
            // A later session mostly accepts what the ones before did; what is at the end of its list is at the same place in theirs.
            let is_known = of_device.last().is_some_and(|newer| newer.ends_with(&target.runs));
            if !is_known {
                of_device.push(target.runs.clone());
            }
        }
        Self { sessions: sessions.iter().rev().map(|session| session.run).collect(), accepted, made: HashMap::new() }
    }

    /// Each execution once, the newest first.
    pub(crate) fn of(&mut self, device: u64) -> Arc<[u64]> {
        let lists = self.accepted.get(&device).cloned().unwrap_or_default();
        let sessions = &self.sessions;
        let make = |lists: &[Arc<[u64]>]| {
            let accepted = lists.iter().flat_map(|list| list.iter());
            let mut seen = HashSet::new();
            sessions.iter().chain(accepted).copied().filter(|run| seen.insert(*run)).collect()
        };
        match self.made.get(&lists) {
            Some(made) => made.clone(),
            None => {
                let made: Arc<[u64]> = make(&lists);
                self.made.insert(lists, made.clone());
                made
            }
        }
    }
}
