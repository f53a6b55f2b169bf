//! The parser: turns text into a tree of expressions, or reports with the messages of the reference parser.
//!
//! ```text
//! text ─▶ lex ─▶ tokens ─▶ rules (repair) ─▶ parse tree ─▶ visit (literal, macros) ─▶ ast
//!                                 └───────── report ───────────┘
//! ```
//!
//! CEL is defined by a grammar for a parser generator (`CEL.g4` of the CEL specification), and users see the generated
//! parser's messages. So `rules` follows the grammar rule by rule, and `repair` recovers from syntax errors as that
//! parser does: which token is dropped or inserted decides which messages come next.

mod aggregates;
pub mod ast;
mod lex;
mod literal;
mod macros;
mod repair;
mod report;
mod rules;
mod sets;
mod source;
mod token;
mod tree;
mod visit;

pub use report::Reports;
pub use source::SourceText;

use ast::Ast;

/// The longest expression that is parsed (cel-go's `ExpressionSizeCodePointLimit`).
const MAX_CODE_POINTS: usize = 100_000;

/// Parses an expression. Returns a tree unless errors are reported.
pub fn parse(text: &str) -> (Option<Ast>, Reports) {
    let source = SourceText::new(text);
    let mut reports = Reports::new(source);
    let size = reports.source().len();
    if size > MAX_CODE_POINTS {
        reports.nowhere(format!(
            "expression code point size exceeds limit: size: {size}, limit {MAX_CODE_POINTS}"
        ));
        return (None, reports);
    }
    let Ok(tree) = rules::parse(&mut reports) else {
        return (None, reports);
    };
    match visit::visit(&tree, &mut reports) {
        Ok(ast) if reports.is_empty() => (Some(ast), reports),
        _ => (None, reports),
    }
}
