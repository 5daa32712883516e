//! What differs between two texts, line by line, with the lines around it.

/// How many equal lines are shown before and after a difference.
const AROUND: usize = 3;

enum Edit<'a> {
    Same(usize, &'a str),
    Expected(&'a str),
    Told(&'a str),
}

/// The differences: `-` for what was expected, `+` for what came.
pub(crate) fn between(expected: &str, told: &str) -> String {
    let edits = edits(&expected.lines().collect::<Vec<_>>(), &told.lines().collect::<Vec<_>>());
    let changed: Vec<bool> = edits.iter().map(|edit| !matches!(edit, Edit::Same(..))).collect();
    let mut shown = String::new();
    let mut is_gap = true;
    for (at, edit) in edits.iter().enumerate() {
        let near = at.saturating_sub(AROUND)..(at + AROUND + 1).min(edits.len());
        if !changed[near].contains(&true) {
            is_gap = true;
            continue;
        }
        shown.push_str(&match edit {
            Edit::Same(number, line) if is_gap => format!("  … line {number}\n    {line}\n"),
            Edit::Same(_, line) => format!("    {line}\n"),
            Edit::Expected(line) => format!("  - {line}\n"),
            Edit::Told(line) => format!("  + {line}\n"),
        });
        is_gap = false;
    }
    shown
}

/// The shortest way from one text to the other, by the lengths of the common parts behind each pair of lines.
fn edits<'a>(old: &[&'a str], new: &[&'a str]) -> Vec<Edit<'a>> {
    let mut common = vec![vec![0_usize; new.len() + 1]; old.len() + 1];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            common[i][j] =
                if old[i] == new[j] { common[i + 1][j + 1] + 1 } else { common[i + 1][j].max(common[i][j + 1]) };
        }
    }
    let (mut i, mut j) = (0, 0);
    let mut edits = Vec::new();
    while i < old.len() || j < new.len() {
        if i < old.len() && j < new.len() && old[i] == new[j] {
            edits.push(Edit::Same(i + 1, old[i]));
            (i, j) = (i + 1, j + 1);
        } else if j >= new.len() || i < old.len() && common[i + 1][j] >= common[i][j + 1] {
            edits.push(Edit::Expected(old[i]));
            i += 1;
        } else {
            edits.push(Edit::Told(new[j]));
            j += 1;
        }
    }
    edits
}

#[test]
fn a_difference_is_shown_with_what_is_around_it() {
    let old = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
    let new = "1\n2\n3\n4\n5\nsix\n7\n8\n9\nten\n";
    let expected = "  … line 3\n    3\n    4\n    5\n  - 6\n  + six\n    7\n    8\n    9\n  + ten\n";
    assert_eq!(between(old, new), expected);
}
