//! From keys to what is to be done.

use super::state::{Cycle, Prompt, TopState};
use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use top_page::{DrillTarget, PageSheet};

/// What a key asks of the owner of the time and the samples.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PageCommand {
    /// Nothing but to be drawn anew.
    Draw,
    /// End.
    Quit,
    /// Hold, or go on; a recording is played.
    Pause,
    /// So many samples on; negative: back.
    Samples(i64),
    /// So many seconds on; negative: back.
    Seconds(i64),
    /// To the first moment.
    First,
    /// To the newest moment.
    Last,
    /// To the next finding, or the one before.
    Finding {
        /// On, not back.
        on: bool,
    },
    /// To this time: `hh:mm[:ss]`, `2026-11-20 03:12`, `-10m`, `+30s`.
    GoTo(String),
    /// Write what is shown to a file.
    Snapshot,
    /// Mark a window of time here, or compare two of them.
    Mark,
    /// Set a bookmark here, or take it away.
    Bookmark,
    /// To the next bookmark; after the last one, to the first.
    NextBookmark,
    /// Play a recording faster, or slower.
    Speed {
        /// Not slower.
        faster: bool,
    },
    /// Another length for windows that are compared.
    MarkLength,
    /// To the shell; the page comes back with `fg`.
    Suspend,
}

impl TopState {
    /// Understands a key.
    pub fn key(&mut self, key: KeyEvent) -> PageCommand {
        if key.kind == KeyEventKind::Release {
            return PageCommand::Draw;
        }
        self.message = None;
        if key.modifiers.contains(KeyModifiers::CONTROL) {
            return match key.code {
                KeyCode::Char('c' | 'd') => PageCommand::Quit,
                KeyCode::Char('z') => PageCommand::Suspend,
                _ => PageCommand::Draw,
            };
        }
        if let Some(prompt) = self.prompt.take() {
            return self.type_into(prompt, key.code);
        }
        self.moving(key).unwrap_or_else(|| self.choosing(key.code))
    }

    /// Keys that go through time.
    fn moving(&mut self, key: KeyEvent) -> Option<PageCommand> {
        let far = key.modifiers.contains(KeyModifiers::SHIFT);
        Some(match key.code {
            KeyCode::Left if far => PageCommand::Seconds(-60),
            KeyCode::Right if far => PageCommand::Seconds(60),
            KeyCode::Left => PageCommand::Samples(-1),
            KeyCode::Right => PageCommand::Samples(1),
            // Terminals without shifted arrows.
            KeyCode::Char('<') => PageCommand::Seconds(-60),
            KeyCode::Char('>') => PageCommand::Seconds(60),
            KeyCode::Home => PageCommand::First,
            KeyCode::End => PageCommand::Last,
            KeyCode::Char(' ') => PageCommand::Pause,
            KeyCode::Char('n') if self.is_recorded => PageCommand::Finding { on: true },
            KeyCode::Char('N') if self.is_recorded => PageCommand::Finding { on: false },
            KeyCode::Char(']') => PageCommand::Finding { on: true },
            KeyCode::Char('[') => PageCommand::Finding { on: false },
            KeyCode::Char('g') => {
                self.prompt = Some(Prompt::GoTo(String::new()));
                PageCommand::Draw
            }
            KeyCode::Char('s') => PageCommand::Snapshot,
            KeyCode::Char('D') => PageCommand::Mark,
            KeyCode::Char('w') => PageCommand::MarkLength,
            KeyCode::Char('+' | '=') if self.is_recorded => PageCommand::Speed { faster: true },
            KeyCode::Char('-') if self.is_recorded => PageCommand::Speed { faster: false },
            KeyCode::Char('b') => PageCommand::Bookmark,
            KeyCode::Char('B') => PageCommand::NextBookmark,
            KeyCode::Char('q') => PageCommand::Quit,
            _ => return None,
        })
    }

    /// Keys that choose what is shown.
    fn choosing(&mut self, code: KeyCode) -> PageCommand {
        match code {
            KeyCode::Char('?' | 'h') => self.help = !self.help,
            KeyCode::Esc | KeyCode::Backspace => self.back(),
            KeyCode::Char('c') => self.open(PageSheet::Cpu),
            KeyCode::Char('d') => self.open(PageSheet::Disks),
            KeyCode::Char('n' | 'e') => self.open(PageSheet::Net),
            KeyCode::Char('m') => self.open(PageSheet::Memory),
            KeyCode::Char('i') => self.open(PageSheet::Interrupts),
            KeyCode::Char('F') => self.open(PageSheet::Files),
            KeyCode::Char('p') => self.open(PageSheet::Processes),
            KeyCode::Char('r') => self.open_requests(),
            KeyCode::Char('f') => self.open(PageSheet::Findings),
            KeyCode::Char('x') => self.explain(),
            KeyCode::Char('/') => {
                self.filter.clear();
                self.prompt = Some(Prompt::Filter);
            }
            KeyCode::Tab | KeyCode::Char('.') if self.shows_maps() => self.map = self.map.next(),
            KeyCode::Tab | KeyCode::Char('.') => {
                let is_net = self.net_line.is_some() && self.net_line == Some(self.selected);
                self.cycle = Some(if is_net { Cycle::Net } else { Cycle::Disk });
            }
            KeyCode::Up | KeyCode::Char('k') => self.selected = self.selected.saturating_sub(1),
            KeyCode::Down | KeyCode::Char('j') => {
                self.selected = (self.selected + 1).min(self.lines.len().saturating_sub(1))
            }
            KeyCode::PageUp => self.selected = self.selected.saturating_sub(10),
            KeyCode::PageDown => self.selected = (self.selected + 10).min(self.lines.len().saturating_sub(1)),
            KeyCode::Enter => self.drill(),
            _ => {}
        }
        PageCommand::Draw
    }

    /// Closes what was opened last; a filter first.
    fn back(&mut self) {
        if self.help {
            self.help = false;
        } else if self.explained.is_some() {
            self.explained = None;
        } else if !self.filter.is_empty() {
            self.filter.clear();
        } else {
            self.sheets.pop();
            (self.selected, self.scroll) = (0, 0);
        }
    }

    /// The finding of the chosen line, else the worst.
    fn explain(&mut self) {
        let of = |drill: &DrillTarget| if let DrillTarget::Finding(id) = drill { Some(*id) } else { None };
        self.explained = match self.explained {
            Some(_) => None,
            None => self.lines.get(self.selected).and_then(of).or_else(|| self.lines.iter().find_map(of)),
        };
        if self.explained.is_none() {
            self.say("no finding is on the page; f lists all of them");
        }
    }

    fn drill(&mut self) {
        match self.lines.get(self.selected).cloned() {
            Some(DrillTarget::Finding(id)) => self.explained = if self.explained == Some(id) { None } else { Some(id) },
            Some(DrillTarget::Sheet(sheet)) => {
                // What it was to find has been found.
                self.filter.clear();
                self.open(sheet);
            }
            Some(DrillTarget::Nothing) | None => self.say("nothing stands behind this line"),
        }
    }

    fn type_into(&mut self, prompt: Prompt, code: KeyCode) -> PageCommand {
        match (prompt, code) {
            (Prompt::Filter, KeyCode::Esc) => self.filter.clear(),
            (Prompt::Filter, KeyCode::Enter) | (Prompt::GoTo(_), KeyCode::Esc) => {}
            (Prompt::Filter, code) => {
                match code {
                    KeyCode::Char(c) => self.filter.push(c),
                    KeyCode::Backspace => drop(self.filter.pop()),
                    _ => {}
                }
                (self.selected, self.scroll) = (0, 0);
                self.prompt = Some(Prompt::Filter);
            }
            (Prompt::GoTo(text), KeyCode::Enter) => return PageCommand::GoTo(text),
            (Prompt::GoTo(mut text), code) => {
                match code {
                    KeyCode::Char(c) => text.push(c),
                    KeyCode::Backspace => drop(text.pop()),
                    _ => {}
                }
                self.prompt = Some(Prompt::GoTo(text));
            }
        }
        PageCommand::Draw
    }
}
