//! The shell as a user has it: on a terminal, with Tab, several forms of answers, mistakes and history.

use crate::support::results;
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

/// How long the shell may take for anything.
const PATIENCE: Duration = Duration::from_secs(60);
const SCRIPT: &str = "the program `script` (bsdutils), which makes a terminal";
/// Nothing new for so long behind a prompt: it waits.
const SETTLED: Duration = Duration::from_millis(500);

/// What the shell shows, without the codes that move the cursor, for these keys, each entry typed at a prompt; `None`
/// without the program `script`, which makes the terminal.
fn shown(at: &Path, recordings: &str, typed: &[&str]) -> Option<String> {
    Command::new("script").arg("--version").output().ok()?;
    let command = format!("stty cols 200; '{}' {recordings}", env!("CARGO_BIN_EXE_iodyno-query"));
    let mut child = Command::new("script")
        .args(["-qefc", &command, "/dev/null"])
        .current_dir(at)
        .env("XDG_STATE_HOME", at.join("state"))
        .env("TERM", "xterm")
        .envs([testkit::mark()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let (mut keyboard, mut screen) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let (send, receive) = mpsc::channel();
    std::thread::spawn(move || {
        let mut bytes = [0; 4096];
        while let Ok(count @ 1..) = screen.read(&mut bytes) {
            if send.send(bytes[..count].to_vec()).is_err() {
                break;
            }
        }
    });
    let mut seen = Vec::new();
    for keys in typed {
        let before = seen.len();
        loop {
            let waits = seen.len() > before && plain(&seen).ends_with("sql> ");
            match receive.recv_timeout(if waits { SETTLED } else { PATIENCE }) {
                Ok(bytes) => seen.extend(bytes),
                Err(_) if waits => break,
                Err(error) => panic!("no prompt before {keys:?}: {error}\n{}", plain(&seen)),
            }
        }
        keyboard.write_all(keys.as_bytes()).unwrap();
    }
    seen.extend(receive.iter().flatten());
    let status = child.wait().unwrap();
    assert!(status.success(), "{status}\n{}", plain(&seen));
    Some(plain(&seen))
}

/// Text without escape sequences and carriage returns.
fn plain(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let mut out = String::new();
    let mut rest = text.chars();
    while let Some(letter) = rest.next() {
        match letter {
            // ESC [ parameters letter; ESC and one letter.
            '\u{1b}' => {
                if rest.next() == Some('[') {
                    let _ = rest.find(char::is_ascii_alphabetic);
                }
            }
            '\r' | '\u{7}' => {}
            other => out.push(other),
        }
    }
    out
}

#[test]
fn tab_completes_tables_columns_functions_and_commands() {
    let (_keep, at) = results();
    let keys = [
        ".sch\t trace_i\t\r",
        "select percenti\t(response, 0.5) > 0 as some, count(*) as n from op_i\t where targ\t = 'sd2';\r",
        "select count(complete_\t) as n from io where tim\t is null;\r",
        // Ctrl-U takes the line back.
        "select response_ns_\t\t\u{15}.quit\r",
    ];
    let Some(shown) = shown(&at, "results/monday results/tuesday", &keys) else {
        testkit::lacks(SCRIPT);
        return;
    };
    let lines: Vec<&str> = shown.lines().map(str::trim_end).collect();
    let has = |expect: &str| assert!(lines.contains(&expect), "no line `{expect}` in\n{shown}");
    assert!(shown.contains("monday, tuesday · .help helps, .quit leaves"), "{shown}");
    // The schema of the table whose name was completed.
    assert!(lines.iter().any(|line| line.starts_with("lost_buffer ") && line.contains("int64")), "{shown}");
    has("some    n");
    has("true  600");
    has("1 row");
    assert!(lines.iter().filter(|line| **line == "0").count() == 1, "no I/O without a time: {shown}");
    // Two tabs list what there is.
    assert!(lines.iter().any(|line| line.contains("response_ns_p99") && line.contains("response_ns_max")), "{shown}");
}

#[test]
fn forms_of_answers_mistakes_and_history() {
    let (_keep, at) = results();
    let ask = "select target, sum(ops) as ops from op_interval group by 1 order by 1;";
    let line = format!("{ask}\r");
    let keys = [
        line.as_str(),
        ".mode csv\r",
        &line,
        ".mode json\r",
        &line,
        ".mode parquet\r",
        ".mode table\r",
        "select opps\rfrom op_interval;\r",
        ".tabels\r",
        ".help percentile\r",
        ".help hist_bin\r",
        ".recordings\r",
        "select 1 as a; select 2 as b;\r",
        ".tables\r",
        ".quit\r",
    ];
    let Some(shown) = shown(&at, "results/monday", &keys) else {
        testkit::lacks(SCRIPT);
        return;
    };
    let expect = [
        // A table with units, CSV, JSON.
        "target    ops\n           op\n──────  ─────\nsd1     30000\nsd2     30000\n2 rows\n",
        "target,ops\nsd1,30000\nsd2,30000\n",
        "{\"target\":\"sd1\",\"ops\":30000}\n{\"target\":\"sd2\",\"ops\":30000}\n",
        ".mode table, .mode csv or .mode json\n",
        "there is no column `opps`\n  select opps\n         ^^^^\ndid you mean `ops`?\n",
        "there is no command .tabels; did you mean `.tables`?\n",
        "percentile(hist, q)\n  merges the histograms of all rows",
        "there is no function hist_bin; did you mean `hist_bins`?\n",
        "a\n─\n1\n1 row\nb\n─\n2\n1 row\n",
        "trace_interval     What a trace saw, lost and cost in one interval.\n",
    ];
    for expect in expect {
        assert!(shown.contains(expect), "`{expect}` is not in\n{shown}");
    }
    let history = std::fs::read_to_string(at.join("state/iodyno/query_history")).unwrap();
    assert!(history.contains(ask) && history.contains(".mode csv"), "{history}");
}
