//! Type checks of conditions: the types of operands, and the variables that exist.

use cel::common::ast::{
    CallExpr, ComprehensionExpr, Expr, IdedExpr, LiteralValue, SelectExpr, SourceInfo, operators,
};

use super::error::expected;
use super::value::Kind;
use super::variables::{Root, VariableRef, VariableScope};

/// An error in a condition or text of a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CheckError {
    /// Offset in bytes from the start of the condition or text.
    pub(crate) offset: usize,
    pub(crate) message: String,
}

/// The type of an expression. An expression with an error has the type `Any`, so that the error is reported once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Type {
    Any,
    Of(Kind),
    Numbers,
}

impl Type {
    fn name(self) -> &'static str {
        match self {
            Self::Any => "a value",
            Self::Of(kind) => kind.as_str(),
            Self::Numbers => "list of numbers",
        }
    }

    fn is_number(self) -> bool {
        matches!(self, Self::Any | Self::Of(Kind::Int | Kind::Double))
    }
}

const BOOL: Type = Type::Of(Kind::Bool);
const INT: Type = Type::Of(Kind::Int);
const TEXT: Type = Type::Of(Kind::Text);

/// The functions that conditions may use.
const FUNCTIONS: [&str; 10] =
    ["size", "startsWith", "endsWith", "contains", "matches", "exists", "all", "exists_one", "double", "int"];

pub(super) struct TypeCheck<'a> {
    scope: &'a VariableScope<'a>,
    source_info: &'a SourceInfo,
    /// The variables that comprehensions define, such as `x` in `list.exists(x, x > 1)`.
    locals: Vec<(String, Type)>,
    names: Vec<VariableRef>,
    errors: Vec<CheckError>,
}

impl<'a> TypeCheck<'a> {
    /// Checks a condition. Returns its variables without duplicates, and all errors.
    pub(super) fn run(
        root: &IdedExpr,
        source_info: &'a SourceInfo,
        scope: &'a VariableScope<'a>,
    ) -> (Vec<VariableRef>, Vec<CheckError>) {
        let mut check =
            Self { scope, source_info, locals: Vec::new(), names: Vec::new(), errors: Vec::new() };
        let actual = check.infer(root);
        if !matches!(actual, BOOL | Type::Any) {
            check.say(root.id, format!("the condition must be true or false, not {}", actual.name()));
        }
        check.names.sort_unstable();
        check.names.dedup();
        (check.names, check.errors)
    }

    fn say(&mut self, id: u64, message: String) {
        let offset = self.source_info.offset_for(id).map_or(0, |(start, _)| start as usize);
        let errors = CheckError { offset, message };
        if !self.errors.contains(&errors) {
            self.errors.push(errors);
        }
    }

    fn infer(&mut self, expr: &IdedExpr) -> Type {
        match &expr.expr {
            Expr::Literal(literal) => match literal {
                LiteralValue::Boolean(_) => BOOL,
                LiteralValue::Int(_) | LiteralValue::UInt(_) => INT,
                LiteralValue::Double(_) => Type::Of(Kind::Double),
                LiteralValue::String(_) => TEXT,
                LiteralValue::Null | LiteralValue::Bytes(_) => self.unusable(expr.id, "null and bytes are"),
            },
            Expr::Ident(name) => self.ident(expr.id, name),
            Expr::Select(select) => self.select(expr.id, select),
            Expr::List(list) => self.list(expr.id, &list.elements),
            Expr::Call(call) => self.call(expr.id, call),
            Expr::Comprehension(comprehension) => self.comprehension(expr.id, comprehension),
            Expr::Map(_) | Expr::Struct(_) => self.unusable(expr.id, "maps are"),
            Expr::Unspecified => Type::Any,
        }
    }

    fn unusable(&mut self, id: u64, what: &str) -> Type {
        self.say(id, format!("{what} not supported"));
        Type::Any
    }

    fn ident(&mut self, id: u64, name: &str) -> Type {
        if let Some((_, kind)) = self.locals.iter().rev().find(|(local, _)| local == name) {
            return *kind;
        }
        let roots: Vec<&str> = self.scope.roots.iter().map(|root| root.as_str()).collect();
        if roots.contains(&name) {
            self.say(
                id,
                format!("'{name}' is not a value; use one of its names, such as {name}.{}", {
                    let root = self.scope.roots.iter().find(|root| root.as_str() == name);
                    root.and_then(|root| self.scope.words(*root).first().copied()).unwrap_or("…")
                }),
            );
        } else if let Some(root) = Root::ALL.into_iter().find(|root| root.as_str() == name) {
            self.say(id, format!("'{}' is not available here; use {}", root.as_str(), roots.join(", ")));
        } else {
            self.say(id, format!("no such name '{name}'{}", expected(name, roots.iter().copied())));
        }
        Type::Any
    }

    fn select(&mut self, id: u64, select: &SelectExpr) -> Type {
        let Expr::Ident(root) = &select.operand.expr else {
            self.infer(&select.operand);
            return self.unusable(id, "names with more than one point are");
        };
        let Some(root) = self.scope.roots.iter().copied().find(|own| own.as_str() == root) else {
            return self.ident(select.operand.id, root);
        };
        if select.test {
            return self.unusable(id, "has() is not needed, because each name has a value; it is");
        }
        if let Some((name, kind)) = self.scope.find(root, &select.field) {
            self.names.push(name);
            return Type::Of(kind);
        }
        let words = self.scope.words(root);
        let hint = if words.is_empty() {
            "; the rule has no thresholds".to_owned()
        } else {
            expected(&select.field, words)
        };
        self.say(id, format!("no such name '{}.{}'{hint}", root.as_str(), select.field));
        Type::Any
    }

    fn list(&mut self, id: u64, elements: &[IdedExpr]) -> Type {
        let mut kinds = elements.iter().map(|element| self.infer(element)).collect::<Vec<_>>().into_iter();
        match kinds.next() {
            None => Type::Any,
            Some(TEXT) if kinds.clone().all(|kind| matches!(kind, TEXT | Type::Any)) => Type::Of(Kind::Texts),
            Some(first) if first.is_number() && kinds.all(Type::is_number) => Type::Numbers,
            Some(Type::Any) => Type::Any,
            Some(_) => self.unusable(id, "lists of anything but strings or numbers are"),
        }
    }

    fn want(&mut self, expr: &IdedExpr, wanted: Type, by: &str) {
        let actual = self.infer(expr);
        if actual != wanted && actual != Type::Any {
            self.say(expr.id, format!("{by} needs {}, not {}", wanted.name(), actual.name()));
        }
    }

    fn call(&mut self, id: u64, call: &CallExpr) -> Type {
        let symbol = |name: &str| name.trim_matches('_').to_owned();
        let name = call.func_name.as_str();
        let args: Vec<&IdedExpr> = call.target.as_deref().into_iter().chain(&call.args).collect();
        match (name, args.as_slice()) {
            (operators::LOGICAL_AND | operators::LOGICAL_OR, parts) => {
                for part in parts {
                    self.want(part, BOOL, &symbol(name));
                }
                BOOL
            }
            (operators::LOGICAL_NOT | operators::NOT_STRICTLY_FALSE, [part]) => {
                self.want(part, BOOL, "!");
                BOOL
            }
            (operators::EQUALS | operators::NOT_EQUALS, [left, right]) => {
                self.comparable(id, left, right, &symbol(name));
                BOOL
            }
            (
                operators::LESS | operators::LESS_EQUALS | operators::GREATER | operators::GREATER_EQUALS,
                [left, right],
            ) => {
                let kind = self.comparable(id, left, right, &symbol(name));
                if matches!(kind, Type::Of(Kind::Bool | Kind::Texts) | Type::Numbers) {
                    self.say(
                        id,
                        format!("'{}' compares numbers or strings, not {}", symbol(name), kind.name()),
                    );
                }
                BOOL
            }
            (operators::IN, [item, list]) => self.contained(id, item, list),
            (operators::CONDITIONAL, [condition, yes, no]) => {
                self.want(condition, BOOL, "? :");
                self.comparable(id, yes, no, "? :")
            }
            (
                operators::ADD
                | operators::SUBSTRACT
                | operators::MULTIPLY
                | operators::DIVIDE
                | operators::MODULO,
                [left, right],
            ) => self.arithmetic(id, left, right, &symbol(name)),
            (operators::NEGATE, [part]) => {
                let kind = self.infer(part);
                if !kind.is_number() {
                    self.say(id, format!("'-' needs a number, not {}", kind.name()));
                }
                kind
            }
            ("size", [part]) => {
                let kind = self.infer(part);
                if !matches!(kind, Type::Of(Kind::Text | Kind::Texts) | Type::Numbers | Type::Any) {
                    self.say(id, format!("size() needs a string or a list, not {}", kind.name()));
                }
                INT
            }
            ("double" | "int", [part]) => {
                let kind = self.infer(part);
                if !kind.is_number() {
                    self.say(id, format!("{name}() needs a number, not {}", kind.name()));
                }
                Type::Of(if name == "int" { Kind::Int } else { Kind::Double })
            }
            ("matches", [text, pattern]) => {
                self.want(text, TEXT, "matches()");
                self.want(pattern, TEXT, "matches()");
                if let Expr::Literal(LiteralValue::String(pattern_text)) = &pattern.expr
                    && let Err(error) = regex::Regex::new(pattern_text.inner())
                {
                    let last = error.to_string().lines().last().unwrap_or_default().to_owned();
                    self.say(
                        pattern.id,
                        format!("not a valid regular expression: {}", last.trim_start_matches("error: ")),
                    );
                }
                BOOL
            }
            ("startsWith" | "endsWith" | "contains", [text, part]) => {
                self.want(text, TEXT, &format!("{name}()"));
                self.want(part, TEXT, &format!("{name}()"));
                BOOL
            }
            (function, args) => {
                for arg in args {
                    self.infer(arg);
                }
                if FUNCTIONS.contains(&function) {
                    self.say(id, format!("{function}() does not take {} arguments", args.len()));
                } else if function.starts_with(['_', '@']) {
                    self.say(id, format!("'{}' is not supported", symbol(function)));
                } else {
                    self.say(id, format!("no such function '{function}'{}", expected(function, FUNCTIONS)));
                }
                Type::Any
            }
        }
    }

    fn comparable(&mut self, id: u64, left: &IdedExpr, right: &IdedExpr, by: &str) -> Type {
        let (left, right) = (self.infer(left), self.infer(right));
        let fit =
            left == right || left == Type::Any || right == Type::Any || left.is_number() && right.is_number();
        if !fit {
            self.say(id, format!("'{by}' cannot compare {} with {}", left.name(), right.name()));
        }
        if left == Type::Any { right } else { left }
    }

    fn contained(&mut self, id: u64, item: &IdedExpr, list: &IdedExpr) -> Type {
        let (item, list) = (self.infer(item), self.infer(list));
        let fit = match list {
            Type::Any => true,
            Type::Of(Kind::Texts) => matches!(item, TEXT | Type::Any),
            Type::Numbers => item.is_number(),
            Type::Of(_) => false,
        };
        if !fit {
            self.say(id, format!("'in' cannot find {} in {}", item.name(), list.name()));
        }
        BOOL
    }

    fn arithmetic(&mut self, id: u64, left: &IdedExpr, right: &IdedExpr, by: &str) -> Type {
        match (self.infer(left), self.infer(right)) {
            (Type::Any, other) | (other, Type::Any) => other,
            (left, right) if left == right && left.is_number() => left,
            (TEXT, TEXT) if by == "+" => TEXT,
            (left, right) if left.is_number() && right.is_number() => {
                self.say(id, format!("'{by}' needs two int or two double; write double(…) around the int"));
                Type::Of(Kind::Double)
            }
            (left, right) => {
                self.say(id, format!("'{by}' cannot take {} and {}", left.name(), right.name()));
                Type::Any
            }
        }
    }

    fn comprehension(&mut self, id: u64, parts: &ComprehensionExpr) -> Type {
        let element = match self.infer(&parts.iter_range) {
            Type::Of(Kind::Texts) => TEXT,
            Type::Numbers => INT,
            Type::Any => Type::Any,
            other @ Type::Of(_) => {
                self.say(id, format!("exists() and all() need a list, not {}", other.name()));
                Type::Any
            }
        };
        let accumulated = self.infer(&parts.accu_init);
        let before = self.locals.len();
        self.locals.push((parts.iter_var.clone(), element));
        self.locals.push((parts.accu_var.clone(), accumulated));
        self.infer(&parts.loop_cond);
        self.infer(&parts.loop_step);
        let result = self.infer(&parts.result);
        self.locals.truncate(before);
        result
    }
}
