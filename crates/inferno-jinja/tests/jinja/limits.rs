//! Templates that exceed a limit: each fails, and none exhausts time, memory or the stack.

use inferno_jinja::{Context, Error, Limits, Template};

fn render(template: &str) -> Result<String, Error> {
    render_within(template, Limits::default())
}

fn render_within(template: &str, limits: Limits) -> Result<String, Error> {
    let mut context = Context::new();
    context.set_text("text", &"x".repeat(100_000));
    Template::parse(template)?.render(&context, limits)
}

fn error_of(template: &str) -> Error {
    render(template).map(|text| text.len()).expect_err(template)
}

#[test]
fn a_template_that_never_ends_is_stopped() {
    let error = error_of(
        "{% for a in range(9999) %}{% for b in range(9999) %}{% for c in range(9999) %}\
         {% endfor %}{% endfor %}{% endfor %}",
    );
    assert!(matches!(error, Error::TooManySteps { .. }), "{error}");
}

#[test]
fn a_template_that_builds_or_writes_without_end_is_stopped() {
    let doubling = |statement: &str| {
        format!(
            "{{% set n = namespace(s='ab', l=[1]) %}}{{% for i in range(99) %}}{statement}{{% endfor %}}"
        )
    };
    for template in [
        "{% for a in range(9999) %}{{ text }}{% endfor %}".to_owned(),
        "{% set all %}{% for a in range(9999) %}{{ text }}{% endfor %}{% endset %}".to_owned(),
        "{{ 'a' * 10 ** 10 }}".to_owned(),
        "{{ 'a' * 10 ** 30 }}".to_owned(),
        "{{ [0] * 10 ** 10 }}".to_owned(),
        "{{ '%9999999999d' % 1 }}".to_owned(),
        "{{ '{:9999999999}'.format(1) }}".to_owned(),
        "{{ '{:09999999999,}'.format(1) }}".to_owned(),
        "{{ 'a'.center(9999999999) }}".to_owned(),
        "{{ 'a' | center(9999999999) }}".to_owned(),
        "{{ 'a' | indent(9999999999) }}".to_owned(),
        "{{ [1] | tojson(indent=9999999999) }}".to_owned(),
        "{{ [1] | batch(9999999999, 0) | list }}".to_owned(),
        "{{ [1] | slice(9999999999) | list }}".to_owned(),
        "{{ '\t'.expandtabs(9999999999) }}".to_owned(),
        "{{ text.replace('', text) }}".to_owned(),
        "{{ text | replace('x', text) }}".to_owned(),
        "{{ text | join(text) }}".to_owned(),
        "{{ text.join(text) }}".to_owned(),
        doubling("{% set n.s = n.s ~ n.s %}"),
        doubling("{% set n.s = n.s + n.s %}"),
        doubling("{% set n.s %}{{ n.s }}{{ n.s }}{% endset %}"),
        doubling("{% set n.l = n.l + n.l %}"),
        // Lists that hold the same list twice are small, but their printed form is not.
        doubling("{% set n.l = [n.l, n.l] %}") + "{{ n.l }}",
        doubling("{% set n.l = {'a': n.l, 'b': n.l} %}") + "{{ n.l }}",
        doubling("{% set n.s = n.s.split('') %}").replace("split('')", "replace('', n.s)"),
    ] {
        let error = error_of(&template);
        assert!(matches!(error, Error::TooManyBytes { .. }), "{template}\n{error}");
    }
}

#[test]
fn what_nests_too_deep_is_refused() {
    let many = 10_000;
    for template in [
        "{% set n = namespace(l=[]) %}{% for i in range(9999) %}{% set n.l = [n.l] %}{% endfor %}".to_owned(),
        "{% set n = namespace(l=[]) %}{% for i in range(9999) %}{% set n.l = (n.l,) %}{% endfor %}".to_owned(),
        "{% set n = namespace(l=[1]) %}{% for i in range(9999) %}{% set n.l = n.l | batch(1) | list %}{% endfor %}".to_owned(),
        "{% set n = namespace() %}{% set n.l = n %}{{ n }}".to_owned(),
        "{% set n = namespace() %}{% set n.l = [n] %}{{ n }}".to_owned(),
        "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}".to_owned(),
        format!("{{{{ {}1{} }}}}", "(".repeat(many), ")".repeat(many)),
        format!("{{{{ {}1{} }}}}", "[".repeat(many), "]".repeat(many)),
        format!("{{{{ {}1 }}}}", "-".repeat(many)),
        format!("{{{{ {}1 }}}}", "1 if 1 else ".repeat(many)),
        format!("{{{{ 1{} }}}}", " + 1".repeat(many)),
        format!("{{{{ x{} }}}}", ".y".repeat(many)),
        format!("{{{{ 1{} }}}}", " and 1".repeat(many)),
        format!("{{% if 0 %}}{}{{% endif %}}", "{% elif 0 %}".repeat(many)),
        format!("{{% set {}a{} = 1 %}}", "(".repeat(many), ")".repeat(many)),
        format!("{}{}", "{% if 1 %}".repeat(many), "{% endif %}".repeat(many)),
    ] {
        let error = error_of(&template);
        assert!(
            matches!(error, Error::Failed { .. } | Error::Syntax { .. }),
            "{error}"
        );
    }
}

/// Objects hold values too: methods their receiver, loops, cyclers and joiners their items.
#[test]
fn chains_of_objects_do_not_exhaust_the_stack() {
    for step in [
        "{% set n.c = [n.c].count %}",
        "{% set n.c = {'a': n.c}.items %}",
        "{% for x in [n.c] %}{% set n.c = loop %}{% endfor %}",
        "{% for x in [n.c] %}{% set n.c = loop.cycle %}{% endfor %}",
        "{% for x in [n.c] recursive %}{% set n.c = loop %}{% endfor %}",
        "{% set n.c = cycler(n.c) %}",
        "{% set n.c = cycler(n.c).next %}",
        "{% set n.c = joiner(n.c) %}",
    ] {
        let error = error_of(&format!(
            "{{% set n = namespace(c=0) %}}{{% for i in range(100000) %}}{step}{{% endfor %}}"
        ));
        assert!(error.to_string().contains("maximum recursion depth"), "{step}\n{error}");
    }
    // Values refer to namespaces by index, so a chain of them is not nested.
    let chain = "{% set n = namespace(c=0) %}{% for i in range(100000) %}{% set n.c = namespace(c=n.c) %}{% endfor %}";
    assert_eq!(render(&format!("{chain}{{{{ n.c == n.c.c }}}}")).unwrap(), "False");
    let error = error_of(&format!("{chain}{{{{ n }}}}"));
    assert!(error.to_string().contains("maximum recursion depth"), "{error}");
}

/// A tuple that holds the same tuple twice, 60 times over, is small, but has 2^60 leaves.
#[test]
fn work_on_shared_tuples_is_charged_for_every_visit() {
    let shared = "{% set n = namespace(t=(), u=()) %}{% for i in range(60) %}\
                  {% set n.t = (n.t, n.t) %}{% set n.u = (n.u, n.u) %}{% endfor %}";
    for operation in [
        "{{ {n.t: 1} }}",
        "{{ {}[n.t] }}",
        "{{ {}.get(n.t) }}",
        "{{ n.t in {} }}",
        "{{ dict.fromkeys([n.t]) }}",
        "{{ dict([[n.t, 1]]) }}",
        "{{ [n.t] | unique | list }}",
        "{{ n.t == n.u }}",
        "{{ n.t < n.u }}",
        "{{ n.t in [n.u] }}",
        "{{ [n.t, n.u] | sort }}",
        "{{ n.t }}",
        "{{ n.t | tojson }}",
        "{{ n.t | tojson(indent='') }}",
        "{{ n }}",
    ] {
        let limits = Limits { steps: 1_000_000, bytes: 1 << 20 };
        let rendered = render_within(&format!("{shared}{operation}"), limits);
        let is_limit =
            matches!(rendered, Err(Error::TooManySteps { .. } | Error::TooManyBytes { .. }));
        assert!(is_limit, "{operation}\n{rendered:?}");
    }
}

/// Four times as many names or keys take about four times as long; comparing each with all others would take 16 times as long.
#[test]
fn names_and_keys_are_looked_up_by_hash() {
    let names =
        |count: usize| format!("{{% set d = {{}}.fromkeys(range({count}) | map('string')) %}}");
    let parameters: Vec<String> = (0..500).map(|index| format!("a{index}")).collect();
    let parameters = parameters.join(", ");
    let repeated = |value: &str, count: usize| {
        format!("{{{{ ([{value}] * {count}) | unique | list | length }}}}")
    };
    type Case<'a> = (&'a dyn Fn(usize) -> String, fn(usize) -> usize);
    let cases: [Case<'_>; 6] = [
        (&|count| format!("{}{{{{ dict(x=1, **d) | length }}}}", names(count)), |count| count + 1),
        (
            &|count| {
                let names = names(count);
                format!(
                    "{names}{{% macro m({parameters}) %}}{{{{ kwargs | length }}}}{{% endmacro %}}{{{{ m(**d) }}}}"
                )
            },
            |count| count,
        ),
        (
            &|count| {
                format!(
                    "{{% set s %}}{{% for i in range({count}) %}}{{{{ i }}}}.5 {{% endfor %}}{{% endset %}}\
                     {{{{ s.split() | map('float') | unique | list | length }}}}"
                )
            },
            |count| count,
        ),
        (
            &|count| {
                let methods = format!("range({count}) | map('string') | map(attribute='upper')");
                format!("{{{{ {methods} | unique | list | length }}}}")
            },
            |count| count,
        ),
        (&|count| repeated("{}.values()", count), |_| 1),
        (&|count| repeated("'nan' | replace('', '') | float", count), |_| 1),
    ];
    for (template, expected) in cases {
        let seconds = |count: usize| {
            let template = template(count);
            let started = std::time::Instant::now();
            let rendered = render(&template).unwrap();
            let seconds = started.elapsed().as_secs_f64();
            assert_eq!(rendered, expected(count).to_string(), "{template}");
            seconds
        };
        // Other programs may slow down a measurement.
        let mut ratios = (0..5).map(|_| seconds(80_000) / seconds(20_000));
        assert!(ratios.any(|ratio| ratio < 9.0), "{}", template(80_000));
    }
    let names = names(100_000);
    // What searches all arguments by name is charged for each of them.
    let error = error_of(&format!("{names}{{{{ ('{{x}}' * 100000).format(**dict(d, x=1)) }}}}"));
    assert!(matches!(error, Error::TooManyBytes { .. } | Error::TooManySteps { .. }), "{error}");
}

#[test]
fn slices_of_nothing_cycles_through_nothing_and_long_chains_do_not_panic() {
    assert_eq!(render("{{ [][::-1] }}{{ ''[::-1] }}{{ ()[5:-9:-3] }}").unwrap(), "[]()");
    assert!(render("{% for i in [1] %}{{ loop.cycle() }}{% endfor %}").is_err());
    assert!(render("{% for i in [1] %}{{ loop.cycle(*[]) }}{% endfor %}").is_err());
    let many = 490;
    assert_eq!(render(&format!("{{{{ 1{} }}}}", " + 1".repeat(many))).unwrap(), "491");
    let branches = "{% elif 0 %}".repeat(many);
    assert_eq!(render(&format!("{{% if 0 %}}{branches}{{% else %}}x{{% endif %}}")).unwrap(), "x");
}

/// Steps bound comparing and reading text too, and bytes bound small strings at their real size.
#[test]
fn a_template_that_only_compares_and_reads_is_stopped() {
    let loops = |statement: &str| {
        format!(
            "{{% set l = range(9999) | list %}}{{% set long = text * 99 %}}{{% set other = text * 99 %}}\
             {{% for a in range(99999) %}}{{% for b in range(99999) %}}{statement}{{% endfor %}}{{% endfor %}}"
        )
    };
    for statement in [
        "{% if long == other %}{% endif %}",
        "{% if long < other %}{% endif %}",
        "{% if 'y' in long %}{% endif %}",
        "{% if -1 in l %}{% endif %}",
        "{% if l == range(9999) | list %}{% endif %}",
        "{% if {long: 1}[other] %}{% endif %}",
        "{{ long.count('y') }}",
        "{{ long.find('y') }}",
        "{{ long.isalpha() }}",
        "{{ long.strip(long) | length }}",
        "{{ long.startswith(other) }}",
        "{{ long | length }}",
        "{{ long | wordcount }}",
        "{{ long[-1] }}",
        "{{ l.count(-1) }}",
        "{{ l | max }}",
        "{{ l | sort | first }}",
        "{{ l | sum }}",
    ] {
        let limits = Limits { steps: 2_000_000, ..Limits::default() };
        let started = std::time::Instant::now();
        let error = render_within(&loops(statement), limits).map(drop).expect_err(statement);
        let is_limit = matches!(error, Error::TooManySteps { .. } | Error::TooManyBytes { .. });
        assert!(is_limit, "{statement}\n{error}");
        // A tenth of a second where nothing else runs.
        assert!(started.elapsed().as_secs() < 20, "{statement} took {:?}", started.elapsed());
    }
    for template in
        ["{{ (text * 99).replace('x', '\n').splitlines() }}", "{{ (text * 99) | list }}"]
    {
        let error = error_of(template);
        assert!(matches!(error, Error::TooManyBytes { .. }), "{template}\n{error}");
    }
}

/// The deepest nesting that is accepted must fit a thread's usual stack.
#[test]
fn the_deepest_nesting_fits_the_stack() {
    let nested = |open: &str, inner: &str, close: &str, count: usize| {
        open.repeat(count) + inner + &close.repeat(count)
    };
    let brackets = nested("[", "m()", "]", 40);
    let conditions = nested("{% if 1 %}", &format!("{{{{ {brackets} }}}}"), "{% endif %}", 90);
    let in_loops =
        nested("{% for i in [1] %}", &format!("{{{{ {brackets} }}}}"), "{% endfor %}", 90);
    for template in [
        format!("{{% macro m() %}}{conditions}{{% endmacro %}}{{{{ m() }}}}"),
        format!("{{% macro m() %}}{in_loops}{{% endmacro %}}{{{{ m() }}}}"),
        "{% macro m() %}{{ caller }}{% call m() %}{% endcall %}{% endmacro %}{{ m() }}".to_owned(),
        "{% for i in [1] recursive %}{{ loop([1]) }}{% endfor %}".to_owned(),
        "{% block b %}{{ self.b() }}{% endblock %}".to_owned(),
        "{% set n = namespace() %}{% set n.n = n %}{{ n }}".to_owned(),
    ] {
        let error = error_of(&template);
        assert!(error.to_string().contains("maximum recursion depth"), "{template}\n{error}");
    }
    let macros = "{% macro m(n) %}{% if n %}{{ m(n - 1) }}{% endif %}{% endmacro %}{{ m(80) }}";
    assert_eq!(render(macros).unwrap(), "");
}
