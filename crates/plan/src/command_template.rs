//! Finds the places of variables in lines again, by comparing what they became: the inverse of [`substitute`].

use crate::commands::substitute;

/// Steps of the search, and bytes of all texts together that are looked at.
const STEPS_MAX: usize = 200_000;
const PLACES_MAX: usize = 4 << 20;

/// A text that becomes each of `texts` with the variables beside it, and that `is_good`; with all variables in it where that
/// goes. `None` where there is none, or where it is not found soon.
#[must_use]
pub fn template_of(loops: &[&[(String, String)]], texts: &[&str], is_good: &dyn Fn(&str) -> bool) -> Option<String> {
    let becomes = |text: &str| {
        let same = |(loops, wanted): (&&[(String, String)], &&str)| substitute(text, loops).as_deref() == Some(*wanted);
        loops.iter().zip(texts).all(same) && is_good(text)
    };
    let places: usize = texts.iter().map(|text| text.len()).sum();
    let names = loops.first()?.len();
    if names == 0 || places > PLACES_MAX || loops.iter().any(|one| one.len() != names) {
        return texts.first().filter(|text| becomes(text)).map(|text| (*text).to_string());
    }
    let mut search = Search { loops, texts, path: Vec::new(), uses: vec![0; names], steps: 0 };
    let all = search.find(&|text, uses| uses.iter().all(|count| *count > 0) && becomes(text));
    all.or_else(|| {
        search.steps = 0;
        search.find(&|text, _| becomes(text))
    })
}

/// A step of the search: a variable, or characters that are the same in all texts.
#[derive(Clone, Copy, Debug)]
enum Piece {
    Variable(usize),
    Letter(char),
}

/// A depth-first search through all texts at once.
struct Search<'a> {
    loops: &'a [&'a [(String, String)]],
    texts: &'a [&'a str],
    path: Vec<Piece>,
    uses: Vec<u32>,
    steps: usize,
}

impl Search<'_> {
    fn find(&mut self, is_good: &dyn Fn(&str, &[u32]) -> bool) -> Option<String> {
        self.path.clear();
        self.uses.fill(0);
        // Where each text is, and which way is tried next.
        let mut stack: Vec<(Vec<u32>, usize)> = vec![(vec![0; self.texts.len()], 0)];
        while let Some((places, way)) = stack.last_mut() {
            self.steps += 1;
            if self.steps > STEPS_MAX {
                return None;
            }
            let is_end = places.iter().zip(self.texts).all(|(at, text)| *at as usize == text.len());
            if is_end && *way == 0 && is_good(&self.text(), &self.uses) {
                return Some(self.text());
            }
            let names = self.uses.len();
            let mut next = None;
            while *way <= 2 * names && next.is_none() {
                next = self.step(places, *way);
                *way += 1;
            }
            match next {
                Some((piece, places)) => {
                    self.path.push(piece);
                    if let Piece::Variable(k) = piece {
                        self.uses[k] += 1;
                    }
                    stack.push((places, 0));
                }
                None => {
                    stack.pop();
                    if let Some(Piece::Variable(k)) = self.path.pop() {
                        self.uses[k] -= 1;
                    }
                }
            }
        }
        None
    }

    /// Variables that were not used yet first, then the others, then a letter.
    fn step(&self, places: &[u32], way: usize) -> Option<(Piece, Vec<u32>)> {
        let names = self.uses.len();
        let rests = || places.iter().zip(self.texts).map(|(at, text)| &text[*at as usize..]);
        if way == 2 * names {
            let letter = rests().next()?.chars().next()?;
            let are_all = rests().all(|rest| rest.starts_with(letter));
            let step = u32::try_from(letter.len_utf8()).unwrap_or(1);
            return are_all.then(|| (Piece::Letter(letter), places.iter().map(|at| at + step).collect()));
        }
        let (k, is_first) = (way % names, way < names);
        if (self.uses[k] == 0) != is_first {
            return None;
        }
        let values = || self.loops.iter().map(|one| one[k].1.as_str());
        let are_all = rests().zip(values()).all(|(rest, value)| rest.starts_with(value));
        let moves = values().any(|value| !value.is_empty());
        let step = |(at, value): (&u32, &str)| at + u32::try_from(value.len()).unwrap_or(0);
        (are_all && moves).then(|| (Piece::Variable(k), places.iter().zip(values()).map(step).collect()))
    }

    fn text(&self) -> String {
        let mut out = String::new();
        for piece in &self.path {
            match piece {
                Piece::Variable(k) => {
                    let name = self.loops.first().map_or("", |one| one[*k].0.as_str());
                    out.extend(["{", name, "}"]);
                }
                Piece::Letter(letter) => out.push(*letter),
            }
        }
        out
    }
}
