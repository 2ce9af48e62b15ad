//! The terminal itself: taken for the page, and given back whatever happens. Cells come from [`super::canvas`], which lets
//! no hidden character into one; the sequences of crossterm are the page's own.

use super::{TopPage, TopState, draw};
use crossterm::event::{self, Event, KeyEvent};
use crossterm::{cursor, execute, terminal};
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::termios::{OptionalActions, tcgetattr, tcsetattr};
use std::fs::File;
use std::io::{self, IsTerminal as _, Stdout};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::sync::Once;
use std::time::Duration;

/// The terminal with the page on it. Dropping it gives the terminal back.
#[derive(Debug)]
pub struct Screen {
    terminal: Terminal<CrosstermBackend<Stdout>>,
    /// Where keys come from when that is not standard input.
    keys: Option<File>,
    taken: bool,
}

/// Is there a terminal that the page can be drawn on?
#[must_use]
pub fn has_terminal() -> bool {
    let dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb" || term.is_empty());
    io::stdout().is_terminal() && !dumb
}

fn take() -> io::Result<()> {
    terminal::enable_raw_mode()?;
    execute!(io::stdout(), terminal::EnterAlternateScreen, cursor::Hide)
}

/// Gives the terminal back, as dropping a [`Screen`] does: for a process that ends without that.
pub fn give_back() {
    // Gives back what it can; there is no terminal left for an error message.
    let _ = execute!(io::stdout(), terminal::LeaveAlternateScreen, cursor::Show);
    let _ = terminal::disable_raw_mode();
}

impl Screen {
    /// Takes the terminal.
    ///
    /// # Errors
    /// It is none, or has gone away.
    pub fn take() -> io::Result<Self> {
        static HOOK: Once = Once::new();
        HOOK.call_once(|| {
            let before = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |panic| {
                give_back();
                before(panic);
            }));
        });
        take()?;
        let made = Terminal::new(CrosstermBackend::new(io::stdout()));
        if made.is_err() {
            give_back();
        }
        let keys = if io::stdin().is_terminal() { None } else { File::open("/dev/tty").ok() };
        Ok(Self { terminal: made?, keys, taken: true })
    }

    /// Draws the page; what did not change is not sent.
    ///
    /// # Errors
    /// The terminal has gone away.
    pub fn draw(&mut self, state: &mut TopState, page: &TopPage<'_>) -> io::Result<()> {
        self.terminal.draw(|frame| draw(state, page, frame.buffer_mut())).map(drop)
    }

    /// The next key within a time; `Some(None)` when the terminal has another size.
    ///
    /// # Errors
    /// The terminal has gone away.
    pub fn key(&mut self, within: Duration) -> io::Result<Option<Option<KeyEvent>>> {
        // Keys that came together were read together, and are there without waiting.
        self.wait(Duration::ZERO)?;
        if !event::poll(Duration::ZERO)? {
            let is_there = self.wait(within)?;
            if !(event::poll(Duration::ZERO)? || is_there && self.reports_key_again()?) {
                return Ok(self.has_another_size()?.then_some(None));
            }
        }
        Ok(match event::read()? {
            Event::Key(key) => Some(Some(key)),
            Event::Resize(..) => Some(None),
            _ => None,
        })
    }

    /// Makes the terminal report a key again; true: crossterm has seen it. Of a key and a new size that come
    /// together, crossterm takes one, and would see the other with the next key or size only.
    fn reports_key_again(&self) -> io::Result<bool> {
        let keys = self.keys();
        // The settings as they are: setting them wakes who waits for keys.
        tcsetattr(keys, OptionalActions::Now, &tcgetattr(keys)?)?;
        event::poll(Duration::ZERO)
    }

    /// Whether the page was drawn in another size than the terminal has.
    fn has_another_size(&mut self) -> io::Result<bool> {
        let drawn = self.terminal.get_frame().area();
        let now = self.terminal.size()?;
        Ok((drawn.width, drawn.height) != (now.width, now.height))
    }

    /// Where keys come from.
    fn keys(&self) -> BorrowedFd<'_> {
        match &self.keys {
            Some(file) => file.as_fd(),
            None => rustix::stdio::stdin(),
        }
    }

    /// Waits for a key, a signal, or the time; true: a key is there. A terminal that was closed is met here: asked for keys of it, crossterm
    /// reads its end over and over and does not come back.
    fn wait(&self, within: Duration) -> io::Result<bool> {
        let mut asked = [PollFd::from_borrowed_fd(self.keys(), PollFlags::IN)];
        let within = Timespec::try_from(within).unwrap_or(Timespec { tv_sec: 1, tv_nsec: 0 });
        // A signal ends the wait: the terminal has another size, or is gone, which only a second look tells.
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        match poll(&mut asked, Some(&within)) {
            Err(Errno::INTR) => poll(&mut asked, Some(&now))?,
            polled => polled?,
        };
        if asked[0].revents().intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL) {
            return Err(io::Error::new(io::ErrorKind::BrokenPipe, "the terminal was closed"));
        }
        Ok(asked[0].revents().contains(PollFlags::IN))
    }

    /// Gives the terminal back and stops this process, until it is continued (SIGCONT).
    ///
    /// # Errors
    /// The terminal has gone away.
    pub fn suspend(&mut self) -> io::Result<()> {
        give_back();
        rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::TSTP)?;
        take()?;
        self.terminal.clear()
    }

    /// Gives the terminal back.
    pub fn end(mut self) {
        self.taken = false;
        give_back();
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        if self.taken {
            give_back();
        }
    }
}
