//! The imports of each file, from the paths in its source.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use regex::Regex;

/// A module by the segments of its path in the crate.
pub type Module = Vec<String>;

static TESTS: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"#\[cfg\(test\)\]\nmod \w+ \{").expect("valid"));
static COMMENTS: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"//[^\n]*").expect("valid"));
static PATH_STARTS: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(^|[^\w:])((?:crate|super|self)::|[a-z]\w*::)").expect("valid"));
static REEXPORTS: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?m)^pub(?:\([^)]*\))? use (?:self::)?([^;]+);").expect("valid"));

/// The part of a source before its tests, without comments.
fn code(source: &str) -> String {
    let code = TESTS.split(source).next().unwrap_or_default();
    COMMENTS.replace_all(code, "").into_owned()
}

/// All paths of a use tree such as `a::{b, c::d}`.
fn expand(tree: &str) -> Vec<Vec<String>> {
    let tree = tree.trim();
    if let Some((before, rest)) = tree.split_once('{') {
        let prefix: Vec<String> = segments(before);
        let mut depth = 1;
        let mut items = vec![String::new()];
        for c in rest.chars() {
            depth += i32::from(c == '{') - i32::from(c == '}');
            match c {
                _ if depth == 0 => break,
                ',' if depth == 1 => items.push(String::new()),
                _ => items.last_mut().expect("there is a first").push(c),
            }
        }
        let inside = items.iter().filter(|item| !item.trim().is_empty()).flat_map(|item| expand(item));
        return inside.map(|path| [prefix.clone(), path].concat()).collect();
    }
    vec![segments(tree)]
}

fn segments(path: &str) -> Vec<String> {
    let name = |segment: &str| -> String {
        segment.trim().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
    };
    path.split("::").map(name).filter(|name| !name.is_empty() && name != "self").collect()
}

/// The files of a crate with their imports.
pub struct Modules {
    code: BTreeMap<Module, String>,
    reexports: BTreeMap<Module, BTreeMap<String, Module>>,
}

impl Modules {
    /// From the modules' sources.
    pub fn new(sources: impl Iterator<Item = (Module, String)>) -> Self {
        let code: BTreeMap<Module, String> =
            sources.map(|(module, source)| (module, code(&source))).collect();
        let mut reexports: BTreeMap<Module, BTreeMap<String, Module>> = BTreeMap::new();
        for (module, text) in &code {
            for found in REEXPORTS.captures_iter(text) {
                for path in expand(&found[1]) {
                    let absolute = [module.clone(), path].concat();
                    let (name, parent) = absolute.split_last().expect("a path has a name");
                    if code.contains_key(parent) && parent != module.as_slice() {
                        reexports.entry(module.clone()).or_default().insert(name.clone(), parent.to_vec());
                    }
                }
            }
        }
        Self { code, reexports }
    }

    /// The file that defines the item of an absolute path: modules first, then re-exports.
    fn file_of(&self, path: &[String]) -> Option<Module> {
        let depth = (1..=path.len()).rev().find(|depth| self.code.contains_key(&path[..*depth]))?;
        let module = path[..depth].to_vec();
        let exported = |name| self.reexports.get(&module)?.get(name);
        Some(path.get(depth).and_then(exported).cloned().unwrap_or(module))
    }

    /// The other files that a file's code names, without re-exports.
    fn imports(&self, module: &Module) -> BTreeSet<Module> {
        let code = REEXPORTS.replace_all(&self.code[module], "");
        let mut imports = BTreeSet::new();
        for found in PATH_STARTS.captures_iter(&code) {
            let start = found.get(2).expect("the group always matches").start();
            let tree: &str = &code[start..];
            let end = tree
                .find(|c: char| !(c.is_alphanumeric() || "_:".contains(c)))
                .map_or(tree.len(), |end| if tree[end..].starts_with('{') { tree.len() } else { end });
            for path in expand(&tree[..end]) {
                let absolute = self.absolute(module, &path);
                imports.extend(absolute.and_then(|path| self.file_of(&path)));
            }
        }
        imports.remove(module);
        imports
    }

    fn absolute(&self, module: &Module, path: &[String]) -> Option<Vec<String>> {
        let (first, rest) = path.split_first()?;
        match first.as_str() {
            "crate" => Some(rest.to_vec()),
            "super" => {
                let mut base = module.split_last()?.1;
                let mut rest = rest;
                while let Some(after) = rest.strip_prefix(&["super".to_owned()]) {
                    base = base.split_last()?.1;
                    rest = after;
                }
                Some([base, rest].concat())
            }
            _ => {
                let child = [module.as_slice(), &path[..1]].concat();
                self.code.contains_key(&child).then(|| [module.as_slice(), path].concat())
            }
        }
    }

    /// Files that import each other in a circle, each circle sorted.
    pub fn circles(&self) -> Vec<Vec<Module>> {
        let imports: BTreeMap<&Module, BTreeSet<Module>> =
            self.code.keys().map(|module| (module, self.imports(module))).collect();
        let reach = |from: &Module| {
            let mut reached = BTreeSet::new();
            let mut open: Vec<&Module> = vec![from];
            while let Some(next) = open.pop() {
                open.extend(imports[next].iter().filter(|other| reached.insert((*other).clone())));
            }
            reached
        };
        let reached: BTreeMap<&Module, BTreeSet<Module>> =
            self.code.keys().map(|module| (module, reach(module))).collect();
        let mut circles: BTreeSet<Vec<Module>> = BTreeSet::new();
        for (module, others) in &reached {
            let circle: Vec<Module> =
                others.iter().filter(|other| reached[other].contains(*module)).cloned().collect();
            if circle.len() > 1 {
                circles.insert(circle);
            }
        }
        circles.into_iter().collect()
    }
}
