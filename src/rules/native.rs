//! Evaluates most conditions without CEL's interpreter, which is slower.
//!
//! A native result is either equal to CEL's result or `None`. It is `None` for errors and for expressions that this
//! file does not support. Then the caller uses CEL. Thus this file needs neither the whole language nor error
//! messages.

use std::cmp::Ordering;

use cel::common::ast::{CallExpr, Expr, IdedExpr, LiteralValue, operators};

use super::value::{Kind, VariableValue};
use super::variables::{VariableRef, VariableScope};

/// A translated CEL expression.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum NativeExpr {
    Constant(VariableValue<'static>),
    Name(VariableRef),
    /// A variable of a numeric type.
    Number(VariableRef),
    Not(Box<NativeExpr>),
    And(Box<[NativeExpr; 2]>),
    Or(Box<[NativeExpr; 2]>),
    Choice(Box<[NativeExpr; 3]>),
    Equal(Box<[NativeExpr; 2]>),
    /// A comparison. It holds if the ordering of the two operands is in the list.
    Order(&'static [Ordering], Box<[NativeExpr; 2]>),
    /// As `Order`, for two numbers: the most common expression in levels.
    OrderOfNumbers(&'static [Ordering], Box<[NativeExpr; 2]>),
    In(Box<NativeExpr>, Vec<NativeExpr>),
    InName(Box<NativeExpr>, VariableRef),
    Arithmetic(ArithmeticOperator, Box<[NativeExpr; 2]>),
    Negative(Box<NativeExpr>),
    Double(Box<NativeExpr>),
    Size(Box<NativeExpr>),
    Text(TextOperator, Box<[NativeExpr; 2]>),
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum ArithmeticOperator {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

/// A CEL string function: `startsWith`, `endsWith` or `contains`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum TextOperator {
    Start,
    End,
    Anywhere,
}

impl NativeExpr {
    /// Translates a checked expression. Returns `None` if only CEL can evaluate a part of it.
    pub(super) fn new(expr: &IdedExpr, scope: &VariableScope<'_>) -> Option<Self> {
        match &expr.expr {
            Expr::Literal(literal) => Some(Self::Constant(match literal {
                LiteralValue::Boolean(value) => VariableValue::Bool(*value.inner()),
                LiteralValue::Int(value) => VariableValue::Int(*value.inner()),
                LiteralValue::Double(value) => VariableValue::Double(*value.inner()),
                LiteralValue::String(value) => VariableValue::Text(value.inner().to_owned().into()),
                LiteralValue::UInt(_) | LiteralValue::Null | LiteralValue::Bytes(_) => return None,
            })),
            Expr::Select(select) if !select.test => {
                let Expr::Ident(root) = &select.operand.expr else { return None };
                let root = scope.roots.iter().find(|own| own.as_str() == root)?;
                scope.find(*root, &select.field).map(|(name, kind)| match kind {
                    Kind::Int | Kind::Double => Self::Number(name),
                    Kind::Bool | Kind::Text | Kind::Texts => Self::Name(name),
                })
            }
            Expr::Call(call) => Self::call(call, scope),
            _ => None,
        }
    }

    fn call(call: &CallExpr, scope: &VariableScope<'_>) -> Option<Self> {
        let plan = |expr: &IdedExpr| Self::new(expr, scope);
        let parts: Vec<&IdedExpr> = call.target.as_deref().into_iter().chain(&call.args).collect();
        Some(match (call.func_name.as_str(), parts.as_slice()) {
            (operators::IN, [item, list]) => match &list.expr {
                Expr::List(list) if list.optional_indices.is_empty() => {
                    let items = list.elements.iter().map(plan).collect::<Option<Vec<Self>>>()?;
                    Self::In(Box::new(plan(item)?), items)
                }
                _ => match plan(list)? {
                    Self::Name(list) => Self::InName(Box::new(plan(item)?), list),
                    _ => return None,
                },
            },
            (operators::CONDITIONAL, [condition, yes, no]) => {
                Self::Choice(Box::new([plan(condition)?, plan(yes)?, plan(no)?]))
            }
            (operators::LOGICAL_NOT, [part]) => Self::Not(Box::new(plan(part)?)),
            (operators::NEGATE, [part]) => Self::Negative(Box::new(plan(part)?)),
            ("double", [part]) => Self::Double(Box::new(plan(part)?)),
            ("size", [part]) => Self::Size(Box::new(plan(part)?)),
            (name, [left, right]) => {
                let both = Box::new([plan(left)?, plan(right)?]);
                match name {
                    operators::LOGICAL_AND => Self::And(both),
                    operators::LOGICAL_OR => Self::Or(both),
                    operators::EQUALS => Self::Equal(both),
                    operators::NOT_EQUALS => Self::Not(Box::new(Self::Equal(both))),
                    operators::LESS => Self::order(&[Ordering::Less], both),
                    operators::LESS_EQUALS => Self::order(&[Ordering::Less, Ordering::Equal], both),
                    operators::GREATER => Self::order(&[Ordering::Greater], both),
                    operators::GREATER_EQUALS => Self::order(&[Ordering::Greater, Ordering::Equal], both),
                    operators::ADD => Self::Arithmetic(ArithmeticOperator::Add, both),
                    operators::SUBSTRACT => Self::Arithmetic(ArithmeticOperator::Subtract, both),
                    operators::MULTIPLY => Self::Arithmetic(ArithmeticOperator::Multiply, both),
                    operators::DIVIDE => Self::Arithmetic(ArithmeticOperator::Divide, both),
                    operators::MODULO => Self::Arithmetic(ArithmeticOperator::Remainder, both),
                    "startsWith" => Self::Text(TextOperator::Start, both),
                    "endsWith" => Self::Text(TextOperator::End, both),
                    "contains" => Self::Text(TextOperator::Anywhere, both),
                    _ => return None,
                }
            }
            _ => return None,
        })
    }

    fn order(wanted: &'static [Ordering], sides: Box<[Self; 2]>) -> Self {
        if sides.iter().all(Self::is_number) {
            Self::OrderOfNumbers(wanted, sides)
        } else {
            Self::Order(wanted, sides)
        }
    }

    /// Whether the result of the expression is always a number, unless the evaluation fails.
    fn is_number(&self) -> bool {
        match self {
            Self::Constant(value) => matches!(value, VariableValue::Int(_) | VariableValue::Double(_)),
            Self::Choice(parts) => parts[1..].iter().all(Self::is_number),
            Self::Number(_) | Self::Arithmetic(..) | Self::Negative(_) | Self::Double(_) | Self::Size(_) => {
                true
            }
            _ => false,
        }
    }

    /// Evaluates the expression to a boolean; `None` if only CEL can decide it.
    pub(super) fn holds<'v>(&'v self, find: &impl Fn(VariableRef) -> VariableValue<'v>) -> Option<bool> {
        Some(match self {
            Self::Not(part) => !part.holds(find)?,
            // As in CEL, one operand can decide the result even if the other one fails.
            Self::And(parts) => match parts[0].holds(find) {
                Some(false) => false,
                Some(true) => parts[1].holds(find)?,
                None => parts[1].holds(find).filter(|holds| !holds)?,
            },
            Self::Or(parts) => match parts[0].holds(find) {
                Some(true) => true,
                Some(false) => parts[1].holds(find)?,
                None => parts[1].holds(find).filter(|holds| *holds)?,
            },
            Self::Choice(parts) => parts[if parts[0].holds(find)? { 1 } else { 2 }].holds(find)?,
            Self::Equal(parts) => {
                parts[0].with(find, |left| parts[1].with(find, |right| equal(left, right)))?
            }
            Self::Order(wanted, parts) => {
                let order = parts[0].with(find, |left| parts[1].with(find, |right| order(left, right)))?;
                wanted.contains(&order)
            }
            Self::OrderOfNumbers(wanted, parts) => {
                let order = parts[0].number(find)?.compare(parts[1].number(find)?)?;
                wanted.contains(&order)
            }
            // As in CEL, all elements are evaluated, even after one that is equal. So a later element can still fail.
            Self::In(item, list) => item.with(find, |item| {
                let mut all = list.iter().map(|one| one.with(find, |one| equal(one, item)));
                all.try_fold(false, |any, one| Some(any | one?))
            })?,
            Self::InName(item, list) => match (item.value(find)?, find(*list)) {
                (VariableValue::Text(item), VariableValue::Texts(list)) => list.contains(&item),
                _ => return None,
            },
            Self::Text(place, parts) => match (parts[0].value(find)?, parts[1].value(find)?) {
                (VariableValue::Text(text), VariableValue::Text(part)) => match place {
                    TextOperator::Start => text.starts_with(&*part),
                    TextOperator::End => text.ends_with(&*part),
                    TextOperator::Anywhere => text.contains(&*part),
                },
                _ => return None,
            },
            Self::Constant(_)
            | Self::Name(_)
            | Self::Number(_)
            | Self::Arithmetic(..)
            | Self::Negative(_)
            | Self::Double(_)
            | Self::Size(_) => match self.value(find)? {
                VariableValue::Bool(holds) => holds,
                _ => return None,
            },
        })
    }

    /// Calls `of` with the value of the expression. Does not copy the value of a constant or a variable.
    fn with<'v, A>(
        &'v self,
        find: &impl Fn(VariableRef) -> VariableValue<'v>,
        of: impl FnOnce(&VariableValue<'_>) -> Option<A>,
    ) -> Option<A> {
        match self {
            Self::Constant(value) => of(value),
            Self::Name(name) | Self::Number(name) => of(&find(*name)),
            other => of(&other.value(find)?),
        }
    }

    fn value<'v>(&'v self, find: &impl Fn(VariableRef) -> VariableValue<'v>) -> Option<VariableValue<'v>> {
        Some(match self {
            Self::Constant(value) => value.as_borrowed(),
            Self::Name(name) | Self::Number(name) => find(*name),
            Self::Choice(parts) => parts[if parts[0].holds(find)? { 1 } else { 2 }].value(find)?,
            Self::Arithmetic(..) | Self::Negative(_) | Self::Double(_) | Self::Size(_) => {
                self.number(find)?.into()
            }
            _ => VariableValue::Bool(self.holds(find)?),
        })
    }

    fn number<'v>(&'v self, find: &impl Fn(VariableRef) -> VariableValue<'v>) -> Option<CelNumber> {
        match self {
            Self::Constant(value) => CelNumber::from_value(value),
            Self::Name(name) | Self::Number(name) => CelNumber::from_value(&find(*name)),
            Self::Choice(parts) => parts[if parts[0].holds(find)? { 1 } else { 2 }].number(find),
            Self::Arithmetic(by, parts) => parts[0].number(find)?.joined(*by, parts[1].number(find)?),
            Self::Negative(part) => Some(match part.number(find)? {
                CelNumber::Int(number) => CelNumber::Int(number.checked_neg()?),
                CelNumber::Double(number) => CelNumber::Double(-number),
            }),
            Self::Double(part) => Some(CelNumber::Double(part.number(find)?.double())),
            Self::Size(part) => match part.value(find)? {
                VariableValue::Texts(list) => CelNumber::from_value(&(list.len() as u64).into()),
                _ => None,
            },
            _ => None,
        }
    }
}

/// Compares as CEL does: an int and a double by value. `None` if a number is compared with a string or list, because
/// only CEL decides that.
fn equal(left: &VariableValue<'_>, right: &VariableValue<'_>) -> Option<bool> {
    match (left, right) {
        (VariableValue::Text(left), VariableValue::Text(right)) => Some(left == right),
        (VariableValue::Bool(left), VariableValue::Bool(right)) => Some(left == right),
        (
            VariableValue::Int(_) | VariableValue::Double(_),
            VariableValue::Int(_) | VariableValue::Double(_),
        ) => order(left, right).map(Ordering::is_eq),
        _ => None,
    }
}

fn order(left: &VariableValue<'_>, right: &VariableValue<'_>) -> Option<Ordering> {
    match (left, right) {
        (VariableValue::Text(left), VariableValue::Text(right)) => Some(left.cmp(right)),
        _ => CelNumber::from_value(left)?.compare(CelNumber::from_value(right)?),
    }
}

#[derive(Debug, Clone, Copy)]
enum CelNumber {
    Int(i64),
    Double(f64),
}

impl CelNumber {
    fn from_value(value: &VariableValue<'_>) -> Option<Self> {
        match value {
            VariableValue::Int(number) => Some(Self::Int(*number)),
            VariableValue::Double(number) => Some(Self::Double(*number)),
            _ => None,
        }
    }

    #[allow(clippy::cast_precision_loss, reason = "as CEL does it")]
    fn double(self) -> f64 {
        match self {
            Self::Int(number) => number as f64,
            Self::Double(number) => number,
        }
    }

    fn compare(self, other: Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Int(left), Self::Int(right)) => Some(left.cmp(&right)),
            _ => self.double().partial_cmp(&other.double()),
        }
    }

    /// Calculates with two numbers of the same type. CEL does not allow mixed types.
    fn joined(self, by: ArithmeticOperator, other: Self) -> Option<Self> {
        match (self, other) {
            (Self::Int(left), Self::Int(right)) => Some(Self::Int(match by {
                ArithmeticOperator::Add => left.checked_add(right)?,
                ArithmeticOperator::Subtract => left.checked_sub(right)?,
                ArithmeticOperator::Multiply => left.checked_mul(right)?,
                ArithmeticOperator::Divide => left.checked_div(right)?,
                ArithmeticOperator::Remainder => left.checked_rem(right)?,
            })),
            (Self::Double(left), Self::Double(right)) => Some(Self::Double(match by {
                ArithmeticOperator::Add => left + right,
                ArithmeticOperator::Subtract => left - right,
                ArithmeticOperator::Multiply => left * right,
                ArithmeticOperator::Divide => left / right,
                ArithmeticOperator::Remainder => return None,
            })),
            _ => None,
        }
    }
}

impl From<CelNumber> for VariableValue<'_> {
    fn from(number: CelNumber) -> Self {
        match number {
            CelNumber::Int(number) => Self::Int(number),
            CelNumber::Double(number) => Self::Double(number),
        }
    }
}
