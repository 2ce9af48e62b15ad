//! `iodyno convert`.

use crate::args::{ConvertArgs, LanguageArg};
use crate::exit::{Failure, PARAMETERS};
use crate::load_files::{Inputs, read_files, split_inputs};
use crate::personality;
use output::OutputFile;
use params::{ParameterFormat, VdbenchOptions};
use std::path::{Path, PathBuf};

/// Writes the plan of a parameter file in the other language; what cannot be said there goes to standard error.
pub(crate) fn run(args: &ConvertArgs) -> Result<u8, Failure> {
    let (files, variables) = split_inputs(&args.inputs);
    if let Some(text) = own_text(args, &files).filter(|_| variables.is_empty()) {
        return write(args, text);
    }
    let options = VdbenchOptions { variables, ..VdbenchOptions::default() };
    let Inputs { plan, format, .. } = read_files(&files, &[], &options, false)?;
    // Those that the files include, too.
    plan.sources.iter().for_each(|source| output::protect_file(Path::new(&source.name)));
    let wanted = args.to.or_else(|| args.output.as_deref().and_then(by_ending)).unwrap_or(match format {
        ParameterFormat::Fio => LanguageArg::Vdbench,
        ParameterFormat::Vdbench | ParameterFormat::Unknown => LanguageArg::Fio,
    });
    let (printed, comment) = match wanted {
        LanguageArg::Vdbench => (params::print_vdbench(&plan), '*'),
        LanguageArg::Fio => (params::print_fio(&plan), '#'),
    };
    for sentence in &printed.unsaid {
        say!("iodyno: not said: {sentence}");
    }
    // A file that says nothing is no plan, and a script would take it for one.
    if printed.text.trim().is_empty() {
        let names: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
        let language = if wanted == LanguageArg::Fio { "fio's" } else { "Vdbench's" };
        let message =
            format!("nothing of {} can be said in {language} language; nothing was written", names.join(", "));
        return Err(Failure::new(PARAMETERS, message));
    }
    let mut text = String::new();
    let names: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
    text.push_str(&format!("{comment} {} by `iodyno convert`\n", names.join(", ")));
    for sentence in &printed.unsaid {
        text.push_str(&format!("{comment} not said: {sentence}\n"));
    }
    text.push_str(&printed.text);
    write(args, &text)
}

/// A personality in its own language stays as it is written, with its comments and variables, so that it can be changed.
fn own_text(args: &ConvertArgs, files: &[PathBuf]) -> Option<&'static str> {
    let language = args.to.or_else(|| args.output.as_deref().and_then(by_ending));
    let [one] = files else { return None };
    personality::named(one).filter(|_| language != Some(LanguageArg::Fio)).map(|found| found.text)
}

fn write(args: &ConvertArgs, text: &str) -> Result<u8, Failure> {
    match args.output.as_deref().filter(|path| !output::is_standard_output(path)) {
        None => crate::out::file(text),
        Some(path) => OutputFile::write_whole(path, args.force.force(), text.as_bytes())?,
    }
    Ok(0)
}

fn by_ending(path: &Path) -> Option<LanguageArg> {
    match path.extension()?.to_str()? {
        "fio" | "job" | "ini" => Some(LanguageArg::Fio),
        "vdb" | "vdbench" | "parm" | "txt" => Some(LanguageArg::Vdbench),
        _ => None,
    }
}
