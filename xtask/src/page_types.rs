//! `web/src/model.gen.ts`: the types of the page's model, read from the sources of the Rust types that serde writes.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::path::{Path, PathBuf};
use syn::punctuated::Punctuated;
use syn::{
    Attribute, Expr, Field, Fields, GenericArgument, Item, ItemEnum, ItemStruct, Lit, Meta, PathArguments, Token, Type,
};

/// What the page is given; everything else follows from its fields.
const FIRST: &str = "ReportModel";
/// Types that say by hand how they are written, and as what.
const BY_HAND: [(&str, &str); 1] = [("Values", "string")];
const HEAD: &str = "// Generated from the Rust types that serde writes, by `make docs`; do not edit.\n";

/// The file's text.
///
/// # Errors
/// A source cannot be read, or a type is written in a way that is not known here.
pub(crate) fn typescript(root: &Path) -> io::Result<String> {
    let types = Types::read(&root.join("crates"))?;
    let mut out = HEAD.to_string();
    let mut wanted = VecDeque::from([(FIRST.to_string(), PathBuf::new())]);
    let mut known: HashMap<String, PathBuf> = HashMap::new();
    while let Some((name, from)) = wanted.pop_front() {
        let found = types.find(&name, &from)?;
        match known.insert(name.clone(), found.file.clone()) {
            Some(file) if file == found.file => continue,
            Some(file) => return Err(wrong(&name, &format!("is in {} and {}", file.display(), found.file.display()))),
            None => {}
        }
        let mut writer = Writer::default();
        writer.item(&name, &found.item).map_err(|what| wrong(&name, &what))?;
        out += &format!("\n{}", writer.text);
        wanted.extend(writer.names.into_iter().map(|name| (name, found.file.clone())));
    }
    Ok(out)
}

fn wrong(name: &str, what: &str) -> io::Error {
    io::Error::other(format!("the type {name} {what}"))
}

/// Types that could be written, by name.
struct Types(HashMap<String, Vec<Found>>);

struct Found {
    file: PathBuf,
    item: Item,
}

impl Types {
    fn read(crates: &Path) -> io::Result<Self> {
        let mut files = Vec::new();
        for folder in std::fs::read_dir(crates)? {
            sources(&folder?.path().join("src"), &mut files)?;
        }
        let mut all: HashMap<String, Vec<Found>> = HashMap::new();
        for file in files {
            let text = std::fs::read_to_string(&file)?;
            if !text.contains("Serialize") {
                continue;
            }
            let parsed =
                syn::parse_file(&text).map_err(|error| io::Error::other(format!("{}: {error}", file.display())))?;
            for item in parsed.items {
                if let Some(name) = written(&item) {
                    all.entry(name).or_default().push(Found { file: file.clone(), item });
                }
            }
        }
        Ok(Self(all))
    }

    /// The one in the same file, or else in the same crate, or else the only one that there is.
    fn find(&self, name: &str, from: &Path) -> io::Result<&Found> {
        let all = self.0.get(name).ok_or_else(|| wrong(name, "was not found in crates/*/src"))?;
        let folder = |file: &Path| file.ancestors().find(|part| part.ends_with("src")).map(Path::to_path_buf);
        let same_file = all.iter().find(|found| found.file == from);
        let nearer: Vec<&Found> = all.iter().filter(|found| folder(&found.file) == folder(from)).collect();
        match (same_file, nearer.as_slice(), all.as_slice()) {
            (Some(found), ..) | (None, [], [found]) => Ok(found),
            (None, [found], _) => Ok(*found),
            _ => Err(wrong(name, "is there more than once")),
        }
    }
}

fn sources(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    if !folder.is_dir() {
        return Ok(());
    }
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            sources(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    Ok(())
}

/// The name of a type that serde writes.
fn written(item: &Item) -> Option<String> {
    let (name, attributes) = match item {
        Item::Struct(ItemStruct { ident, attrs, .. }) | Item::Enum(ItemEnum { ident, attrs, .. }) => {
            (ident.to_string(), attrs)
        }
        _ => return None,
    };
    let derives = |attribute: &Attribute| {
        let list = attribute
            .path()
            .is_ident("derive")
            .then(|| attribute.parse_args_with(Punctuated::<syn::Path, Token![,]>::parse_terminated));
        list.and_then(Result::ok).is_some_and(|list| list.iter().any(|path| path.is_ident("Serialize")))
    };
    (attributes.iter().any(derives) || BY_HAND.iter().any(|(known, _)| *known == name)).then_some(name)
}

/// The serde attributes of a type, a variant or a field.
#[derive(Debug, Default)]
struct Serde {
    rename: Option<String>,
    rename_all: Option<String>,
    tag: Option<String>,
    content: Option<String>,
    is_transparent: bool,
    is_optional: bool,
}

impl Serde {
    fn of(attributes: &[Attribute]) -> Result<Self, String> {
        let mut out = Self::default();
        for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("serde")) {
            let list = attribute.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated);
            for meta in list.map_err(|error| error.to_string())? {
                let name = meta.path().get_ident().map(ToString::to_string).unwrap_or_default();
                match name.as_str() {
                    "rename" => out.rename = text(&meta),
                    "rename_all" => out.rename_all = text(&meta),
                    "tag" => out.tag = text(&meta),
                    "content" => out.content = text(&meta),
                    "transparent" => out.is_transparent = true,
                    "skip_serializing_if" => out.is_optional = true,
                    // Of reading only.
                    "default" | "deny_unknown_fields" | "alias" => {}
                    _ => {
                        return Err(format!(
                            "has serde's attribute `{name}`, which xtask/src/page_types.rs does not know"
                        ));
                    }
                }
            }
        }
        Ok(out)
    }

    fn name(&self, ident: &str, rename_all: Option<&str>) -> Result<String, String> {
        match (&self.rename, rename_all) {
            (Some(name), _) => Ok(name.clone()),
            (None, None) => Ok(ident.to_string()),
            (None, Some("lowercase")) => Ok(ident.to_lowercase()),
            (None, Some("snake_case")) => {
                let letters = ident.char_indices().flat_map(|(at, letter)| {
                    let line = (at > 0 && letter.is_uppercase()).then_some('_');
                    line.into_iter().chain(letter.to_lowercase())
                });
                Ok(letters.collect())
            }
            (None, Some(other)) => Err(format!("is renamed to {other}, which xtask/src/page_types.rs does not know")),
        }
    }
}

/// The text behind `name =`.
fn text(meta: &Meta) -> Option<String> {
    match &meta.require_name_value().ok()?.value {
        Expr::Lit(literal) => match &literal.lit {
            Lit::Str(text) => Some(text.value()),
            _ => None,
        },
        _ => None,
    }
}

/// One type's text, and the types that it names.
#[derive(Debug, Default)]
struct Writer {
    text: String,
    names: Vec<String>,
}

impl Writer {
    fn item(&mut self, name: &str, item: &Item) -> Result<(), String> {
        match item {
            Item::Struct(item) => self.structure(name, item),
            Item::Enum(item) => self.enumeration(name, item),
            _ => Err("is no struct or enum".to_string()),
        }
    }

    fn structure(&mut self, name: &str, item: &ItemStruct) -> Result<(), String> {
        self.doc("", &item.attrs);
        let serde = Serde::of(&item.attrs)?;
        let by_hand = BY_HAND.iter().find(|(known, _)| *known == name).map(|(_, as_what)| (*as_what).to_string());
        match (&item.fields, by_hand) {
            (_, Some(as_what)) => self.text += &format!("export type {name} = {as_what};\n"),
            (Fields::Unnamed(fields), None) if serde.is_transparent && fields.unnamed.len() == 1 => {
                let inner = self.type_of(&fields.unnamed[0].ty)?;
                self.text += &format!("export type {name} = {inner};\n");
            }
            (Fields::Named(fields), None) => {
                self.text += &format!("export interface {name} {{\n");
                self.fields(fields.named.iter(), serde.rename_all.as_deref())?;
                self.text += "}\n";
            }
            _ => return Err("has fields without names".to_string()),
        }
        Ok(())
    }

    fn fields<'a>(&mut self, fields: impl Iterator<Item = &'a Field>, rename_all: Option<&str>) -> Result<(), String> {
        for field in fields {
            let serde = Serde::of(&field.attrs)?;
            let ident = field.ident.as_ref().map(ToString::to_string).unwrap_or_default();
            let name = serde.name(&ident, rename_all)?;
            let mut kind = self.type_of(&field.ty)?;
            if serde.is_optional {
                // What is none is left out.
                kind = kind.strip_suffix(" | null").map_or(kind.clone(), str::to_string);
            }
            self.doc("  ", &field.attrs);
            self.text += &format!("  {name}{}: {kind};\n", if serde.is_optional { "?" } else { "" });
        }
        Ok(())
    }

    /// Names alone, or one interface for each variant, named after both: `LinesBody`.
    fn enumeration(&mut self, name: &str, item: &ItemEnum) -> Result<(), String> {
        let serde = Serde::of(&item.attrs)?;
        let rename_all = serde.rename_all.as_deref();
        let mut all = Vec::new();
        for variant in &item.variants {
            let word = Serde::of(&variant.attrs)?.name(&variant.ident.to_string(), rename_all)?;
            let Some(tag) = &serde.tag else {
                if !matches!(variant.fields, Fields::Unit) {
                    return Err("has variants with fields and no tag".to_string());
                }
                all.push(format!("{word:?}"));
                continue;
            };
            let full = format!("{}{name}", variant.ident);
            self.doc("", &variant.attrs);
            match (&variant.fields, &serde.content) {
                (Fields::Named(fields), None) => {
                    self.text += &format!("export interface {full} {{\n  {tag}: {word:?};\n");
                    self.fields(fields.named.iter(), None)?;
                }
                (Fields::Unnamed(fields), Some(content)) if fields.unnamed.len() == 1 => {
                    let inner = self.type_of(&fields.unnamed[0].ty)?;
                    self.text += &format!("export interface {full} {{\n  {tag}: {word:?};\n  {content}: {inner};\n");
                }
                (Fields::Unnamed(fields), None) if fields.unnamed.len() == 1 => {
                    let inner = self.type_of(&fields.unnamed[0].ty)?;
                    self.text += &format!("export interface {full} extends {inner} {{\n  {tag}: {word:?};\n");
                }
                _ => {
                    return Err(format!(
                        "has the variant {word}, of a kind that xtask/src/page_types.rs does not know"
                    ));
                }
            }
            self.text += "}\n\n";
            all.push(full);
        }
        self.doc("", &item.attrs);
        self.text += &format!("export type {name} =\n  | {};\n", all.join("\n  | "));
        Ok(())
    }

    fn type_of(&mut self, of: &Type) -> Result<String, String> {
        let path = match of {
            Type::Path(path) => &path.path,
            Type::Tuple(tuple) => {
                let parts: Result<Vec<String>, String> = tuple.elems.iter().map(|part| self.type_of(part)).collect();
                return Ok(format!("[{}]", parts?.join(", ")));
            }
            _ => return Err("has a field of a kind that xtask/src/page_types.rs does not know".to_string()),
        };
        let last = path.segments.last().ok_or("has a field without a type")?;
        let name = last.ident.to_string();
        let inner = match &last.arguments {
            PathArguments::AngleBracketed(list) => list.args.first(),
            _ => None,
        };
        match (name.as_str(), inner) {
            ("Option", Some(GenericArgument::Type(inner))) => Ok(format!("{} | null", self.type_of(inner)?)),
            ("Vec", Some(GenericArgument::Type(inner))) => {
                let inner = self.type_of(inner)?;
                Ok(if inner.contains('|') { format!("({inner})[]") } else { format!("{inner}[]") })
            }
            (_, Some(_)) => Err(format!("has a field of `{name}`, which xtask/src/page_types.rs does not know")),
            ("String", None) => Ok("string".to_string()),
            ("bool", None) => Ok("boolean".to_string()),
            ("f64" | "f32" | "u8" | "u16" | "u32" | "u64" | "usize" | "i8" | "i16" | "i32" | "i64", None) => {
                Ok("number".to_string())
            }
            (_, None) => {
                self.names.push(name.clone());
                Ok(name)
            }
        }
    }

    fn doc(&mut self, margin: &str, attributes: &[Attribute]) {
        let lines = attributes
            .iter()
            .filter(|attribute| attribute.path().is_ident("doc"))
            .filter_map(|attribute| text(&attribute.meta));
        let lines: Vec<String> = lines.map(|line| line.trim().replace("*/", "* /")).collect();
        match lines.as_slice() {
            [] => {}
            [line] => self.text += &format!("{margin}/** {line} */\n"),
            lines => {
                self.text += &format!("{margin}/**\n");
                for line in lines {
                    self.text += &format!("{margin} * {line}\n").replace(" \n", "\n");
                }
                self.text += &format!("{margin} */\n");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Writer, typescript};
    use crate::root;

    fn written(source: &str) -> Result<String, String> {
        let mut writer = Writer::default();
        writer.item("Shape", &syn::parse_str(source).expect("an item"))?;
        Ok(writer.text)
    }

    #[test]
    fn types_as_serde_writes_them() {
        for (source, expect) in [
            (
                "struct Shape { a: Option<f64>, b: Vec<(f64, String)> }",
                "interface Shape {\n  a: number | null;\n  b: [number, string][];\n}\n",
            ),
            (
                "struct Shape { #[serde(default, skip_serializing_if = \"Option::is_none\")] a: Option<u8> }",
                "interface Shape {\n  a?: number;\n}\n",
            ),
            ("#[serde(transparent)] struct Shape(u8);", "type Shape = number;\n"),
            (
                "#[serde(rename_all = \"snake_case\")] enum Shape { RoundOne, #[serde(rename = \"\")] None }",
                "type Shape =\n  | \"round_one\"\n  | \"\";\n",
            ),
            (
                "#[serde(tag = \"kind\")] enum Shape { Round(Circle) }",
                "interface RoundShape extends Circle {\n  kind: \"Round\";\n}\n\nexport type Shape =\n  | RoundShape;\n",
            ),
        ] {
            assert_eq!(written(source), Ok(format!("export {expect}")), "{source}");
        }
    }

    #[test]
    fn the_file_is_current() {
        let file = std::fs::read_to_string(root().join("web/src/model.gen.ts")).expect("the file");
        assert!(file == typescript(&root()).expect("types"), "web/src/model.gen.ts is stale; run `make docs`");
    }

    #[test]
    fn what_is_not_known_is_refused() {
        for source in [
            "struct Shape { #[serde(flatten)] a: Circle }",
            "struct Shape(u8, u8);",
            "enum Shape { Round(Circle) }",
            "struct Shape { a: Rc<str> }",
            "#[serde(rename_all = \"kebab-case\")] enum Shape { RoundOne }",
        ] {
            assert!(written(source).is_err(), "{source}");
        }
    }
}
