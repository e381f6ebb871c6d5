//! The evaluator.

mod call;
mod expression;
mod scopes;
mod statement;

use crate::budget::Limits;
use crate::context::Context;
use crate::error::{Error, Result};
use crate::filters::escaped;
use crate::parser::ParsedTemplate;
use crate::runtime::Runtime;
use crate::value::Value;
use scopes::Scopes;

/// How deep statements, expressions and calls may nest while rendering. A level takes up to about a
/// kilobyte of stack.
const MAX_DEPTH: usize = 500;

/// Renders a template.
pub(crate) fn render(
    template: &ParsedTemplate,
    context: &Context,
    limits: Limits,
) -> Result<String> {
    let mut renderer = Renderer {
        template,
        runtime: Runtime::new(limits, context.clock.clone()),
        scopes: Scopes::new(),
        output: String::new(),
        escapes: false,
        depth: 0,
        num_loops: 0,
    };
    for (name, value) in &context.variables {
        renderer.scopes.set(name.as_str().into(), value.clone());
    }
    renderer.statements(&template.body)?;
    Ok(renderer.output)
}

/// The state of a rendering.
struct Renderer<'t> {
    template: &'t ParsedTemplate,
    runtime: Runtime,
    scopes: Scopes,
    output: String,
    /// Whether output is escaped for HTML (`autoescape`).
    escapes: bool,
    /// How deep statements, expressions and calls are nested.
    depth: usize,
    num_loops: usize,
}

impl Renderer<'_> {
    /// Runs an action one level deeper.
    ///
    /// **Errors**: nested too deep.
    fn nested<T>(&mut self, action: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(Error::failed("maximum recursion depth exceeded"));
        }
        let done = action(self)?;
        self.depth -= 1;
        Ok(done)
    }

    /// Writes template text.
    fn write(&mut self, text: &str) -> Result<()> {
        self.runtime.budget.allocate(text.len())?;
        self.output.push_str(text);
        Ok(())
    }

    /// Writes the text form of a value.
    fn write_value(&mut self, value: &Value) -> Result<()> {
        match value {
            Value::Text(text) if !self.escapes || text.is_safe => self.write(text),
            _ => {
                let text = self.runtime.text_of(value)?;
                match self.escapes {
                    true => {
                        self.runtime.budget.scan(text.len())?;
                        self.write(&escaped(&text))
                    }
                    false => self.write(&text),
                }
            }
        }
    }

    /// What an action writes, as a value; safe if output is escaped. Also what the action returns.
    fn captured<T>(
        &mut self,
        action: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<(Value, T), Error> {
        let outer = std::mem::take(&mut self.output);
        let done = action(self)?;
        let inner = std::mem::replace(&mut self.output, outer);
        let text = match self.escapes {
            true => self.runtime.budget.safe_text(inner)?,
            false => self.runtime.budget.text(inner)?,
        };
        Ok((text, done))
    }
}
