//! The probe of requests as rows of the table `request_interval`.

use crate::numbers::signed;
use quantity::histogram::{Histogram, STORED_SUB_BITS};
use recording::Label;
use recording::rows::RequestInterval;
use trace::TraceError;
use trace::requests::{ServerAnswers, ServerLatencyTrace};

/// Rows of the interval from `from_ns` to `t_ns`; the recording began at `origin_ns`.
///
/// # Errors
/// The kernel's tables cannot be read.
pub(crate) fn rows(
    probe: &mut ServerLatencyTrace,
    (from_ns, t_ns, origin_ns): (u64, u64, u64),
) -> Result<Vec<RequestInterval>, TraceError> {
    let answers = probe.read()?;
    Ok(rows_of(probe.ports(), answers, (from_ns, t_ns, origin_ns)))
}

/// A port on which nothing was answered has a row that says so.
fn rows_of(
    ports: &[u16],
    answers: Vec<ServerAnswers>,
    (from_ns, t_ns, origin_ns): (u64, u64, u64),
) -> Vec<RequestInterval> {
    let row = |port: u16| RequestInterval {
        t_ns: signed(t_ns),
        t_s: t_ns.saturating_sub(origin_ns) as f64 / 1e9,
        interval_ns: signed(t_ns.saturating_sub(from_ns)),
        port: port.into(),
        comm: None,
        preempted: None,
        count: None,
        response: Histogram::new(STORED_SUB_BITS),
    };
    let silent: Vec<u16> = ports.iter().copied().filter(|port| answers.iter().all(|of| of.port != *port)).collect();
    let answered = answers.into_iter().map(|of| RequestInterval {
        comm: Some(Label(of.comm)),
        preempted: of.preempted,
        count: Some(signed(of.response.count())),
        response: of.response,
        ..row(of.port)
    });
    answered.chain(silent.into_iter().map(row)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_without_answers_has_a_row_without_figures() {
        let mut response = Histogram::new(STORED_SUB_BITS);
        response.record(20_000_000);
        let answers = vec![ServerAnswers { port: 80, comm: "httpd".into(), preempted: Some(true), response }];
        let rows = rows_of(&[80, 5432], answers, (1_000_000_000, 3_000_000_000, 1_000_000_000));
        let [http, none] = rows.as_slice() else { panic!("{rows:?}") };
        assert_eq!(
            (http.port, http.comm.as_deref(), http.preempted, http.count),
            (80, Some("httpd"), Some(true), Some(1))
        );
        assert_eq!((http.interval_ns, http.t_s), (2_000_000_000, 2.0));
        assert_eq!((none.port, none.comm.as_deref(), none.preempted, none.count), (5432, None, None, None));
        assert_eq!(none.response.percentile(0.5), None);
    }
}
