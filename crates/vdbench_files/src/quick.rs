//! Vdbench's built-in quick tests (`-t`, `-t1`, `-t2`, `-td`, `-tf`) as parameter texts.

use parameter_text::{FormatOverride, QuickTest};

/// The test that a `-t` flag with this value means: nothing, `1`, `2`, `d` or `f`.
///
/// # Errors
/// Another value.
pub fn quick(value: &str) -> Result<QuickTest, String> {
    match value {
        "" => Ok(QuickTest::Mixed),
        "1" => Ok(QuickTest::Sync),
        "2" => Ok(QuickTest::Writes),
        "d" => Ok(QuickTest::DirectWrites),
        "f" => Ok(QuickTest::Files),
        _ => Err(format!("-t{value} is no quick test; there are -t, -t1, -t2, -td and -tf")),
    }
}

/// What a `-c` flag with this value says of trees: nothing, `o`, `y` or `n`.
///
/// # Errors
/// Another value.
pub fn format_override(value: &str) -> Result<FormatOverride, String> {
    match value {
        "" => Ok(FormatOverride::Clean),
        "o" => Ok(FormatOverride::Only),
        "y" => Ok(FormatOverride::Yes),
        "n" => Ok(FormatOverride::No),
        _ => Err(format!("-c{value} is unknown; there are -c, -co, -cy and -cn")),
    }
}

/// The parameter text of a quick test; its scratch file is put into `$TMPDIR`, else `/tmp`.
pub(crate) fn quick_test(test: QuickTest) -> String {
    let folder = std::env::var("TMPDIR").ok().filter(|folder| folder.starts_with('/'));
    text_in(test, folder.as_deref().unwrap_or("/tmp").trim_end_matches('/'))
}

fn text_in(test: QuickTest, folder: &str) -> String {
    let raw = |flags: &str, read: u32, rate: &str| {
        format!(
            "sd=sd1,lun=\"{folder}/quick_vdbench_test\",size=40m{flags}\nwd=wd1,sd=sd1,xf=1k,rdpct={read}\n\
             rd=rd1,wd=wd1,iorate={rate},elapsed=5,interval=1\n"
        )
    };
    match test {
        QuickTest::Mixed => raw("", 50, "100"),
        QuickTest::Sync => raw(",openflags=o_sync", 50, "100"),
        QuickTest::Writes => raw("", 0, "max"),
        // 1 KiB does not suit a disk of 4 KiB blocks, which direct I/O must.
        QuickTest::DirectWrites => raw(",openflags=o_direct", 0, "max").replace("xf=1k", "xf=4k"),
        QuickTest::Files => format!(
            "fsd=fsd1,anchor=\"{folder}/fsd1\",depth=1,width=1,files=100,size=128k\n\
             fwd=default,xfersize=4k,fileio=random,fileselect=random,threads=8,\nstopafter=100\n\
             fwd=fwd1,fsd=fsd1,operation=read\nfwd=fwd2,fsd=fsd1,operation=write\n\
             rd=rd1,fwd=fwd*,fwdrate=100,format=yes,elapsed=5,interval=1\n"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::{QuickTest, text_in};

    #[test]
    fn texts_are_those_of_vdbench() {
        for (test, name) in [
            (QuickTest::Mixed, "quick_t"),
            (QuickTest::Sync, "quick_t1"),
            (QuickTest::Writes, "quick_t2"),
            (QuickTest::Files, "quick_tf"),
        ] {
            let path = format!("{}/../../fixtures/vdbench/{name}", env!("CARGO_MANIFEST_DIR"));
            let expect = std::fs::read_to_string(path).unwrap();
            assert_eq!(text_in(test, "/tmp").replace('"', ""), expect, "{name}");
        }
    }
}
