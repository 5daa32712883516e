//! What answers and bodies look like: a short notation, and the JSON schema that it stands for.
//!
//! A tree is `string`, `integer`, `number`, `boolean`, `null`, `any`, a list `[string]`, an object `{name:string,age?:integer}`,
//! whose members with a question mark need not be there, `{*:integer}` for members that have no names beforehand, a choice
//! `string|null`, or `@Name` for one of the trees that have names.

use crate::rest::body::Json;

/// How deep trees may lie in one another.
const DEPTH_MAX: usize = 32;

/// The schema of a tree.
pub(super) fn schema(text: &str) -> Result<Json, String> {
    let mut reader = Reader { rest: text, depth: 0 };
    let schema = reader.choice()?;
    match reader.rest.trim_start() {
        "" => Ok(schema),
        rest => Err(format!("`{rest}` is left over")),
    }
}

/// A reference to a tree that has a name.
pub(super) fn named(name: &str) -> Json {
    Json::object([("$ref", format!("#/components/schemas/{name}").into())])
}

struct Reader<'a> {
    rest: &'a str,
    depth: usize,
}

impl<'a> Reader<'a> {
    /// Takes a mark, if it comes next.
    fn takes(&mut self, mark: char) -> bool {
        self.rest = self.rest.trim_start();
        match self.rest.strip_prefix(mark) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn demand(&mut self, mark: char) -> Result<(), String> {
        if self.takes(mark) { Ok(()) } else { Err(format!("`{mark}` is missing in front of `{}`", self.rest)) }
    }

    /// All up to the next mark.
    fn word(&mut self) -> &'a str {
        self.rest = self.rest.trim_start();
        let end = self.rest.find(['{', '}', '[', ']', ':', ',', '|', '?']).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        word.trim_end()
    }

    fn choice(&mut self) -> Result<Json, String> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(format!("trees lie more than {DEPTH_MAX} deep in one another"));
        }
        let mut choices = vec![self.one()?];
        while self.takes('|') {
            choices.push(self.one()?);
        }
        self.depth -= 1;
        Ok(match choices.len() {
            1 => choices.remove(0),
            _ => Json::object([("anyOf", Json::List(choices))]),
        })
    }

    fn one(&mut self) -> Result<Json, String> {
        if self.takes('[') {
            let items = self.choice()?;
            self.demand(']')?;
            return Ok(Json::object([("type", "array".into()), ("items", items)]));
        }
        if self.takes('{') {
            return self.object();
        }
        match self.word() {
            "any" => Ok(Json::object([])),
            word @ ("string" | "integer" | "number" | "boolean" | "null") => Ok(Json::object([("type", word.into())])),
            word => match word.strip_prefix('@') {
                Some(name) => Ok(named(name)),
                None => Err(format!("`{word}` is no type")),
            },
        }
    }

    fn object(&mut self) -> Result<Json, String> {
        let (mut properties, mut required, mut others) = (Vec::new(), Vec::new(), None);
        while !self.takes('}') {
            let name = self.word();
            let is_optional = self.takes('?');
            self.demand(':')?;
            let inner = self.choice()?;
            if name == "*" {
                others = Some(inner);
            } else {
                required.extend((!is_optional).then(|| Json::from(name)));
                properties.push((name, inner));
            }
            if !self.takes(',') {
                self.demand('}')?;
                break;
            }
        }
        let schema = Json::object([("type", "object".into())]);
        let schema = schema.with_some("required", (!required.is_empty()).then_some(Json::List(required)));
        let schema = schema.with_some("properties", (!properties.is_empty()).then(|| Json::map(properties)));
        Ok(schema.with_some("additionalProperties", others))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rest::body::compact;

    #[test]
    fn a_tree_becomes_a_schema_that_names_what_must_be_there() {
        let cases = [
            ("string|null", r#"{"anyOf":[{"type":"string"},{"type":"null"}]}"#),
            ("[ @Node ]", r##"{"type":"array","items":{"$ref":"#/components/schemas/Node"}}"##),
            ("{}", r#"{"type":"object"}"#),
            (
                "{a:integer,\n b?:{*:any}}",
                r#"{"type":"object","required":["a"],"properties":{"a":{"type":"integer"},"b":{"type":"object","additionalProperties":{}}}}"#,
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(schema(text).map(|schema| compact(&schema)), Ok(expected.to_owned()), "{text}");
        }
    }

    #[test]
    fn what_is_no_tree_is_named() {
        for (text, expected) in [
            ("strin", "`strin` is no type"),
            ("{a string}", "`:` is missing in front of `}`"),
            ("[string", "`]` is missing in front of ``"),
            ("string}", "`}` is left over"),
        ] {
            assert_eq!(schema(text), Err(expected.to_owned()));
        }
        assert!(schema(&"[".repeat(100)).is_err());
    }
}
