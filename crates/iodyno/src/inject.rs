//! `iodyno inject`.

use crate::data_args::{InjectArgs, byte_count};
use crate::exit::{Failure, INTERRUPTED};
use crate::signals::watch_signals;
use monitor::StopFlag;
use output::OutputFile;
use stamped_data::{InjectPlaces, InjectRequest, InjectedBlock};
use target::WritePolicy;

/// Damages blocks of a target; gives the exit code.
pub(crate) fn run(args: &InjectArgs) -> Result<u8, Failure> {
    let places = match args.random {
        Some(count) => InjectPlaces::Random(count),
        None => InjectPlaces::At(args.at.iter().map(|text| byte_count(text, "--at")).collect::<Result<_, _>>()?),
    };
    let stop = StopFlag::default();
    watch_signals(&stop)?;
    let policy = WritePolicy { destroy: args.destroy.clone(), never_create: true, ..WritePolicy::default() };
    let request = InjectRequest {
        path: args.target.clone(),
        written_as: args.written_as.clone(),
        copies: args.copies,
        kind: args.kind.damage(args.bits),
        places,
        seed: args.seed,
        block_bytes: byte_count(&args.block, "--block")?,
        policy,
        stop: stop.clone(),
    };
    let mut done = Vec::new();
    let result = stamped_data::inject(&request, &mut done);
    // What was done is told also where it ended early.
    let listed = tell(args, &done);
    result?;
    listed?;
    let is_ended = stop.is_requested();
    if is_ended {
        say!("iodyno: ended early: the blocks above are damaged, and no others");
    }
    Ok(if is_ended { INTERRUPTED } else { 0 })
}

/// Prints what was done, and writes the list.
fn tell(args: &InjectArgs, done: &[InjectedBlock]) -> Result<(), Failure> {
    let json = || done.iter().map(|block| format!("{}\n", block.json())).collect::<String>();
    let to_standard_output = args.list.as_deref().is_some_and(output::is_standard_output);
    if args.json || to_standard_output {
        crate::out::file(&json());
    } else {
        done.iter().for_each(|block| outln!("{}", block.line()));
    }
    match args.list.as_deref() {
        Some(path) if !to_standard_output => Ok(OutputFile::write_whole(path, args.force.force(), json().as_bytes())?),
        _ => Ok(()),
    }
}
