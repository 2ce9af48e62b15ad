//! Parameters into definitions: each `sd=`, `wd=`, `rd=` … with what belongs to it, in the order of sections.

use crate::keys::{Section, resolve};
use crate::param::{Param, Text};
use parameter_text::{Diagnostic, ReadingContext};
use plan::TextSpan;

/// Longest name of a definition.
pub(crate) const NAME_MAX: usize = 200;
/// Parameters of a definition that are looked at to tell a definition in the wrong place from a parameter.
const LOOK_BACK: usize = 256;

/// One definition.
#[derive(Clone, Debug)]
pub(crate) struct Statement {
    pub(crate) section: Section,
    /// What stands behind the first `=`; the general section has none.
    pub(crate) name: Text,
    /// All values behind the first `=`, for `hd=(ip,label)`.
    pub(crate) names: Vec<Text>,
    pub(crate) params: Vec<Param>,
    /// The first keyword and its value.
    pub(crate) span: TextSpan,
}

/// Splits the stream of parameters.
pub(crate) fn group(context: &mut ReadingContext, params: Vec<Param>) -> Vec<Statement> {
    let mut out: Vec<Statement> = vec![Statement {
        section: Section::General,
        name: Text::default(),
        names: Vec::new(),
        params: Vec::new(),
        span: TextSpan::default(),
    }];
    let mut now = Section::General;
    for at in 0..params.len() {
        let param = &params[at];
        let begins = match Section::of(&param.key) {
            Some(section) if section >= now => Some(section),
            Some(section) if late_definition(section, now, &params[at..], out.last()) => {
                out_of_order(context, section, now, param);
                Some(section)
            }
            // The old form host=(ip,label), which also begins the section.
            None if param.key == "host" && now <= Section::Host && param.list => Some(Section::Host),
            _ => None,
        };
        match begins {
            Some(section) => {
                now = now.max(section);
                out.push(begin(section, param));
            }
            None => {
                if let Some(statement) = out.last_mut() {
                    statement.params.push(param.clone());
                }
            }
        }
    }
    out
}

fn begin(section: Section, param: &Param) -> Statement {
    let name = match section {
        // host=(ip,label)
        Section::Host => param.values.last(),
        _ => param.values.first(),
    };
    Statement {
        section,
        name: name.cloned().unwrap_or_default(),
        names: param.values.clone(),
        params: Vec::new(),
        span: TextSpan { len: param.key_span.len.saturating_add(1).saturating_add(param.span.len), ..param.key_span },
    }
}

/// Is `sd=` in a later section a definition in the wrong place, and not a parameter?
fn late_definition(section: Section, now: Section, rest: &[Param], last: Option<&Statement>) -> bool {
    let same_line = |param: &&Param| param.line == rest[0].line;
    let has = |word: &str| {
        rest.iter().skip(1).take_while(same_line).any(|param| word.starts_with(&param.key) && param.key.len() > 1)
    };
    let given = |word: &str| {
        last.is_some_and(|statement| statement.params.iter().rev().take(LOOK_BACK).any(|param| param.key == word))
    };
    match (section, now) {
        // hd= of a storage or a workload is its host.
        (Section::Host, Section::Storage | Section::Workload | Section::FileWorkload) => rest[0].first && has("system"),
        (Section::Host | Section::Group, _) => true,
        (Section::Storage, _) => rest[0].first && has("lun"),
        (Section::FileSystem, Section::FileWorkload | Section::Run) => rest[0].first && has("anchor"),
        (Section::Workload, Section::Run) => rest[0].first && (given("wd") || has("sd")) && given("iorate"),
        (Section::FileWorkload, Section::Run) => rest[0].first && given("fwd") && has("fsd"),
        (Section::FileSystem | Section::Workload, _) => true,
        _ => false,
    }
}

fn out_of_order(context: &mut ReadingContext, section: Section, now: Section, param: &Param) {
    let message = format!("{}= must come before {}=", section.word(), now.word());
    let help = "the order is: general, hd, rg, fsd, sd, wd, fwd, rd; move this definition up";
    context.push(Diagnostic::error("order", param.key_span, message).help(help));
}

/// The only values behind `sd=name`, complaining about lists and missing names.
pub(crate) fn check_name(context: &mut ReadingContext, statement: &Statement) -> bool {
    let word = statement.section.word();
    if statement.names.len() == 1 && (1..=NAME_MAX).contains(&statement.name.text.len()) {
        return true;
    }
    if statement.name.text.len() > NAME_MAX {
        let message = format!("the name behind {word}= is longer than {NAME_MAX} bytes");
        context.push(Diagnostic::error("name", statement.span, message));
        return false;
    }
    let message = format!("{word}= wants one name, found {}", statement.names.len());
    let found = Diagnostic::error("name", statement.span, message);
    context.push(match statement.section {
        Section::Storage => found.help("count=(1,4) makes several of one definition"),
        _ => found,
    });
    false
}

/// Calls `set` for each parameter whose keyword is known, with the keyword's full name.
pub(crate) fn each(
    context: &mut ReadingContext,
    statement: &Statement,
    mut set: impl FnMut(&mut ReadingContext, &'static str, &Param),
) {
    for param in &statement.params {
        if let Some(key) = resolve(context, statement.section, param) {
            set(context, key.means, param);
        }
    }
}

/// What copying a definition costs, in units of work.
pub(crate) fn weight(statement: &Statement) -> usize {
    statement.params.iter().flat_map(|param| &param.values).map(|text| 4 + text.text.len() / 16).sum::<usize>() + 4
}

/// A statement with `$host`, `!host`, `#host`, `#hosts` stands for one per host; others stay as they are.
pub(crate) fn per_host(statement: &Statement, hosts: &[String]) -> Vec<Statement> {
    let texts = || statement.names.iter().chain(statement.params.iter().flat_map(|param| &param.values));
    let mentions = |text: &Text| ["$host", "!host", "#host"].iter().any(|word| text.text.contains(word));
    if statement.section == Section::Run || !texts().any(mentions) {
        return vec![statement.clone()];
    }
    let count = hosts.len().to_string();
    let fill = |text: &mut Text, host: &str, number: usize| {
        let filled = text.text.replace("#hosts", &count).replace("$host", host).replace("!host", host);
        text.text = filled.replace("#host", &number.to_string());
    };
    hosts
        .iter()
        .enumerate()
        .map(|(number, host)| {
            let mut statement = statement.clone();
            fill(&mut statement.name, host, number);
            let Statement { names, params, .. } = &mut statement;
            names.iter_mut().chain(params.iter_mut().flat_map(|param| &mut param.values)).for_each(|text| {
                fill(text, host, number);
            });
            statement
        })
        .collect()
}
