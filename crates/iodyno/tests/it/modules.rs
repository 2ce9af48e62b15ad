//! Keeps the inner walls: no modules that import each other, no crate too large to hold, one name for one public type.

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use syn::{Item, UseTree, Visibility};

/// Lines of source that a crate may have, tests apart.
const CRATE_LINES: usize = 12_000;

/// Where a module stands below the root of its crate.
type ModulePath = Vec<String>;

/// One module: what it declares and what it names.
#[derive(Default)]
struct Module {
    children: BTreeSet<String>,
    /// Names that it hands on, and the paths they come from.
    reexports: BTreeMap<String, ModulePath>,
    /// Absolute paths that it names.
    paths: BTreeSet<ModulePath>,
    /// Public types that it defines.
    types: Vec<String>,
    lines: usize,
}

/// The modules of a crate.
#[derive(Default)]
struct Modules(BTreeMap<ModulePath, Module>);

pub fn is_test(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg") && attribute.to_token_stream().to_string().contains("test")
            || attribute.path().is_ident("test")
    })
}

pub fn attributes_of(item: &Item) -> &[syn::Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

/// `super::super::x` in a module, as a path from the root of the crate; `None` for other crates.
fn absolute(module: &[String], path: &[String]) -> Option<ModulePath> {
    let (first, rest) = path.split_first()?;
    let mut from = match first.as_str() {
        "crate" => Vec::new(),
        "self" => module.to_vec(),
        "super" => module[..module.len().checked_sub(1)?].to_vec(),
        _ => return None,
    };
    let supers = rest.iter().take_while(|part| *part == "super").count();
    from.truncate(from.len().checked_sub(supers)?);
    from.extend(rest[supers..].iter().cloned());
    Some(from)
}

/// The leaves of a tree of imports: their paths, and the names they get.
fn leaves(tree: &UseTree, prefix: &[String], found: &mut Vec<(ModulePath, String)>) {
    let with = |name: String| [prefix, &[name]].concat();
    match tree {
        UseTree::Path(path) => leaves(&path.tree, &with(path.ident.to_string()), found),
        UseTree::Group(group) => group.items.iter().for_each(|tree| leaves(tree, prefix, found)),
        UseTree::Name(name) if name.ident == "self" => {
            found.push((prefix.to_vec(), prefix.last().cloned().unwrap_or_default()));
        }
        UseTree::Name(name) => found.push((with(name.ident.to_string()), name.ident.to_string())),
        UseTree::Rename(name) => found.push((with(name.ident.to_string()), name.rename.to_string())),
        UseTree::Glob(_) => found.push((prefix.to_vec(), "*".to_string())),
    }
}

/// Paths such as `crate::a::b` in code, those inside of macros too.
fn paths_in(tokens: TokenStream, found: &mut Vec<ModulePath>) {
    let mut path: ModulePath = Vec::new();
    let mut colons = 0;
    for token in tokens {
        match token {
            TokenTree::Ident(name) => {
                let name = name.to_string();
                if !path.is_empty() && colons == 2 {
                    path.push(name);
                } else {
                    found.push(std::mem::take(&mut path));
                    if ["crate", "super", "self"].contains(&name.as_str()) {
                        path.push(name);
                    }
                }
                colons = 0;
            }
            TokenTree::Punct(mark) if mark.as_char() == ':' => colons += 1,
            other => {
                found.push(std::mem::take(&mut path));
                colons = 0;
                if let TokenTree::Group(group) = other {
                    paths_in(group.stream(), found);
                }
            }
        }
    }
    found.push(path);
}

impl Modules {
    /// Of a crate, from its root file.
    fn of(root: &Path) -> Self {
        let mut modules = Self::default();
        modules.file(root, root.parent().expect("a folder"), Vec::new());
        modules
    }

    fn file(&mut self, file: &Path, folder: &Path, module: ModulePath) {
        let text = std::fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let parsed = syn::parse_file(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let tests = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        self.0.entry(module.clone()).or_default().lines = tests.lines().count();
        self.items(&parsed.items, folder, &module);
    }

    fn items(&mut self, items: &[Item], folder: &Path, module: &ModulePath) {
        for item in items.iter().filter(|item| !is_test(attributes_of(item))) {
            match item {
                Item::Mod(inner) => {
                    let name = inner.ident.to_string();
                    self.0.entry(module.clone()).or_default().children.insert(name.clone());
                    let below = [module.as_slice(), std::slice::from_ref(&name)].concat();
                    if let Some((_, items)) = &inner.content {
                        self.0.entry(below.clone()).or_default();
                        self.items(items, &folder.join(&name), &below);
                    } else {
                        let (flat, deep) = (folder.join(format!("{name}.rs")), folder.join(&name).join("mod.rs"));
                        let file = if flat.exists() { flat } else { deep };
                        self.file(&file, &folder.join(&name), below);
                    }
                }
                Item::Use(import) => {
                    let mut found = Vec::new();
                    leaves(&import.tree, &[], &mut found);
                    let own = self.0.entry(module.clone()).or_default();
                    for (path, name) in found {
                        let local = own.children.contains(&path[0]).then(|| [module.as_slice(), &path].concat());
                        let Some(path) = absolute(module, &path).or(local) else { continue };
                        if !matches!(import.vis, Visibility::Inherited) {
                            own.reexports.insert(name, path);
                        } else {
                            own.paths.insert(path);
                        }
                    }
                }
                item => {
                    let mut found = Vec::new();
                    paths_in(item.to_token_stream(), &mut found);
                    let own = self.0.entry(module.clone()).or_default();
                    own.paths.extend(found.into_iter().filter_map(|path| absolute(module, &path)));
                    let named = match item {
                        Item::Struct(item) => Some((&item.vis, &item.ident)),
                        Item::Enum(item) => Some((&item.vis, &item.ident)),
                        Item::Trait(item) => Some((&item.vis, &item.ident)),
                        Item::Type(item) => Some((&item.vis, &item.ident)),
                        _ => None,
                    };
                    let named = named.filter(|(vis, _)| matches!(vis, Visibility::Public(_)));
                    own.types.extend(named.map(|(_, name)| name.to_string()));
                }
            }
        }
    }

    /// The module that defines what a path names.
    fn home(&self, path: &[String]) -> ModulePath {
        let mut here: ModulePath = Vec::new();
        for (at, part) in path.iter().enumerate() {
            let Some(module) = self.0.get(&here) else { return here };
            if module.children.contains(part) {
                here.push(part.clone());
            } else if let Some(from) = module.reexports.get(part).filter(|from| from.as_slice() != &path[..=at]) {
                return self.home(&[from.as_slice(), &path[at + 1..]].concat());
            } else {
                return here;
            }
        }
        here
    }

    /// Which sibling imports which, by their parent.
    fn imports(&self) -> BTreeMap<ModulePath, BTreeMap<String, BTreeSet<String>>> {
        let mut all: BTreeMap<ModulePath, BTreeMap<String, BTreeSet<String>>> = BTreeMap::new();
        for (from, module) in &self.0 {
            for path in &module.paths {
                let to = self.home(path);
                let common = from.iter().zip(&to).take_while(|(one, other)| one == other).count();
                if let (Some(one), Some(other)) = (from.get(common), to.get(common)) {
                    let parent = all.entry(from[..common].to_vec()).or_default();
                    parent.entry(one.clone()).or_default().insert(other.clone());
                }
            }
        }
        all
    }
}

/// Modules that import each other, directly or through others: the first such group.
fn cycle(imports: &BTreeMap<String, BTreeSet<String>>) -> Option<Vec<String>> {
    fn reaches(imports: &BTreeMap<String, BTreeSet<String>>, from: &str) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        let mut left = vec![from.to_string()];
        while let Some(next) = left.pop() {
            for to in imports.get(&next).into_iter().flatten() {
                if found.insert(to.clone()) {
                    left.push(to.clone());
                }
            }
        }
        found
    }
    let all: BTreeMap<&String, BTreeSet<String>> = imports.keys().map(|name| (name, reaches(imports, name))).collect();
    let (first, _) = all.iter().find(|(name, reached)| reached.contains(**name))?;
    let of_it = all.iter().filter(|(name, reached)| all[first].contains(**name) && reached.contains(*first));
    Some(of_it.map(|(name, _)| (*name).clone()).collect())
}

/// The crates of the workspace with the root file of each.
pub fn crates() -> Vec<(String, PathBuf)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("the crates").flatten() {
        let root = entry.path().join("src/lib.rs");
        if root.exists() {
            found.push((entry.file_name().to_string_lossy().into_owned(), root));
        }
    }
    assert!(found.len() >= 20, "only {} crates found", found.len());
    found.sort();
    found
}

#[test]
fn no_modules_import_each_other() {
    let mut cycles = Vec::new();
    let mut edges = 0;
    for (name, root) in crates() {
        for (parent, imports) in Modules::of(&root).imports() {
            edges += imports.values().map(BTreeSet::len).sum::<usize>();
            if let Some(modules) = cycle(&imports) {
                let parent = [std::slice::from_ref(&name), &parent].concat().join("::");
                cycles.push(format!("{parent}: {}", modules.join(", ")));
            }
        }
    }
    assert!(edges > 500, "only {edges} imports found");
    assert!(cycles.is_empty(), "modules that import each other:\n{}", cycles.join("\n"));
}

#[test]
fn no_crate_is_too_large_to_hold_in_the_head() {
    for (name, root) in crates() {
        let lines: usize = Modules::of(&root).0.values().map(|module| module.lines).sum();
        assert!(lines > 0 && lines <= CRATE_LINES, "{name} has {lines} lines of source, more than {CRATE_LINES}");
    }
}

#[test]
fn a_cycle_is_found_through_a_parent_that_hands_on_and_in_macros() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("lib.rs", "mod a;\nmod b;\npub use b::Thing;\n");
    write("a.rs", "use crate::Thing;\npub struct Other;\n");
    write("b.rs", "pub struct Thing;\nfn f() { print(format!(\"{}\", crate::a::Other)) }\n");
    let imports = Modules::of(&folder.path().join("lib.rs")).imports();
    assert_eq!(cycle(&imports[&Vec::new()]), Some(vec!["a".to_string(), "b".to_string()]));
    write("b.rs", "pub struct Thing;\n#[cfg(test)]\nmod tests { use crate::a::Other; }\n");
    let imports = Modules::of(&folder.path().join("lib.rs")).imports();
    assert_eq!(cycle(&imports[&Vec::new()]), None);
}

/// Words of two letters and more in a name: `IoOwner` has two.
fn words(name: &str) -> usize {
    name.chars().filter(char::is_ascii_uppercase).count()
}

#[test]
fn a_public_type_has_a_name_of_its_own_that_says_something() {
    let mut owners: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (name, root) in crates() {
        for module in Modules::of(&root).0.values() {
            for type_name in &module.types {
                owners.entry(type_name.clone()).or_default().push(name.clone());
            }
        }
    }
    let twice: Vec<String> =
        owners.iter().filter(|(_, of)| of.len() > 1).map(|(n, of)| format!("{n}: {of:?}")).collect();
    assert!(twice.is_empty(), "public types of the same name:\n{}", twice.join("\n"));
    let single: Vec<&str> = owners.keys().filter(|name| words(name) < 2).map(String::as_str).collect();
    assert!(owners.len() > 400, "only {} public types found", owners.len());
    assert!(100 * single.len() <= 35 * owners.len(), "{} of {}: {single:?}", single.len(), owners.len());
}

/// String literals in code, those inside of macros too.
fn literals_in(tokens: TokenStream, found: &mut Vec<String>) {
    for token in tokens {
        match token {
            TokenTree::Literal(literal) => found.push(literal.to_string()),
            TokenTree::Group(group) => literals_in(group.stream(), found),
            _ => {}
        }
    }
}

/// Sources of a crate that are no tests.
pub fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder of sources").flatten() {
        let path = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        if path.is_dir() && name != "tests" && name != "testing" {
            sources(&path, found);
        } else if name.ends_with(".rs") && name != "tests.rs" && name != "testing.rs" {
            found.push(path);
        }
    }
}

#[test]
fn tables_are_named_by_the_constants_of_the_catalogue() {
    // A name of one word may be something else; `io_error` is a kind of event and a class of the kernel's messages, too.
    let names: Vec<String> = recording::catalogue().iter().map(|table| table.name.to_string()).collect();
    let sure: Vec<&String> = names.iter().filter(|name| name.contains('_') && *name != "io_error").collect();
    assert!(sure.len() > 20, "only {} tables of two words", sure.len());
    // Who collects knows subjects by these names; the SQL reference shows statements.
    let others = ["recording", "collect", "query"];
    let mut found = Vec::new();
    let mut constants = 0;
    for (name, root) in crates().into_iter().filter(|(name, _)| !others.contains(&name.as_str())) {
        let mut files = Vec::new();
        sources(root.parent().expect("a folder"), &mut files);
        for file in files {
            let text = std::fs::read_to_string(&file).expect("a source");
            constants += text.matches("::NAME").count();
            let parsed = syn::parse_file(&text).expect("Rust");
            let mut literals = Vec::new();
            let items = parsed.items.iter().filter(|item| !is_test(attributes_of(item)));
            items.for_each(|item| literals_in(item.to_token_stream(), &mut literals));
            let wrong = literals.iter().filter(|text| sure.iter().any(|name| **text == format!("\"{name}\"")));
            found.extend(wrong.map(|text| format!("{name}: {}: {text}", file.display())));
        }
    }
    assert!(constants > 100, "only {constants} uses of the constants found");
    assert!(found.is_empty(), "use rows::TABLE::NAME:\n{}", found.join("\n"));
}
