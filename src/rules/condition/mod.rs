//! A CEL condition, checked when the rule is loaded: its variables exist, its types fit, and it yields a boolean.

use std::collections::HashMap;
use std::sync::Arc;

use cel::common::ast::{Expr, IdedExpr, LiteralValue, SourceInfo, operators};

use super::native::NativeExpr;
use super::type_check::{CheckError, TypeCheck};
use super::value::VariableValue;
use super::variables::{Root, VariableRef, VariableScope};

/// The maximum length of a condition, in bytes: about twenty times the longest embedded condition.
const LONGEST: usize = 4_096;
/// The maximum nesting of a condition. The functions that check, run and drop a condition are recursive, so deep
/// nesting overflows the stack.
const DEEPEST: usize = 32;
/// The maximum number of steps of a condition: about a hundred times what embedded rules need. A condition runs for
/// each row and client.
const MOST_STEPS: u64 = 20_000;
/// The length that the step limit assumes for a list that is not a literal.
const LIST_LENGTH: u64 = 32;
const TOO_DEEP: &str = "the condition is nested too deeply; split it";

#[derive(Debug)]
pub struct Condition {
    pub(crate) source: String,
    pub whole: CheckedExpr,
    /// The operands of the condition's outermost `&&`, or the whole condition. The results of each operand are cached
    /// separately. An operand uses fewer variables than the whole condition, so its cached results are used more
    /// often.
    pub(crate) conjuncts: Vec<CheckedExpr>,
}

/// A condition, or an operand of its outermost `&&`.
#[derive(Debug)]
pub struct CheckedExpr {
    /// The variables that the expression uses, without duplicates.
    pub variables: Vec<VariableRef>,
    /// `None` if the expression cannot be translated.
    native: Option<NativeExpr>,
    cel: IdedExpr,
}

impl Condition {
    pub(crate) fn compile(source: &str, scope: &VariableScope<'_>) -> Result<Self, Vec<CheckError>> {
        if source.len() > LONGEST {
            let message = format!("the condition has {} bytes; the limit is {LONGEST}", source.len());
            return Err(vec![CheckError { offset: 0, message }]);
        }
        let program = cel::Program::compile(source).map_err(|errors| {
            errors
                .errors
                .iter()
                .map(|error| CheckError { offset: offset_of(source, error.pos), message: plain(&error.msg) })
                .collect::<Vec<CheckError>>()
        })?;
        Self::check(source, program.expression(), program.source_info(), scope)
    }

    /// Compiles a condition with CEL's faster parser, which reports no positions. A test has already checked the
    /// condition.
    pub(super) fn compile_trusted(source: &str, scope: &VariableScope<'_>) -> Result<Self, Vec<CheckError>> {
        let parsed = cel::parser::PrattParser::new().parse(source);
        let expr = parsed.map_err(|errors| vec![CheckError { offset: 0, message: errors.to_string() }])?;
        Self::check(source, &expr, &SourceInfo::default(), scope)
    }

    fn check(
        source: &str,
        expr: &IdedExpr,
        source_info: &SourceInfo,
        scope: &VariableScope<'_>,
    ) -> Result<Self, Vec<CheckError>> {
        if is_too_deep(expr) {
            return Err(vec![CheckError { offset: 0, message: TOO_DEEP.to_owned() }]);
        }
        let mut errors = Vec::new();
        let steps = steps_of(expr, false, source_info, &mut errors);
        if steps > MOST_STEPS {
            let message = format!("the condition takes up to {steps} steps; the limit is {MOST_STEPS}");
            errors.push(CheckError { offset: offset_in(expr, source_info), message });
        }
        if !errors.is_empty() {
            return Err(errors);
        }
        let (variables, errors) = TypeCheck::run(expr, source_info, scope);
        if !errors.is_empty() {
            return Err(errors);
        }
        let checked = |expr: &IdedExpr, variables| CheckedExpr {
            variables,
            native: NativeExpr::new(expr, scope),
            cel: expr.clone(),
        };
        let conjunct = |expr| checked(expr, TypeCheck::run(expr, source_info, scope).0);
        let conjuncts = conjuncts_of(expr).into_iter().map(conjunct).collect();
        Ok(Self { source: source.to_owned(), whole: checked(expr, variables), conjuncts })
    }
}

impl CheckedExpr {
    /// Evaluates the expression without CEL. This suffices for most conditions. `Ok` is always equal to CEL's result.
    /// `Err` means that only CEL can decide. It has the values for [`CheckedExpr::evaluate`].
    pub(crate) fn holds_natively<'v>(
        &'v self,
        find: impl Fn(VariableRef) -> VariableValue<'v>,
    ) -> Result<bool, Vec<VariableValue<'v>>> {
        let holds = self.native.as_ref().and_then(|native| native.holds(&find));
        holds.ok_or_else(|| self.variables.iter().map(|variable| find(*variable)).collect())
    }

    /// Evaluates the expression with CEL. `values` are in the order of [`CheckedExpr::variables`]. Fails with CEL's
    /// runtime errors, such as a division by zero. The whole condition holds if each operand holds. If one operand
    /// is false, the whole condition is false, even if another operand fails (CEL's `&&`).
    pub fn evaluate(
        &self,
        values: &[VariableValue<'_>],
        name_of: impl Fn(VariableRef) -> String,
    ) -> Result<bool, String> {
        let mut roots: Vec<(Root, HashMap<String, cel::Value>)> = Vec::new();
        for (variable, value) in self.variables.iter().zip(values) {
            let at = roots.iter().position(|(root, _)| *root == variable.root).unwrap_or_else(|| {
                roots.push((variable.root, HashMap::new()));
                roots.len() - 1
            });
            roots[at].1.insert(name_of(*variable), value.to_cel());
        }
        let mut context = cel::Context::with_env(environment());
        for (root, values) in roots {
            context.add_variable_from_value(root.as_str(), values);
        }
        match cel::Value::resolve(&self.cel, &context) {
            Ok(cel::Value::Bool(holds)) => Ok(holds),
            Ok(other) => Err(format!("the condition gives {other:?}, not true or false")),
            Err(error) => Err(error.to_string()),
        }
    }
}

/// The operands of the outermost `&&`, from left to right.
fn conjuncts_of(expr: &IdedExpr) -> Vec<&IdedExpr> {
    match &expr.expr {
        Expr::Call(call) if call.func_name == operators::LOGICAL_AND => {
            call.args.iter().flat_map(conjuncts_of).collect()
        }
        _ => vec![expr],
    }
}

/// CEL's standard environment. It is built once, since building it is slow.
fn environment() -> Arc<cel::Env> {
    static STANDARD: std::sync::LazyLock<Arc<cel::Env>> =
        std::sync::LazyLock::new(|| Arc::new(cel::Env::stdlib()));
    STANDARD.clone()
}

/// Returns the parser's message without details that only the parser's authors need.
fn plain(message: &str) -> String {
    if message.contains("Recursion limit") {
        return TOO_DEEP.to_owned();
    }
    let message = message.strip_prefix("Syntax error: ").unwrap_or(message);
    let short = message.split(" expecting {").next().unwrap_or(message).replace("<EOF>", "the end");
    format!("not a valid CEL expression: {short}")
}

/// The operands of an expression. Empty for a map, because maps are rejected later.
fn parts_of(expr: &IdedExpr) -> Vec<&IdedExpr> {
    match &expr.expr {
        Expr::Call(call) => call.target.as_deref().into_iter().chain(&call.args).collect(),
        Expr::Comprehension(parts) => {
            vec![&parts.iter_range, &parts.accu_init, &parts.loop_cond, &parts.loop_step, &parts.result]
        }
        Expr::List(list) => list.elements.iter().collect(),
        Expr::Select(select) => vec![&select.operand],
        Expr::Map(_) | Expr::Struct(_) | Expr::Ident(_) | Expr::Literal(_) | Expr::Unspecified => Vec::new(),
    }
}

/// Whether the nesting is deeper than [`DEEPEST`]. Uses a loop, since recursion could overflow the stack here.
fn is_too_deep(root: &IdedExpr) -> bool {
    let mut rest = vec![(root, 1)];
    while let Some((expr, depth)) = rest.pop() {
        if depth > DEEPEST {
            return true;
        }
        rest.extend(parts_of(expr).into_iter().map(|part| (part, depth + 1)));
    }
    false
}

/// Returns an upper bound for the steps of an expression. Also rejects an expression that joins strings in a loop:
/// nested loops could double a string in each step.
fn steps_of(expr: &IdedExpr, in_loop: bool, source_info: &SourceInfo, errors: &mut Vec<CheckError>) -> u64 {
    let mut of = |expr: &IdedExpr, in_loop: bool| steps_of(expr, in_loop, source_info, errors);
    let steps = match &expr.expr {
        Expr::Comprehension(parts) => {
            let length = match &parts.iter_range.expr {
                Expr::List(list) => list.elements.len() as u64,
                _ => LIST_LENGTH,
            };
            let each = of(&parts.loop_cond, true).saturating_add(of(&parts.loop_step, true));
            let once = [&parts.accu_init, &parts.result].map(|part| of(part, true));
            of(&parts.iter_range, true)
                .saturating_add(length.saturating_mul(each))
                .saturating_add(once[0].saturating_add(once[1]))
        }
        _ => parts_of(expr).into_iter().fold(0, |sum: u64, part| sum.saturating_add(of(part, in_loop))),
    };
    let is_joined = |part: &IdedExpr| !matches!(&part.expr, Expr::Literal(LiteralValue::Int(_)));
    if in_loop
        && let Expr::Call(call) = &expr.expr
        && call.func_name == operators::ADD
        && call.args.iter().all(is_joined)
    {
        let message = "exists() and all() cannot add or join values".to_owned();
        errors.push(CheckError { offset: offset_in(expr, source_info), message });
    }
    steps.saturating_add(1)
}

fn offset_in(expr: &IdedExpr, source_info: &SourceInfo) -> usize {
    source_info.offset_for(expr.id).map_or(0, |(start, _)| start as usize)
}

/// Converts a line and a column to a byte offset. Lines and columns begin with 1; a parser reports 0 if it does not
/// know them.
fn offset_of(source: &str, (line, column): (isize, isize)) -> usize {
    let line = usize::try_from(line - 1).unwrap_or(0);
    let before: usize = source.split_inclusive('\n').take(line).map(str::len).sum();
    let column = usize::try_from(column - 1).unwrap_or(0);
    source.floor_char_boundary((before + column).min(source.len()))
}

#[cfg(test)]
mod tests;
