//! Values that are carried from one state to another: `thread:set` and `thread:get`.

use mlua::{Error, Lua, Value};

/// How deep tables may lie in each other. wrk goes on until its stack is full.
const DEEPEST: usize = 100;

/// A value of one state as a value of another.
pub(crate) fn carry(value: &Value, to: &Lua) -> mlua::Result<Value> {
    carry_at(value, to, 0)
}

fn carry_at(value: &Value, to: &Lua, depth: usize) -> mlua::Result<Value> {
    Ok(match value {
        Value::Nil => Value::Nil,
        Value::Boolean(value) => Value::Boolean(*value),
        Value::Integer(value) => Value::Integer(*value),
        Value::Number(value) => Value::Number(*value),
        Value::String(text) => Value::String(to.create_string(text.as_bytes())?),
        Value::Table(_) if depth == DEEPEST => {
            return Err(Error::runtime("cannot transfer a table that holds itself, or 100 others in each other"));
        }
        Value::Table(table) => {
            let copy = to.create_table()?;
            for pair in table.pairs::<Value, Value>() {
                let (key, value) = pair?;
                copy.raw_set(carry_at(&key, to, depth + 1)?, carry_at(&value, to, depth + 1)?)?;
            }
            Value::Table(copy)
        }
        other => return Err(Error::runtime(format!("cannot transfer '{}' to thread", other.type_name()))),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_values_are_carried_and_others_are_not() {
        let (from, to) = (Lua::new(), Lua::new());
        let value: Value = from.load("{1, two = 'b\\0c', {true, 2.5}}").eval().unwrap();
        to.globals().set("v", carry(&value, &to).unwrap()).unwrap();
        to.load("assert(v[1] == 1 and v.two == 'b\\0c' and v[2][1] == true and v[2][2] == 2.5)").exec().unwrap();
        for (what, problem) in [
            ("print", "cannot transfer 'function' to thread"),
            ("{a = {b = print}}", "cannot transfer 'function' to thread"),
            ("(function() local t = {}; t.t = t; return t end)()", "cannot transfer a table that holds itself"),
        ] {
            let value: Value = from.load(what).eval().unwrap();
            let error = carry(&value, &to).unwrap_err().to_string();
            assert!(error.contains(problem), "{what}: {error}");
        }
    }
}
