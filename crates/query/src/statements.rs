//! Statements as they are typed, and the form of their answers on standard output.

use quantity::output::OutputForm;
use query::AnswerFormat;
use recording::ExportFormat;

/// What an answer is for standard output.
pub(crate) fn form_of(format: AnswerFormat) -> OutputForm {
    match format {
        AnswerFormat::Table => OutputForm::Text,
        AnswerFormat::Export(ExportFormat::Json) => OutputForm::Json,
        AnswerFormat::Export(_) => OutputForm::Data,
    }
}

/// Statements between semicolons that stand in no quotes and no comment.
pub(crate) fn split(text: &str) -> Vec<&str> {
    let mut statements = Vec::new();
    let (mut start, mut quote, mut in_comment) = (0, None, false);
    let mut characters = text.char_indices().peekable();
    while let Some((at, character)) = characters.next() {
        match (quote, character) {
            _ if in_comment => in_comment = character != '\n',
            (Some(open), _) => quote = Some(open).filter(|open| *open != character),
            (None, '\'' | '"') => quote = Some(character),
            (None, '-') if characters.peek().is_some_and(|next| next.1 == '-') => in_comment = true,
            (None, ';') => {
                statements.push(text[start..at].trim());
                start = at + 1;
            }
            (None, _) => {}
        }
    }
    statements.push(text[start..].trim());
    statements.retain(|statement| !statement.is_empty());
    statements
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn statements_end_at_semicolons_outside_quotes_and_comments() {
        assert_eq!(
            split("select 1; select ';' as \"a;b\" ; -- no; end\n select 3;;\n"),
            ["select 1", "select ';' as \"a;b\"", "-- no; end\n select 3",]
        );
        assert_eq!(split(" ; "), Vec::<&str>::new());
    }
}
