//! What a run was asked to do, as Vdbench repeats it in every line.

use serde::{Deserialize, Serialize};

/// What was asked of one run; `None` where its workloads differ, as Vdbench's `n/a`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RequestedLoad {
    /// Title of the run.
    pub run: String,
    /// Loop variables, `name=value name=value`; with the title they name the run.
    #[serde(default)]
    pub detail: String,
    /// Bytes of one operation.
    #[serde(default)]
    pub transfer_bytes: Option<u64>,
    /// Operations in flight per target.
    #[serde(default)]
    pub threads: Option<u32>,
    /// Reads, per cent.
    #[serde(default)]
    pub read_percent: Option<f64>,
    /// Reads to the hit area, per cent.
    #[serde(default)]
    pub read_hit_percent: Option<f64>,
    /// Writes to the hit area, per cent.
    #[serde(default)]
    pub write_hit_percent: Option<f64>,
    /// Operations at a random place, per cent.
    #[serde(default)]
    pub seek_percent: Option<f64>,
    /// Bytes of all targets of the run.
    #[serde(default)]
    pub target_bytes: Option<u64>,
    /// Compression ratio of written data.
    #[serde(default)]
    pub compress_ratio: Option<f64>,
    /// Deduplication ratio of written data.
    #[serde(default)]
    pub dedup_ratio: Option<f64>,
    /// At full speed, must its workloads' shares or rates hold? Vdbench calls it controlled.
    #[serde(default)]
    pub controlled: bool,
    /// Is it a run of Vdbench's `iorate=max` or `curve`? In its files such a run has no rate, whatever its workloads have.
    #[serde(default)]
    pub max: bool,
    /// Is it the run at full speed that the points of a curve refer to?
    #[serde(default)]
    pub curve: bool,
    /// Measured time, s.
    #[serde(default)]
    pub elapsed_s: Option<f64>,
    /// Warm-up before it, s.
    #[serde(default)]
    pub warmup_s: f64,
}
