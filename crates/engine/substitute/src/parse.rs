//! The parser of envsubst: converts text to steps. Nested variables are kept on a stack of its own, so that their depth
//! costs no more than their length.

use super::budget::EvalError;
use super::program::{Call, Operator, Step};
use super::scan::{Accept, Mode, Scanner, Token};
use bumpwright_gostd::unicode::{is_digit, is_letter};

/// The steps of a text.
///
/// # Errors
/// In envsubst's words where an expression is invalid or unterminated.
pub(crate) fn parse(text: &[u8]) -> Result<Vec<Step<'_>>, EvalError> {
    let mut parser = Parser {
        scanner: Scanner::new(text),
        steps: Vec::new(),
        open: Vec::new(),
    };
    loop {
        parser.scanner.backslash = false;
        match parser.scanner.scan(any, Mode::ESCAPED) {
            Token::Text => parser.text(),
            Token::Open => parser.expression()?,
            Token::End => return Ok(parser.steps),
            Token::Close | Token::Illegal => return Err(EvalError::BadSubstitution),
        }
    }
}

struct Parser<'t> {
    scanner: Scanner<'t>,
    steps: Vec<Step<'t>>,
    /// Expressions that are not closed, the innermost last.
    open: Vec<OpenExpression<'t>>,
}

struct OpenExpression<'t> {
    call: Call<'t>,
    next: Expected,
}

/// The expected continuation of an expression.
#[derive(Clone, Copy)]
enum Expected {
    /// Any number of arguments, then `}`.
    Defaults,
    /// The position of `${a:1:2}`.
    Position,
    /// The colon before the length, or `}`.
    PositionEnd,
    /// The pattern of `${a#b}`.
    Pattern,
    /// The text to replace in `${a/b/c}`.
    Replaced,
    /// The slash after it.
    ReplacedEnd,
    Close,
}

impl<'t> Parser<'t> {
    fn text(&mut self) {
        let text = self.scanner.token();
        self.steps.push(Step::Text(text));
    }

    /// A whole expression, with nested ones, after its `${`.
    fn expression(&mut self) -> Result<(), EvalError> {
        self.begin()?;
        while let Some(next) = self.open.last().map(|open| open.next) {
            self.step(next)?;
        }
        Ok(())
    }

    fn begin(&mut self) -> Result<(), EvalError> {
        self.scanner.backslash = true;
        if self.scanner.peek() == '#' {
            return self.length();
        }
        if self.scanner.scan(in_name, Mode::TEXT) != Token::Text {
            return Err(EvalError::VariableName);
        }
        let variable = self.scanner.name();
        match self.scanner.peek() {
            ':' => self.default_or_substring(variable),
            '=' => self.begin_with(variable, one_equal, Expected::Defaults),
            ',' | '^' => self.begin_with(variable, casing, Expected::Close),
            '/' => self.begin_with(variable, replacing, Expected::Replaced),
            '#' => self.begin_with(variable, hashes, Expected::Pattern),
            '%' => self.begin_with(variable, percents, Expected::Pattern),
            _ if self.scanner.scan(in_name, Mode::CLOSE) == Token::Close => {
                self.call(variable, Operator::Value);
                Ok(())
            }
            _ => Err(EvalError::MissingClosingBrace),
        }
    }

    fn length(&mut self) -> Result<(), EvalError> {
        for accept in [one_hash as Accept, in_name] {
            if self.scanner.scan(accept, Mode::TEXT) != Token::Text {
                return Err(EvalError::BadSubstitution);
            }
        }
        let variable = self.scanner.name();
        self.close()?;
        self.call(variable, Operator::Length);
        Ok(())
    }

    fn default_or_substring(&mut self, variable: &'t str) -> Result<(), EvalError> {
        self.scanner.read();
        let behind = self.scanner.peek();
        // Goes back by the width of the character after the colon: a wide one makes the expression invalid.
        self.scanner.unread();
        match behind {
            '=' | '-' | '?' | '+' => self.begin_with(variable, defaulting, Expected::Defaults),
            _ => self.begin_with(variable, one_colon, Expected::Position),
        }
    }

    /// Takes the operator and leaves the expression open.
    fn begin_with(&mut self, variable: &'t str, accept: Accept, next: Expected) -> Result<(), EvalError> {
        if self.scanner.scan(accept, Mode::TEXT) != Token::Text {
            return Err(EvalError::BadSubstitution);
        }
        let call = Call {
            variable,
            operator: Operator::of(self.scanner.name()),
            arguments: 0,
        };
        self.open.push(OpenExpression { call, next });
        Ok(())
    }

    fn step(&mut self, next: Expected) -> Result<(), EvalError> {
        match next {
            Expected::Defaults if self.scanner.peek() == '}' => self.end(),
            Expected::Defaults => self.argument(not_closing, Mode::PARAMETER, Expected::Defaults),
            Expected::Position => self.argument(in_position, Mode::PARAMETER, Expected::PositionEnd),
            Expected::PositionEnd => match self.scanner.scan(colon, Mode::TEXT_OR_CLOSE) {
                Token::Close => {
                    self.finish();
                    Ok(())
                }
                Token::Text => self.argument(not_closing, Mode::PARAMETER, Expected::Close),
                _ => Err(EvalError::BadSubstitution),
            },
            Expected::Pattern => self.argument(not_closing, Mode::PARAMETER, Expected::Close),
            Expected::Replaced => self.argument(not_slash, Mode::ESCAPED, Expected::ReplacedEnd),
            Expected::ReplacedEnd => self.replacement(),
            Expected::Close => self.end(),
        }
    }

    /// The slashes after the text to replace, and its replacement, if any.
    fn replacement(&mut self) -> Result<(), EvalError> {
        if self.scanner.scan(slash, Mode::TEXT) != Token::Text {
            return Err(EvalError::BadSubstitution);
        }
        match self.scanner.peek() {
            '}' => self.end(),
            _ => self.argument(not_closing, Mode::ESCAPED, Expected::Close),
        }
    }

    /// One more argument: text, or an expression that is opened.
    fn argument(&mut self, accept: Accept, mode: Mode, next: Expected) -> Result<(), EvalError> {
        if let Some(open) = self.open.last_mut() {
            open.call.arguments += 1;
            open.next = next;
        }
        match self.scanner.scan(accept, mode) {
            Token::Open => self.begin(),
            Token::Text => {
                self.text();
                Ok(())
            }
            _ => Err(EvalError::Parameter),
        }
    }

    fn end(&mut self) -> Result<(), EvalError> {
        self.close()?;
        self.finish();
        Ok(())
    }

    fn close(&mut self) -> Result<(), EvalError> {
        match self.scanner.scan(any, Mode::CLOSE) {
            Token::Close => Ok(()),
            _ => Err(EvalError::BadSubstitution),
        }
    }

    fn finish(&mut self) {
        self.steps.extend(self.open.pop().map(|open| Step::Call(open.call)));
    }

    fn call(&mut self, variable: &'t str, operator: Operator) {
        self.steps.push(Step::Call(Call {
            variable,
            operator,
            arguments: 0,
        }));
    }
}

fn any(_: char, _: usize) -> bool {
    true
}

fn in_name(ch: char, _: usize) -> bool {
    is_letter(ch) || is_digit(ch) || ch == '_'
}

fn colon(ch: char, _: usize) -> bool {
    ch == ':'
}

fn slash(ch: char, _: usize) -> bool {
    ch == '/'
}

fn not_slash(ch: char, _: usize) -> bool {
    ch != '/'
}

fn not_closing(ch: char, _: usize) -> bool {
    ch != '}'
}

fn in_position(ch: char, _: usize) -> bool {
    ch != ':' && ch != '}'
}

fn one_hash(ch: char, bytes: usize) -> bool {
    ch == '#' && bytes == 1
}

fn one_equal(ch: char, bytes: usize) -> bool {
    ch == '=' && bytes == 1
}

fn one_colon(ch: char, bytes: usize) -> bool {
    ch == ':' && bytes == 1
}

fn hashes(ch: char, bytes: usize) -> bool {
    ch == '#' && bytes < 3
}

fn percents(ch: char, bytes: usize) -> bool {
    ch == '%' && bytes < 3
}

fn casing(ch: char, bytes: usize) -> bool {
    matches!(ch, ',' | '^') && bytes < 3
}

fn defaulting(ch: char, bytes: usize) -> bool {
    matches!((bytes, ch), (1, ':') | (2, '=' | '-' | '?' | '+'))
}

fn replacing(ch: char, bytes: usize) -> bool {
    matches!((bytes, ch), (1, '/') | (2, '/' | '#' | '%'))
}
