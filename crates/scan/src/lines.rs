//! The parameter lines that rebuild the like of a tree.

use crate::{ExactShape, Measured, SizeMix, TreeChoice};
use plan::FilePlace;
use quantity::figures::grouped;
use quantity::text::format_bytes;
use std::fmt::Write as _;
use std::path::Path;

/// What was measured, and what the lines make.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Likeness {
    /// Directories.
    pub directories: (u64, u64),
    /// Files.
    pub files: (u64, u64),
    /// Bytes of all files.
    pub bytes: (u128, u128),
    /// Mean level of the directories that have files, by file.
    pub level: (f64, f64),
    /// Percent of the files that get a size within a factor of two of their own; `None` without files.
    pub within_two: Option<f64>,
}

/// Parameter lines, and how alike their tree is.
#[derive(Clone, Debug, PartialEq)]
pub struct ScanLines {
    /// The choice of the tree.
    pub tree: TreeChoice,
    /// The choice of sizes.
    pub sizes: SizeMix,
    /// How alike they are.
    pub likeness: Likeness,
    /// Files without data were measured, which get a byte each.
    pub has_empty_files: bool,
}

/// `4k` where that is exact.
fn size_word(bytes: u64) -> String {
    for (unit, power) in [("g", 30), ("m", 20), ("k", 10)] {
        if bytes >= 1 << power && bytes.trailing_zeros() >= power {
            return format!("{}{unit}", bytes >> power);
        }
    }
    bytes.to_string()
}

/// What was made in percent of what was asked.
pub(crate) fn percent(asked: f64, made: f64) -> String {
    if asked > 0.0 { format!("{:.1} %", 100.0 * made / asked) } else { "–".to_string() }
}

/// Bytes for people, also of more than 64 bits.
pub(crate) fn bytes_word(bytes: u128) -> String {
    format_bytes(u64::try_from(bytes).unwrap_or(u64::MAX))
}

impl ScanLines {
    /// The lines for what was measured.
    #[must_use]
    pub fn of(measured: &Measured) -> Self {
        let tree = TreeChoice::of(measured);
        let (directories, files, level) = tree.counts();
        let sizes = SizeMix::of(&measured.sizes, files);
        let likeness = Likeness {
            directories: (measured.directories, directories),
            files: (measured.files, files),
            bytes: (measured.sizes.sum(), sizes.bytes()),
            level: (measured.mean_level(), level),
            within_two: sizes.within_two(&measured.sizes),
        };
        Self { tree, sizes, likeness, has_empty_files: measured.sizes.min() == Some(0) }
    }

    /// The `fsd=` line.
    #[must_use]
    pub fn fsd(&self) -> String {
        let TreeChoice { depth, width, files, place } = self.tree;
        let place = match place {
            FilePlace::Bottom => "bottom",
            FilePlace::All => "all",
        };
        let sizes = match self.sizes.parts.as_slice() {
            [(size, _)] => size_word(*size),
            parts => {
                let words = parts.iter().map(|(size, percent)| format!("{},{percent}", size_word(*size)));
                format!("({})", words.collect::<Vec<_>>().join(","))
            }
        };
        format!("fsd=scan,anchor=$anchor,depth={depth},width={width},files={files},distribution={place},sizes={sizes}")
    }

    /// How alike, a line for each figure: what was measured, what is made, and percent.
    #[must_use]
    pub fn likeness_lines(&self) -> Vec<String> {
        let Likeness { directories, files, bytes, level, within_two } = self.likeness;
        let counts = |what: &str, (asked, made): (u64, u64)| {
            let share = percent(asked as f64, made as f64);
            format!("{what} {} asked, {} made ({share})", grouped(asked as f64), grouped(made as f64))
        };
        let share = percent(bytes.0 as f64, bytes.1 as f64);
        let near = within_two.map_or("–".to_string(), |near| format!("{near:.1} %"));
        let mut lines = vec![
            counts("directories", directories),
            counts("files      ", files),
            format!("bytes       {} asked, {} made ({share})", bytes_word(bytes.0), bytes_word(bytes.1)),
            format!("files are in level {:.1} asked, {:.1} made, on average", level.0, level.1),
            format!("sizes: {near} of the files get one within a factor of two of their own"),
        ];
        if self.has_empty_files {
            lines.push("empty files get 1 byte or more: sizes= has no 0".to_string());
        }
        lines
    }

    /// The whole parameter file.
    #[must_use]
    pub fn text(&self, measured: &Measured) -> String {
        let mut text = measured_text(measured);
        let mut comment = |line: String| {
            let _ = writeln!(text, "* {line}");
        };
        comment("What the lines make of it:".to_string());
        self.likeness_lines().into_iter().for_each(|line| comment(format!("  {line}")));
        let (none, empty) = (measured.directories == 0, measured.files == 0);
        if none || empty {
            let missing = if empty { "files" } else { "directories" };
            comment(format!("The language has no tree without {missing}: there is at least one."));
        }
        comment(
            "Every directory of a level is alike; links, pipes, holes in files and names are not rebuilt.".to_string(),
        );
        text.push_str(&self.fsd());
        text.push_str(EXAMPLE);
        text
    }

    /// The whole parameter file of a tree whose exact shape is in this shape file.
    #[must_use]
    pub fn exact_text(measured: &Measured, shape: &ExactShape, shape_file: &Path) -> String {
        let mut text = measured_text(measured);
        for line in Self::exact_lines(shape) {
            let _ = writeln!(text, "* {line}");
        }
        text.push_str(&Self::exact_fsd(shape_file));
        text.push_str(EXAMPLE);
        text
    }

    /// What a tree from a shape file is, and what is not in it.
    #[must_use]
    pub fn exact_lines(shape: &ExactShape) -> Vec<String> {
        let tree = &shape.tree;
        let count = |value: u32| grouped(f64::from(value));
        vec![
            format!(
                "The tree is made as it was: {} directories in {} levels, {} files, {}. Each has its place and size from the \
                 shape file.",
                count(tree.directories()),
                tree.levels(),
                count(tree.files()),
                format_bytes(tree.total_bytes()),
            ),
            "Names, links, further names of a file, pipes and holes in files are not rebuilt. Vdbench does not know shape=."
                .to_string(),
        ]
    }

    /// The `fsd=` line of a tree whose exact shape is in this shape file.
    #[must_use]
    pub fn exact_fsd(shape_file: &Path) -> String {
        let file = shape_file.display().to_string();
        let is_plain = !file.contains([',', ' ', '=', '(', ')']);
        let file = if is_plain { file } else { format!("\"{file}\"") };
        format!("fsd=scan,anchor=$anchor,shape={file}")
    }
}

/// Behind the line of the tree.
const EXAMPLE: &str = "\n* An example: makes the tree, then reads whole files in random order.\n\
     fwd=fwd1,fsd=scan,operation=read,fileselect=random,fileio=sequential,xfersize=64k,threads=8\n\
     rd=rd1,fwd=fwd1,fwdrate=max,format=yes,elapsed=60,interval=1\n";

/// What was measured, as comments.
fn measured_text(measured: &Measured) -> String {
    let mut text = String::from(
        "* Rebuilds the like of a measured directory tree; made by `iodyno scan` (docs/scan.md).\n\
         * Everything is made below $anchor, an empty or missing directory. Run it: iodyno run THIS_FILE anchor=DIR\n",
    );
    let sizes = &measured.sizes;
    let figure = |value: Option<u64>| value.map_or("?".to_string(), format_bytes);
    let mut comment = |line: String| {
        let _ = writeln!(text, "* {line}");
    };
    let count = |value: u64| grouped(value as f64);
    comment(format!(
        "Measured: {} directories in {} levels, {} files, {}; {} symbolic links, {} others, {} files with several names, {} sparse",
        count(measured.directories),
        measured.depth(),
        count(measured.files),
        bytes_word(sizes.sum()),
        count(measured.symbolic_links),
        count(measured.others),
        count(measured.hard_linked),
        count(measured.sparse),
    ));
    comment(format!(
        "Sizes of files: median {}, p90 {}, p99 {}, greatest {}",
        figure(sizes.percentile(0.5)),
        figure(sizes.percentile(0.9)),
        figure(sizes.percentile(0.99)),
        figure(sizes.max()),
    ));
    if measured.unread > 0 {
        comment(format!("{} entries could not be read and are in no figure.", count(measured.unread)));
    }
    text
}
