//! What a user knows of links: `-S`, in nicstat's form.

use crate::exit::{Failure, PARAMETERS};
use clap::Args;
use rates::stat::{LinkDuplex, SpeedOverride};

/// `-S`.
#[derive(Debug, Args)]
pub(crate) struct SpeedArgs {
    /// Speed of a network link in Mbit/s, `fd` full or `hd` half duplex; overrides the driver.
    #[arg(short = 'S', long = "speed", value_name = "IF:MBIT[fd|hd]", value_delimiter = ',')]
    pub(crate) speeds: Vec<String>,
}

impl SpeedArgs {
    /// What was said of each link.
    pub(crate) fn links(&self) -> Result<Vec<SpeedOverride>, Failure> {
        self.speeds.iter().map(|text| speed(text)).collect()
    }
}

/// `eth0:200fd`, nicstat's form; the name itself may hold colons.
fn speed(text: &str) -> Result<SpeedOverride, Failure> {
    let wrong = || {
        Failure::new(
            PARAMETERS,
            format!(
                "-S {text}: write INTERFACE:MBIT, with fd or hd behind it for full or half duplex, like eth0:1000fd"
            ),
        )
    };
    let (interface, value) = text.rsplit_once(':').ok_or_else(wrong)?;
    let (number, duplex) = match (value.strip_suffix("fd"), value.strip_suffix("hd")) {
        (Some(number), _) => (number, LinkDuplex::Full),
        (_, Some(number)) => (number, LinkDuplex::Half),
        _ => (value, LinkDuplex::Full),
    };
    let mbit: f64 = number.parse().ok().filter(|mbit: &f64| mbit.is_finite() && *mbit > 0.0).ok_or_else(wrong)?;
    Ok(SpeedOverride { interface: interface.to_string(), bits_per_s: mbit * 1e6, duplex })
}

#[cfg(test)]
mod tests {
    use super::{LinkDuplex, SpeedArgs};

    #[test]
    fn links_and_what_is_none() {
        let of = |text: &str| SpeedArgs { speeds: vec![text.to_string()] }.links();
        for (text, interface, bits_per_s, duplex) in [
            ("eth0:1000", "eth0", 1e9, LinkDuplex::Full),
            ("eth0:2.5hd", "eth0", 2.5e6, LinkDuplex::Half),
            ("a:b:10fd", "a:b", 1e7, LinkDuplex::Full),
        ] {
            let link = of(text).unwrap_or_else(|failure| panic!("{text}: {}", failure.message)).remove(0);
            assert_eq!((link.interface.as_str(), link.bits_per_s, link.duplex), (interface, bits_per_s, duplex));
        }
        for text in ["eth0", "eth0:", "eth0:fast", "eth0:-1", "eth0:0hd", "eth0:10xd"] {
            assert!(of(text).is_err(), "{text}");
        }
    }
}
