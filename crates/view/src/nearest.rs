//! How far two words are apart.

/// Edit distance.
pub fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, left) in a.chars().enumerate() {
        let mut corner = i;
        row[0] = i + 1;
        for (j, right) in b.iter().enumerate() {
            let replace = corner + usize::from(left != *right);
            corner = row[j + 1];
            row[j + 1] = replace.min(corner + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}
