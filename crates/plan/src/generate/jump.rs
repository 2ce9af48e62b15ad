//! Where a seek goes: the choices of a random place that do not remember anything.

use super::address_setting::Setting;
use super::fit::Fit;
use super::hot_band::HotBand;
use super::mix::value_error;
use super::rng::{Rng, derive};
use super::skew::Skew;
use super::space::Space;
use super::{GenerateError, OperationKind};
use crate::floor::floor_u64;
use crate::spec::AddressDistribution;

/// Chooses a random place in a space.
#[derive(Clone, Debug)]
pub(crate) enum Jump {
    /// Every place alike.
    Uniform { align: Option<u64> },
    /// One of the grid of the smallest transfer, made to fit.
    Skewed(Box<(Skew, Fit)>),
    /// Exponential from the beginning on, behind the end again from there; the mean is the number of places divided by
    /// this. Vdbench calls it poisson.
    Exponential { midpoint: f64, align: Option<u64> },
    /// By the curve of a hot band.
    HotBand { band: HotBand, align: Option<u64> },
}

impl Jump {
    /// The choice that the workload asks for; hits never use a hot band.
    pub(crate) fn new(
        setting: &Setting,
        space: &Space,
        distribution: AddressDistribution,
    ) -> Result<Self, GenerateError> {
        let (workload, align) = (setting.workload, setting.align);
        // With a grain, only places that are all alike obey an alignment (Vdbench).
        let plain_align = align.filter(|_| space.grain() == 0);
        if workload.address.hot_band.is_some() && !setting.hits {
            if !distribution_of_vdbench(distribution) || !workload.address.zones.is_empty() {
                let what = "a hot band has its own distribution of random addresses; another one cannot be had with it";
                return Err(GenerateError::Conflict { workload: workload.name.clone(), what });
            }
            return Ok(Self::HotBand { band: HotBand::new(&workload.name, space.bytes())?, align: plain_align });
        }
        match distribution {
            AddressDistribution::Poisson(midpoint) => {
                if !(midpoint > 0.0 && midpoint.is_finite()) {
                    let what = "the midpoint of the poisson distribution";
                    return Err(value_error(workload, what, midpoint, "above 0"));
                }
                // Vdbench's aligned addresses are uniform, whatever was asked for.
                let is_uniform = align.is_some() && plain_align.is_none();
                Ok(if is_uniform { Self::Uniform { align } } else { Self::Exponential { midpoint, align } })
            }
            AddressDistribution::Uniform => Ok(Self::Uniform { align }),
            AddressDistribution::ExactOnce => {
                let what = "exact coverage needs purely random addresses (seekpct=100)";
                Err(GenerateError::Conflict { workload: workload.name.clone(), what })
            }
            skewed => {
                let grid = space.places(u64::from(setting.sizes.min()), align);
                let fit = Fit::new(grid, *space, align, setting.sizes.fixed().is_some());
                let skew = Skew::new(workload, skewed, grid.len(), derive(setting.seed, 0))?;
                Ok(skew.map_or(Self::Uniform { align }, |skew| Self::Skewed(Box::new((skew, fit)))))
            }
        }
    }

    /// An address for `bytes`, which must fit into `space`.
    #[inline]
    pub(crate) fn next(&self, space: &Space, rng: &mut Rng, op: OperationKind, bytes: u32) -> u64 {
        let wide = u64::from(bytes);
        match self {
            Self::Uniform { align } => {
                let grid = space.places(wide, *align);
                grid.at(rng.below(grid.len()))
            }
            Self::Skewed(skewed) => skewed.1.at(skewed.0.next(rng), wide),
            Self::Exponential { midpoint, align } => {
                let grid = space.places(wide, *align);
                let place = floor_u64(rng.exponential() * (grid.len() as f64 / midpoint));
                grid.at(place % grid.len())
            }
            Self::HotBand { band, align } => {
                let grid = space.places(wide, *align);
                grid.at(band.next(rng, op, wide).min(grid.len() - 1))
            }
        }
    }
}

/// Those that `seekpct=` can ask for: a hot band takes their place.
fn distribution_of_vdbench(distribution: AddressDistribution) -> bool {
    matches!(distribution, AddressDistribution::Uniform | AddressDistribution::Poisson(_))
}
