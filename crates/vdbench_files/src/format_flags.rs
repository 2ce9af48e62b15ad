//! What `format=` of a run definition and `-c…` of the command line say.

use crate::param::Param;
use parameter_text::{Diagnostic, FormatOverride, ReadingContext};
use plan::{FormatTask, TextSpan};

/// `format=`, word by word; Vdbench keeps each of these when another is set.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FormatFlags {
    /// Trees are made before the runs.
    pub(crate) requested: bool,
    /// The runs themselves are left out.
    pub(crate) only: bool,
    pub(crate) once: bool,
    restart: bool,
    clean: bool,
    directories: bool,
    pub(crate) limited: bool,
    /// Trees are taken for whole, without a look.
    pub(crate) complete: bool,
    pub(crate) span: TextSpan,
}

impl FormatFlags {
    /// As it is without `format=`.
    pub(crate) fn new(forced: Option<FormatOverride>) -> Self {
        let mut flags = Self::default();
        flags.force(forced);
        flags
    }

    fn force(&mut self, forced: Option<FormatOverride>) {
        match forced {
            Some(FormatOverride::No) => self.requested = false,
            Some(FormatOverride::Yes) => self.requested = true,
            Some(FormatOverride::Only) => (self.requested, self.only) = (true, true),
            Some(FormatOverride::Clean) | None => {}
        }
    }

    /// `format=(…)`: `no` anywhere wins over the other words.
    pub(crate) fn read(&mut self, context: &mut ReadingContext, param: &Param, forced: Option<FormatOverride>) {
        const WORDS: [&str; 9] =
            ["no", "yes", "restart", "only", "once", "clean", "directories", "limited", "complete"];
        let known = |text| crate::value::word(context, "format", text, &WORDS);
        let words: Vec<&str> = param.values.iter().filter_map(known).collect();
        self.span = param.span;
        let is_no = words.contains(&"no");
        for word in words.iter().filter(|_| !is_no) {
            match *word {
                "restart" => self.restart = true,
                "only" => self.only = true,
                "once" => self.once = true,
                "clean" => (self.clean, self.only) = (true, true),
                "directories" => self.directories = true,
                "limited" => self.limited = true,
                _ => {}
            }
        }
        self.requested = !is_no && (self.requested || !words.is_empty());
        self.force(forced);
        self.complete |= words.contains(&"complete");
        if self.requested && self.complete {
            let found = Diagnostic::error("format", param.span, "format=complete says that nothing is to be made");
            context.push(found.help("as in Vdbench: write format=(no,complete)"));
        }
        if self.limited && !self.only {
            let found = Diagnostic::error("format", param.span, "format=limited needs `only`");
            context.push(found.help("write format=(limited,only)"));
        }
    }

    /// May trees that several hosts share be made so?
    pub(crate) fn suits_shared(self) -> bool {
        !self.requested || self.clean || self.restart
    }

    /// What is done.
    pub(crate) fn task(self) -> FormatTask {
        FormatTask {
            deletes: self.clean || !self.restart,
            only_directories: self.directories,
            only_deletes: self.clean,
            limited: self.limited,
        }
    }
}
