//! Job sections with all that holds for them.

use crate::options::Options;
use crate::source::Section;
use parameter_text::ReadingContext;
use plan::TextSpan;

/// A job section with its options, those of `[global]` included.
pub(crate) struct JobSection {
    pub(crate) name: String,
    pub(crate) span: TextSpan,
    pub(crate) options: Options,
    /// Number of its group in its run.
    pub(crate) group: u32,
    /// `exitall` stands in any job of the file: then it holds for all.
    pub(crate) exits_all: bool,
}

/// Applies `[global]` sections to the jobs behind them.
pub(crate) fn jobs(context: &mut ReadingContext, sections: &[Section]) -> Vec<JobSection> {
    let mut global = Options::default();
    let mut out: Vec<JobSection> = Vec::new();
    for section in sections {
        let mut options = if section.is_global() { std::mem::take(&mut global) } else { global.clone() };
        // Units first: they decide what the other options mean.
        let (units, others): (Vec<_>, Vec<_>) = section.lines.iter().partition(|line| line.key == "kb_base");
        units.into_iter().chain(others).for_each(|line| options.take(context, line));
        if section.is_global() {
            global = options;
            continue;
        }
        let name = section.lines.iter().rev().find(|line| line.key == "name").and_then(|line| line.value.clone());
        options.stonewall |= section.first_of_file;
        let name = name.unwrap_or_else(|| section.name.clone());
        out.push(JobSection { name, span: section.span, options, group: 0, exits_all: false });
    }
    let exits_all = out.iter().any(|job| job.options.ends.exits_all);
    let mut group = 0;
    for job in &mut out {
        group = if job.options.stonewall { 0 } else { group + u32::from(job.options.ends.new_group) };
        (job.group, job.exits_all) = (group, exits_all);
    }
    out
}
