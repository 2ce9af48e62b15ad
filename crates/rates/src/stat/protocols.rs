//! TCP and UDP as nicstat shows them, with what it gets wrong put right: retransmissions and listen drops are real here.

use super::FigureDigits::{Percent, Scaled};
use super::{Figures, StatColumn, columns, percent};
use crate::counter::{CounterStep, sum_known};
use recording::rows;

pub(super) const TCP: &[StatColumn] = columns! {
    "in_segments_per_s" "InSeg" Scaled, "segments received per second";
    "out_segments_per_s" "OutSeg" Scaled, "segments sent per second";
    "resets_per_s" "Reset" Percent, "connections reset by either side, per second";
    "attempt_fails_per_s" "AttF" Percent, "attempts to connect that failed, per second";
    "retransmit_percent" "%ReTX" Percent, "segments sent again ÷ all segments sent";
    "passive_opens_per_s" "InConn" Percent, "connections accepted per second";
    "active_opens_per_s" "OutCon" Percent, "connections opened per second";
    "listen_drops_per_s" "Drops" Percent, "connection requests dropped by listeners per second; overflows are among them";
    "listen_overflows_per_s" "Ovfl" Percent, "of those, because the accept queue was full";
    "timeouts_per_s" "TmOut" Percent, "retransmission timers that expired, per second";
    "syn_retransmits_per_s" "SynRtx" Percent, "connection requests sent again, per second";
    "established" "Estab" Scaled, "connections established at the end of the interval";
};

pub(super) struct Tcp;

impl Figures<rows::Tcp> for Tcp {
    fn key(&self, _row: &rows::Tcp) -> String {
        "TCP".to_string()
    }

    fn values(&self, step: &CounterStep<'_, rows::Tcp>) -> Vec<Option<f64>> {
        let again = step.delta_opt(|row| row.retransmits);
        // The kernel's OutSegs leaves out what was sent again.
        let sent = sum_known([step.delta_opt(|row| row.out_segments), again]);
        vec![
            step.rate_opt(|row| row.in_segments),
            step.rate_opt(|row| row.out_segments),
            sum_known([step.rate_opt(|row| row.established_resets), step.rate_opt(|row| row.resets_sent)]),
            step.rate_opt(|row| row.attempt_fails),
            percent(again, sent),
            step.rate_opt(|row| row.passive_opens),
            step.rate_opt(|row| row.active_opens),
            step.rate_opt(|row| row.listen_drops),
            step.rate_opt(|row| row.listen_overflows),
            step.rate_opt(|row| row.timeouts),
            step.rate_opt(|row| row.syn_retransmits),
            step.now.established.map(|count| count as f64),
        ]
    }
}

pub(super) const UDP: &[StatColumn] = columns! {
    "in_datagrams_per_s" "InDG" Scaled, "datagrams delivered per second";
    "out_datagrams_per_s" "OutDG" Scaled, "datagrams sent per second";
    "in_errors_per_s" "InErr" Percent, "datagrams not delivered, per second";
    "send_buffer_errors_per_s" "OutErr" Percent, "datagrams not sent for lack of room, per second";
    "no_ports_per_s" "NoPort" Percent, "datagrams for a port without a listener, per second";
    "receive_buffer_errors_per_s" "RcvBuf" Percent, "datagrams lost because a socket's buffer was full, per second";
};

pub(super) struct Udp;

impl Figures<rows::Udp> for Udp {
    fn key(&self, _row: &rows::Udp) -> String {
        "UDP".to_string()
    }

    fn values(&self, step: &CounterStep<'_, rows::Udp>) -> Vec<Option<f64>> {
        vec![
            step.rate_opt(|row| row.in_datagrams),
            step.rate_opt(|row| row.out_datagrams),
            step.rate_opt(|row| row.in_errors),
            step.rate_opt(|row| row.send_buffer_errors),
            step.rate_opt(|row| row.no_ports),
            step.rate_opt(|row| row.receive_buffer_errors),
        ]
    }
}
