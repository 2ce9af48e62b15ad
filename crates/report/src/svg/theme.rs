//! Colours, the same as in `web/src/report.css` and `web/src/colour.ts`.

use view::{LineStyle, Tone};

/// Light or dark.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Theme {
    /// Dark on light.
    #[default]
    Light,
    /// Light on dark.
    Dark,
}

impl Theme {
    fn pick(self, light: &'static str, dark: &'static str) -> &'static str {
        match self {
            Self::Light => light,
            Self::Dark => dark,
        }
    }

    pub(crate) fn card(self) -> &'static str {
        self.pick("#ffffff", "#151b23")
    }

    pub(crate) fn ink(self) -> &'static str {
        self.pick("#14181f", "#e8ecf2")
    }

    pub(crate) fn soft(self) -> &'static str {
        self.pick("#5b6472", "#99a3b2")
    }

    pub(crate) fn grid(self) -> &'static str {
        self.pick("#eceef2", "#222a34")
    }

    pub(crate) fn axis(self) -> &'static str {
        self.pick("#b4bac4", "#4a5462")
    }

    pub(crate) fn phase(self) -> (&'static str, &'static str) {
        (self.pick("#647084", "#9aa7bd"), "0.1")
    }

    pub(crate) fn command(self) -> (&'static str, &'static str) {
        (self.pick("#2f6fd6", "#6ea8ff"), "0.16")
    }

    pub(crate) fn stall(self) -> (&'static str, &'static str) {
        (self.pick("#d43030", "#ff5a5a"), "0.27")
    }

    pub(crate) fn stall_ink(self) -> &'static str {
        self.pick("#b3261e", "#ff8f86")
    }

    /// Letters of this tone: tones differ in lightness too, and the words say the same.
    pub(crate) fn tone(self, tone: Tone) -> &'static str {
        match tone {
            Tone::Plain | Tone::Info => self.ink(),
            Tone::Good => self.pick("#00704f", "#3ccb9b"),
            Tone::Warning => self.pick("#8a5a00", "#f2c266"),
            Tone::Error => self.stall_ink(),
        }
    }

    pub(crate) fn line(self, style: LineStyle) -> &'static str {
        use LineStyle as S;
        match style {
            S::Total => self.pick("#3b4658", "#d3dae6"),
            S::Asked => self.pick("#868e9a", "#8d97a6"),
            S::Read | S::Category0 => self.pick("#0068a8", "#5bb8f0"),
            S::Write | S::Category1 => self.pick("#cf5a00", "#f5974f"),
            S::Trim | S::Category2 => self.pick("#00835f", "#3ccb9b"),
            S::Flush | S::Category3 => self.pick("#a8568a", "#dd9cc8"),
            S::Category4 => self.pick("#a67c00", "#e8c14d"),
            S::Category5 => self.pick("#6b7280", "#99a3b2"),
            S::Rank0 => self.pick("#2c6fd1", "#6a93ff"),
            S::Rank1 => self.pick("#7248c2", "#ab80f5"),
            S::Rank2 => self.pick("#b02f8a", "#ea6cc0"),
            S::Rank3 => self.pick("#d9502e", "#ff8a5c"),
            S::Rank4 => self.pick("#b98300", "#f5cf5e"),
        }
    }

    /// Colour of `part` in 0 … 1 of a heat map.
    pub(crate) fn heat(self, part: f64) -> (u8, u8, u8) {
        const LIGHT: [u32; 9] =
            [0xeef4fb, 0xcfe1f2, 0xa6cbe6, 0x73acd6, 0x4489c4, 0x2667ae, 0x1a4790, 0x172c68, 0x140e36];
        const DARK: [u32; 9] =
            [0x1a1230, 0x35115c, 0x641a80, 0x932b80, 0xc33b75, 0xea5661, 0xfb8761, 0xfec287, 0xfcfdbf];
        let stops = if self == Self::Light { LIGHT } else { DARK };
        let place = part.clamp(0.0, 1.0) * (stops.len() - 1) as f64;
        let index = stops.len() - 2;
        let index =
            (0..index).rfind(|at| *at as f64 <= place).map_or(0, |at| if place >= index as f64 { index } else { at });
        let rest = place - index as f64;
        let channel = |shift: u32| {
            let at = |stop: u32| f64::from((stop >> shift) & 255);
            rounded(at(stops[index]) + (at(stops[index + 1]) - at(stops[index])) * rest)
        };
        (channel(16), channel(8), channel(0))
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to 0 … 255")]
fn rounded(value: f64) -> u8 {
    value.round().clamp(0.0, 255.0) as u8
}
