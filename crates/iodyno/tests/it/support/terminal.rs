//! `top` on a terminal that a test drives.
#![allow(
    dead_code,
    unreachable_pub,
    clippy::allow_attributes,
    clippy::unwrap_used,
    reason = "each test binary uses a part of it"
)]

use std::path::Path;
use std::time::Duration;
use testkit::{CommandOutput, TestCommand};

/// Runs `top` on a terminal of its own: steps are `wait TEXT`, `gone TEXT` (no longer on the screen), `keys TEXT`, `size COLUMNS
/// ROWS`, `signal NUMBER`, `close`, and `end PROCESS`, which ends another one; `bytes` prints all
/// that came, in hexadecimal. Prints the exit code, whether the terminal's settings are those of before, and whether the page was left.
///
/// Only cells that differ from those before are drawn, so that a text may come in parts, or not at all where it stood already:
/// what is waited for has been drawn since the last key, or is on the screen and was not then, or is there for a while. A
/// new size is waited for until its last row is drawn: a key that comes in the moment of the signal waits for the next one.
const PTY: &str = r"
import codecs, os, pty, re, sys, time, termios, struct, fcntl, select, signal
argv, steps = sys.argv[1].split('\x1f'), sys.argv[2].split('\x1f')
master, slave = pty.openpty()
def size(c, r): fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack('HHHH', r, c, 0, 0))
size(80, 24)
before = termios.tcgetattr(slave)
pid = os.fork()
if pid == 0:
    os.setsid(); fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
    for fd in (0, 1, 2): os.dup2(slave, fd)
    os.environ.update(TERM='xterm-256color', LC_ALL='C.UTF-8')
    os.execv(argv[0], argv)
seen, cells, row, column, part = b'', {}, 1, 1, ''
decoder = codecs.getincrementaldecoder('utf-8')('replace')
control = re.compile('\x1b(?:\\[([ -?]*)([@-~])|[()].|[^\\[()])')
def show(data):
    global row, column, part
    text, part, at = part + decoder.decode(data), '', 0
    while at < len(text):
        letter, found = text[at], control.match(text, at)
        if letter == '\x1b' and not found: part = text[at:]; return
        at = found.end() if found else at + 1
        if found and found[2] == 'H': row, column = [int(word or 1) for word in (found[1] + ';1').split(';')[:2]]
        elif found and found[2] == 'J': cells.clear()
        elif letter == '\r': column = 1
        elif letter == '\n': row += 1
        elif not found: cells[row, column] = letter; column += 1
def screen():
    rows, columns = max([at[0] for at in cells] + [0]), max([at[1] for at in cells] + [0])
    return '\n'.join(''.join(cells.get((r, c), ' ') for c in range(1, columns + 1)) for r in range(1, rows + 1))
def pump(seconds):
    global seen
    if select.select([master], [], [], seconds)[0]:
        data = os.read(master, 65536)
        seen += data
        show(data)
def fail(why):
    print(why, seen[mark:][-2000:], screen(), sep='\n')
    # What each of its threads waits for.
    for task in os.listdir('/proc/%d/task' % pid):
        of = lambda name: open('/proc/%d/task/%s/%s' % (pid, task, name)).read()
        print(task, of('comm').strip(), of('wchan'), of('syscall').strip(), *[line for line in of('status').split('\n') if line[:3] in ('Sta', 'Sig')])
    os.kill(pid, 9); sys.exit(1)
mark, before_keys, asked = 0, '', time.time()
def is_there(text):
    if text.encode() in seen[mark:]: return True
    return text in screen() and (text not in before_keys or time.time() > asked + 3)
def resize(columns, rows):
    begun = signalled = time.time()
    size(columns, rows)
    while b'\x1b[2J' not in seen[mark:]:
        if time.time() > begun + 40: fail('NEVER DRAWN ANEW')
        if time.time() > signalled + 3: os.kill(pid, signal.SIGWINCH); signalled = time.time()
        pump(0.2)
    # A page need not have so many rows.
    end = time.time() + 3
    while b'\x1b[%d;' % rows not in seen[seen.rfind(b'\x1b[2J'):] and time.time() < end: pump(0.2)
for step in steps:
    word, _, rest = step.partition(' ')
    if word == 'wait':
        end = time.time() + 40
        while not is_there(rest) and time.time() < end: pump(0.2)
        if not is_there(rest): fail('NEVER SEEN: ' + rest)
    elif word == 'gone':
        end = time.time() + 40
        while rest in screen() and time.time() < end: pump(0.2)
        if rest in screen(): fail('STILL THERE: ' + rest)
    elif word == 'end': os.kill(int(rest), 15)
    elif word == 'keys':
        mark, before_keys, asked = len(seen), screen(), time.time()
        os.write(master, rest.encode().decode('unicode_escape').encode())
    elif word == 'size': mark, before_keys, asked = len(seen), screen(), time.time(); resize(*map(int, rest.split()))
    elif word == 'signal': os.kill(pid, int(rest))
    elif word == 'close': os.close(master); os.close(slave); master = -1
end, done = time.time() + 40, 0
while not done and time.time() < end:
    if master < 0: time.sleep(0.1)
    else: pump(0.1)
    done, status = os.waitpid(pid, os.WNOHANG)
if not done: fail('STILL RUNS')
if master < 0: print('ended', os.WIFEXITED(status) or os.WIFSIGNALED(status)); sys.exit(0)
while select.select([master], [], [], 0.2)[0]: seen += os.read(master, 65536)
if 'bytes' in steps: print('bytes', seen.hex())
print('exit', os.waitstatus_to_exitcode(status))
print('settings', termios.tcgetattr(slave) == before)
print('left', seen.rfind(b'\x1b[?1049l') > seen.rfind(b'\x1b[?1049h') >= 0, 'cursor', seen.rfind(b'\x1b[?25h') > seen.rfind(b'\x1b[?25l'))
";

/// What came of it.
pub fn on_a_terminal(arguments: &[&str], steps: &[&str]) -> String {
    on_a_terminal_in(Path::new("."), arguments, steps)
}

/// The same, in this directory.
pub fn on_a_terminal_in(directory: &Path, arguments: &[&str], steps: &[&str]) -> String {
    tried_on_a_terminal(directory, arguments, steps).expect_code(0).stdout
}

/// The same, whatever came of it.
pub fn tried_on_a_terminal(directory: &Path, arguments: &[&str], steps: &[&str]) -> CommandOutput {
    let argv: Vec<&str> = std::iter::once(env!("CARGO_BIN_EXE_iodyno")).chain(arguments.iter().copied()).collect();
    TestCommand::new("python3")
        .args(["-c", PTY, &argv.join("\x1f"), &steps.join("\x1f")])
        .limit(Duration::from_secs(150))
        .dir(directory)
        .run()
        .unwrap()
}

/// The bytes that a command sends to its terminal during these steps, and its exit code.
pub fn bytes_on_a_terminal(directory: &Path, arguments: &[&str], steps: &[&str]) -> (Vec<u8>, i32) {
    let said = tried_on_a_terminal(directory, arguments, &[steps, &["bytes"]].concat()).expect_code(0).stdout;
    let after = |word: &str| said.lines().find_map(|line| line.strip_prefix(word)).unwrap_or_default().to_string();
    let hex = after("bytes ");
    let bytes = (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect();
    (bytes, after("exit ").parse().unwrap())
}

/// Said when the terminal is as it was.
pub const GIVEN_BACK: &str = "settings True\nleft True cursor True\n";
