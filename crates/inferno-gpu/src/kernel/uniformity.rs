//! Whether all threads of a workgroup reach each barrier.
//!
//! Stricter than WGSL: the compiler of DX12 (FXC) rejects barriers in branches and loops that depend on anything but
//! parameters, constants and the number of the workgroup, and in code after a conditional return.

use std::collections::HashSet;

use naga::{Block, Expression, Function, Handle, LocalVariable, Module, Statement};

/// The values of a function that are the same for all threads of a workgroup.
struct Uniform<'a> {
    module: &'a Module,
    function: &'a Function,
    /// Whether the arguments are.
    arguments: Vec<bool>,
    /// Whether each local variable is.
    locals: Vec<bool>,
    /// Results of calls that are.
    results: HashSet<Handle<Expression>>,
    /// Whether what the function returns is.
    returned: bool,
}

/// How the threads of a workgroup can leave a block in different places.
#[derive(Clone, Copy, Default)]
struct Divergence {
    returns: bool,
    /// A loop or a `switch`.
    breaks: bool,
}

impl Uniform<'_> {
    fn value(&self, handle: Handle<Expression>) -> bool {
        match &self.function.expressions[handle] {
            Expression::Literal(_)
            | Expression::Constant(_)
            | Expression::Override(_)
            | Expression::ZeroValue(_) => true,
            Expression::FunctionArgument(index) => self.arguments[*index as usize],
            Expression::GlobalVariable(variable) => {
                self.module.global_variables[*variable].space == naga::AddressSpace::Uniform
            }
            Expression::LocalVariable(variable) => self.locals[variable.index()],
            Expression::Load { pointer: value }
            | Expression::AccessIndex { base: value, .. }
            | Expression::Splat { value, .. }
            | Expression::Swizzle { vector: value, .. }
            | Expression::Unary { expr: value, .. }
            | Expression::As { expr: value, .. } => self.value(*value),
            Expression::Access { base: a, index: b }
            | Expression::Binary { left: a, right: b, .. } => self.value(*a) && self.value(*b),
            Expression::Select { condition, accept, reject } => {
                [condition, accept, reject].into_iter().all(|part| self.value(*part))
            }
            Expression::Compose { components, .. } => {
                components.iter().all(|part| self.value(*part))
            }
            Expression::Math { arg, arg1, arg2, arg3, .. } => {
                [Some(*arg), *arg1, *arg2, *arg3].into_iter().flatten().all(|arg| self.value(arg))
            }
            Expression::CallResult(_) => self.results.contains(&handle),
            // Results of atomic operations, and what kernels do not use.
            _ => false,
        }
    }

    /// The local variable that a pointer points into.
    fn local(&self, pointer: Handle<Expression>) -> Option<Handle<LocalVariable>> {
        match &self.function.expressions[pointer] {
            Expression::LocalVariable(variable) => Some(*variable),
            Expression::Access { base, .. } | Expression::AccessIndex { base, .. } => {
                self.local(*base)
            }
            _ => None,
        }
    }

    /// Walks a block, of which all threads execute the beginning together if `is_together`. Reports the barriers that only
    /// some reach, by the name of the function.
    fn walk(
        &mut self,
        block: &Block,
        mut is_together: bool,
        found: &mut Vec<String>,
    ) -> Divergence {
        let mut all = Divergence::default();
        for statement in block {
            let here = match statement {
                Statement::ControlBarrier(_) if !is_together => {
                    found.push(self.function.name.clone().unwrap_or_default());
                    Divergence::default()
                }
                Statement::Block(block) => self.walk(block, is_together, found),
                Statement::If { condition, accept, reject } => {
                    let is_branch_together = is_together && self.value(*condition);
                    let accepted = self.walk(accept, is_branch_together, found);
                    let rejected = self.walk(reject, is_branch_together, found);
                    accepted.or(rejected)
                }
                Statement::Switch { selector, cases } => {
                    let is_branch_together = is_together && self.value(*selector);
                    let cases = cases.iter();
                    let inside = cases.fold(Divergence::default(), |inside, case| {
                        inside.or(self.walk(&case.body, is_branch_together, found))
                    });
                    Divergence { breaks: false, ..inside }
                }
                Statement::Loop { body, continuing, break_if } => {
                    self.walk_loop([body, continuing], *break_if, is_together, found)
                }
                Statement::Break | Statement::Continue => {
                    Divergence { returns: false, breaks: !is_together }
                }
                Statement::Return { value } => {
                    let is_uniform = value.is_none_or(|value| self.value(value));
                    self.returned &= is_together && is_uniform;
                    Divergence { returns: !is_together, breaks: false }
                }
                Statement::Store { pointer, value } => {
                    if let Some(local) = self.local(*pointer) {
                        self.locals[local.index()] &= is_together && self.value(*value);
                    }
                    Divergence::default()
                }
                Statement::Call { function, arguments, result } => {
                    let arguments = arguments.iter().map(|argument| self.value(*argument));
                    let arguments = arguments.collect();
                    let callee = &self.module.functions[*function];
                    let (barriers, is_uniform) =
                        analyze(self.module, callee, arguments, is_together);
                    found.extend(barriers);
                    match result {
                        Some(result) if is_uniform => self.results.insert(*result),
                        Some(result) => self.results.remove(result),
                        None => false,
                    };
                    Divergence::default()
                }
                _ => Divergence::default(),
            };
            all = all.or(here);
            is_together &= !(here.returns || here.breaks);
        }
        all
    }

    fn walk_loop(
        &mut self,
        parts: [&Block; 2],
        break_if: Option<Handle<Expression>>,
        is_together: bool,
        found: &mut Vec<String>,
    ) -> Divergence {
        let mut inside = Divergence::default();
        // The second time with what later statements of the first iteration do.
        for _ in 0..2 {
            let mut unreported = Vec::new();
            let is_left_together = is_together && !inside.returns && !inside.breaks;
            for part in parts {
                inside = inside.or(self.walk(part, is_left_together, &mut unreported));
            }
            inside.breaks |= break_if.is_some_and(|condition| !self.value(condition));
        }
        let is_left_together = is_together && !inside.returns && !inside.breaks;
        for part in parts {
            self.walk(part, is_left_together, found);
        }
        Divergence { breaks: false, ..inside }
    }
}

impl Divergence {
    fn or(self, other: Self) -> Self {
        Self { returns: self.returns || other.returns, breaks: self.breaks || other.breaks }
    }
}

/// The functions with barriers that only some threads reach, if all threads call `function` when `is_together`, and whether
/// what it returns is the same for all of them.
fn analyze(
    module: &Module,
    function: &Function,
    arguments: Vec<bool>,
    is_together: bool,
) -> (Vec<String>, bool) {
    let locals = vec![true; function.local_variables.len()];
    let results = HashSet::new();
    let mut uniform = Uniform { module, function, arguments, locals, results, returned: true };
    for (variable, local) in function.local_variables.iter() {
        uniform.locals[variable.index()] = local.init.is_none_or(|value| uniform.value(value));
    }
    loop {
        let known = uniform.locals.clone();
        uniform.returned = true;
        let mut found = Vec::new();
        uniform.walk(&function.body, is_together, &mut found);
        if uniform.locals == known {
            return (found, uniform.returned);
        }
    }
}

/// The functions of a kernel with barriers that the compiler of DX12 may reject.
pub(super) fn divergent_barriers(module: &Module) -> Vec<String> {
    let function = &module.entry_points[0].function;
    let arguments = function.arguments.iter().map(|argument| {
        use naga::{Binding, BuiltIn};
        matches!(
            argument.binding,
            Some(Binding::BuiltIn(BuiltIn::WorkGroupId | BuiltIn::NumWorkGroups))
        )
    });
    analyze(module, function, arguments.collect(), true).0
}

#[test]
fn barriers_that_only_some_threads_reach_are_found() {
    let divergent = |body: &str| {
        let source = format!(
            "@group(0) @binding(0) var<uniform> params: vec2<u32>;
            @group(0) @binding(1) var<storage, read> data: array<u32>;
            fn meet(end: u32) {{ for (var i = 0u; i < end; i++) {{ workgroupBarrier(); }} }}
            @compute @workgroup_size(64)
            fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {{ {body} }}"
        );
        let module = naga::front::wgsl::parse_str(&source).expect("a shader");
        !divergent_barriers(&module).is_empty()
    };
    assert!(!divergent("if group.x >= params.x { return; } workgroupBarrier();"));
    assert!(!divergent("for (var i = 1u; i < params.x; i *= 2u) { workgroupBarrier(); }"));
    assert!(!divergent("meet(params.x); if lane == 0u { return; }"));
    assert!(!divergent("for (var i = lane; i < 9u; i++) { if i == 5u { break; } } meet(4u);"));
    assert!(divergent("if data[group.x] == 0u { return; } workgroupBarrier();"));
    assert!(divergent("for (var i = 0u; i < data[0]; i++) { workgroupBarrier(); }"));
    assert!(divergent("var i = 0u; if lane > 3u { i = 2u; } meet(i);"));
    assert!(divergent("loop { workgroupBarrier(); if lane == 1u { break; } }"));
    assert!(divergent("meet(data[0]);"));
    assert!(!divergent("meet(min(params.x, group.y));"));
}
