//! What a process of iodyno and its executor say to each other, over a pair of sockets.
//!
//! To the executor: a line of JSON with what is to be executed, and while that runs a letter for each order. Back: a line of JSON
//! with how it went, and behind it the bytes of its output.

use crate::execution::{CommandEnd, ExecutedCommand, StopOrder};
use crate::kept_output::{KEPT_BYTES, KeptOutput};
use crate::usage::CommandUsage;
use plan::CommandLine;
use serde::{Deserialize, Serialize};
use std::io::{self, Write};

/// What is to be executed.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ExecutionRequest {
    pub(crate) line: CommandLine,
    pub(crate) prepare: Option<CommandLine>,
}

/// How it went; the output follows.
#[derive(Serialize, Deserialize)]
struct ExecutionReply {
    start_ns: Option<u64>,
    end_ns: u64,
    end: CommandEnd,
    usage: Option<CommandUsage>,
    left_behind: u64,
    error: String,
    output_bytes: u64,
    head_bytes: usize,
    tail_bytes: usize,
}

/// The letter of an order.
pub(crate) fn letter_of(order: StopOrder) -> u8 {
    match order {
        StopOrder::GoOn => b'g',
        StopOrder::Stop => b's',
        StopOrder::StopNow => b'n',
    }
}

/// The order of a letter; what is none orders nothing.
pub(crate) fn order_of(letter: u8) -> StopOrder {
    match letter {
        b's' => StopOrder::Stop,
        b'n' => StopOrder::StopNow,
        _ => StopOrder::GoOn,
    }
}

/// A line of JSON.
pub(crate) fn write_line(to: &mut dyn Write, message: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    to.write_all(&line)
}

pub(crate) fn write_reply(to: &mut dyn Write, done: &ExecutedCommand) -> io::Result<()> {
    let reply = ExecutionReply {
        start_ns: done.start_ns,
        end_ns: done.end_ns,
        end: done.end,
        usage: done.usage,
        left_behind: done.left_behind,
        error: done.error.clone(),
        output_bytes: done.output.bytes(),
        head_bytes: done.output.head().len(),
        tail_bytes: done.output.tail().len(),
    };
    write_line(to, &reply)?;
    to.write_all(done.output.head())?;
    to.write_all(done.output.tail())
}

/// Waits for a reply.
pub(crate) fn read_reply(from: &mut dyn io::BufRead) -> io::Result<ExecutedCommand> {
    let mut line = Vec::new();
    if from.read_until(b'\n', &mut line)? == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let reply: ExecutionReply = serde_json::from_slice(&line)?;
    let mut part = |bytes: usize| -> io::Result<Vec<u8>> {
        let mut part = vec![0; Some(bytes).filter(|bytes| *bytes <= KEPT_BYTES).ok_or(io::ErrorKind::InvalidData)?];
        from.read_exact(&mut part).map(|()| part)
    };
    let (head, tail) = (part(reply.head_bytes)?, part(reply.tail_bytes)?);
    Ok(ExecutedCommand {
        start_ns: reply.start_ns,
        end_ns: reply.end_ns,
        end: reply.end,
        usage: reply.usage,
        output: KeptOutput::of(head, tail, reply.output_bytes),
        left_behind: reply.left_behind,
        error: reply.error,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_comes_back_as_it_was() {
        let done = ExecutedCommand {
            output: KeptOutput::of(vec![b'\n', 0, 255], vec![7; 1000], 100_000),
            usage: Some(CommandUsage { user_ns: 3, max_rss_bytes: Some(5), ..CommandUsage::default() }),
            left_behind: 2,
            ..ExecutedCommand::not_started(CommandEnd::Stopped { code: None, signal: Some(9) }, "why\n\"".to_string())
        };
        let mut bytes = Vec::new();
        write_reply(&mut bytes, &done).unwrap();
        let back = read_reply(&mut bytes.as_slice()).unwrap();
        assert_eq!(format!("{back:?}"), format!("{done:?}"));
        // Cut anywhere, it is an error and never half a reply.
        assert!((0..bytes.len()).all(|length| read_reply(&mut &bytes[..length]).is_err()));
    }

    #[test]
    fn letters_are_orders() {
        for order in [StopOrder::GoOn, StopOrder::Stop, StopOrder::StopNow] {
            assert_eq!(order_of(letter_of(order)), order);
        }
    }
}
