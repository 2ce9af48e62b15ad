//! docs/objectives.md says what the code does: every example is read, the table of measures is the code's.

use objectives::{ComparedCondition, Condition, measures_markdown};
use std::path::Path;

#[test]
fn every_example_of_the_page_is_a_condition_and_its_table_is_the_list_of_measures() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/objectives.md");
    let page = std::fs::read_to_string(path).expect("docs/objectives.md");
    let examples: Vec<&str> = page
        .split("```condition\n")
        .skip(1)
        .flat_map(|block| block.split("```").next().unwrap_or_default().lines())
        .collect();
    assert!(examples.len() >= 15, "{examples:?}");
    // What stands in commands and parameter files as well.
    let quoted = |is_compared: bool| {
        let lines = page
            .lines()
            .filter(move |line| (line.contains("iodyno compare") || line.contains("iodyno ab")) == is_compared);
        lines.flat_map(|line| line.split("--fail-if '").skip(1)).filter_map(|rest| rest.split('\'').next())
    };
    let compared =
        page.split("```comparison\n").skip(1).flat_map(|block| block.split("```").next().unwrap_or("").lines());
    let compared: Vec<&str> = compared.chain(quoted(true)).collect();
    assert!(compared.len() >= 6, "{compared:?}");
    for text in compared {
        if let Err(error) = ComparedCondition::parse(text) {
            panic!("{text}: {error} ({:?})", error.help);
        }
    }
    let in_files = page.split("```").filter(|block| block.contains("\nsd=")).flat_map(|block| {
        block.split("fail_if=").skip(1).flat_map(|rest| rest.lines().next().unwrap_or("").split('"').skip(1).step_by(2))
    });
    let mut read = 0;
    for text in examples.into_iter().chain(quoted(false)).chain(in_files) {
        if let Err(error) = Condition::parse(text) {
            panic!("{text}: {error} ({:?})", error.help);
        }
        read += 1;
    }
    assert!(read >= 20, "{read} conditions on the page");
    assert!(page.contains(&measures_markdown()), "put this into docs/objectives.md:\n{}", measures_markdown());
}
