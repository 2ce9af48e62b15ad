//! Parameter files that are nearly right: valid files changed at random, by a seed.

/// Words that the language knows, and values that have been trouble elsewhere.
const WORDS: &[&str] = &[
    "sd=",
    "wd=",
    "rd=",
    "hd=",
    "fsd=",
    "fwd=",
    "rg=",
    "lun=",
    "xfersize=",
    "rdpct=",
    "seekpct=",
    "iorate=",
    "elapsed=",
    "interval=",
    "threads=",
    "forthreads=",
    "forxfersize=",
    "forhitarea=",
    "skew=",
    "priority=",
    "curve=",
    "stopcurve=",
    "distribution=",
    "range=",
    "hotband=",
    "stride=",
    "streams=",
    "count=",
    "size=",
    "host=",
    "default",
    "openflags=",
    "histogram=",
    "dedupratio=",
    "dedupunit=",
    "dedupsets=",
    "deduphotsets=",
    "compratio=",
    "data_errors=",
    "validate=",
    "journal=",
    "startcmd=",
    "loop=",
    "include=other",
    "include=job.vdb",
    "eof",
    "maxdata=",
    "warmup=",
    "pause=",
    "format=",
    "operations=",
    "foroperations=",
    "anchor=",
    "random_distribution=",
    "coverage=exact",
    "flow=",
    "flow=(create,append:4k-9k,fsync,next,delete)",
    "next",
    "rename",
    "trimpct=",
    "flushpct=",
    "fsync_every=",
    "thinktime=",
    "maxops=",
    "cmd=",
    "cmd=\"a {n} {x}\"",
    "at=",
    "times=",
    "times=max",
    "warmups=",
    "baseline=",
    "prepare=",
    "vary=",
    "vary=(n,1,2)",
    "{n}",
    "{",
    "}",
    "concatenatesds=yes",
    "pattern=",
    "monitor=",
    "misc=",
    "sd1",
    "sd*",
    "(sd1-sd4)",
    "(sd1-sd99999999)",
    "single",
    "setsof2",
    "max",
    "curve",
    "(1-10,1)",
    "(1-64,d)",
    "(64k-1k,d)",
    "(1-1000000000,1)",
    "(1,1e9)",
    "(1,16384)",
    "(10,50%)",
    "-50",
    "50%",
    "4k",
    "4600d",
    "0",
    "1",
    "-1",
    "18446744073709551616",
    "1e308",
    "nan",
    "0x4000",
    "0xffffffffff",
    "(poisson,5)",
    "eof",
    "(zipf,1.2)",
    "zipf:1.2",
    "(100,2,200,3)",
    "spike",
    "variable",
    "$x",
    "!x",
    "$host",
    "#host",
    "#hosts",
    "\"",
    "(",
    ")",
    ",",
    "=",
    "\n",
    " ",
    "*",
    "#",
    "/",
    "\t",
    "\r\n",
    "é",
    "\u{feff}",
    "\u{0}",
    "((1,2),3)",
    "%d",
    "%999d",
    "localhost",
    "[global]",
    "[job]",
    "rw=randrw:8",
    "bs=4k,8k,",
    "bssplit=4k/50:8k/50",
    "size=50%",
    "filename=",
    "stonewall",
    "numjobs=3",
    "wait_for=a",
    "random_distribution=zoned:50/10:/",
    "percentage_random=30",
    "rate=1m,2m",
    "thinktime=5ms",
    "offset_increment=1g",
    "include ",
    "${HOME}",
    "((2*",
    "1024g",
    "%",
    ":",
    "/",
    "-",
];

/// A small generator of random numbers (splitmix64).
#[derive(Clone, Debug)]
pub(crate) struct Random(pub(crate) u64);

impl Random {
    /// The next number.
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `end`, 0 when that is 0.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % (end.max(1) as u64)).unwrap_or(0)
    }
}

/// A file of the corpus with one to eight changes.
pub(crate) fn mutate(corpus: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let mut text = corpus[random.below(corpus.len())].clone();
    let changes = if random.below(2) == 0 { 1 } else { 1 + random.below(8) };
    for _ in 0..changes {
        change(&mut text, corpus, random);
    }
    text.truncate(16 << 10);
    text
}

fn change(text: &mut Vec<u8>, corpus: &[Vec<u8>], random: &mut Random) {
    let at = random.below(text.len() + 1);
    match random.below(12) {
        0 if !text.is_empty() => {
            let at = at.min(text.len() - 1);
            text[at] ^= 1 << random.below(8);
        }
        1 => text.truncate(at),
        2 | 3 => {
            let word = WORDS[random.below(WORDS.len())].as_bytes();
            text.splice(at..at, word.iter().copied());
        }
        4 | 5 => {
            let (from, until) = token(text, at);
            let word = WORDS[random.below(WORDS.len())].as_bytes();
            text.splice(from..until, word.iter().copied());
        }
        6 => {
            let (from, until) = token(text, at);
            text.drain(from..until);
        }
        7 => {
            let (from, until) = line(text, at);
            let copy: Vec<u8> = text[from..until].to_vec();
            let to = line(text, random.below(text.len() + 1)).0;
            text.splice(to..to, copy);
        }
        8 => {
            let (from, until) = line(text, at);
            text.drain(from..until);
        }
        9 => {
            let other = &corpus[random.below(corpus.len())];
            let (from, until) = line(other, random.below(other.len() + 1));
            let to = line(text, at).0;
            text.splice(to..to, other[from..until].iter().copied());
        }
        10 => {
            let digits = random.next().to_string();
            let (from, until) = token(text, at);
            let take = 1 + random.below(digits.len());
            text.splice(from..until, digits.bytes().take(take));
        }
        _ => {
            let byte = u8::try_from(random.below(256)).unwrap_or(0);
            text.insert(at, byte);
        }
    }
}

/// The word around a place.
fn token(text: &[u8], at: usize) -> (usize, usize) {
    let stop = |byte: &u8| b"=,()\n \"".contains(byte);
    let from = text[..at].iter().rposition(stop).map_or(0, |found| found + 1);
    let until = text[at..].iter().position(stop).map_or(text.len(), |found| at + found);
    (from, until)
}

/// The line around a place, with its end.
fn line(text: &[u8], at: usize) -> (usize, usize) {
    let from = text[..at].iter().rposition(|byte| *byte == b'\n').map_or(0, |found| found + 1);
    let until = text[at..].iter().position(|byte| *byte == b'\n').map_or(text.len(), |found| at + found + 1);
    (from, until)
}
