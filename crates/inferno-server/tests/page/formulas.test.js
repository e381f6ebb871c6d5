// Formulas compared with Temml, and highlighted code.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import temml from 'temml';
import { useRenderer } from './setup.js';

let page;

useRenderer((opened) => ({ page } = opened));

const render = (text) => page.evaluate((given) => render(given).innerHTML, text);

const FORMULAS = String.raw`
x^2 + y^2 = z^2
\frac{-b \pm \sqrt{b^2 - 4ac}}{2a}
\int_{-\infty}^{\infty} e^{-x^2} \, dx = \sqrt{\pi}
\sum_{n=1}^\infty \frac{1}{n^2} = \frac{\pi^2}{6}
\lim_{x \to 0} \frac{\sin x}{x} = 1
\begin{pmatrix} a & b \\ c & d \end{pmatrix} \begin{bmatrix} x \\ y \end{bmatrix}
f(x) = \begin{cases} x^2 & \text{if } x > 0 \\ 0 & \text{otherwise} \end{cases}
\left( \frac{a}{b} \right)^n
\mathbb{R}^n \to \mathbb{C}
\nabla \times \mathbf{E} = -\frac{\partial \mathbf{B}}{\partial t}
\begin{aligned} a &= b + c \\ &= d \end{aligned}
\vec{F} = m\vec{a}
\binom{n}{k} = \frac{n!}{k!(n-k)!}
f'(x) = \lim_{h \to 0} \frac{f(x+h) - f(x)}{h}
x_1, x_2, \ldots, x_n
\forall \epsilon > 0 \, \exists \delta > 0
A \cup B \cap C \setminus D \subseteq E
\log_2 n + \ln x
\operatorname{softmax}(x_i) = \frac{e^{x_i}}{\sum_j e^{x_j}}
\sqrt[3]{8} = 2
a \equiv b \pmod{n}
\underbrace{a + b}_{n} + \overbrace{c}^{m}
\xrightarrow{f}
10{,}000 \times 1.5\%
\boxed{42}
\big( x \big)
\left. \frac{df}{dx} \right|_{x=0}
\|x\|_2 \le |y|
\theta = \arg\max_\theta \mathcal{L}(\theta)
\prod_{i=1}^{n} x_i
e^{i\pi} + 1 = 0
\Gamma(n) = (n-1)!
\frac12 x^10
\mathrm{H_2O}
\text{Attention}(Q,K,V) = \text{softmax}\left(\frac{QK^T}{\sqrt{d_k}}\right)V
\overset{def}{=}
x \neq y \not= z
\begin{array}{cc} 1 & 2 \\ \hline 3 & 4 \end{array}
\oint_C \mathbf{F} \cdot d\mathbf{r}
\tan^{-1}(x)
\dfrac{1}{2} \tfrac{1}{3}
\alpha\beta\gamma\Delta\Omega
\mathcal{O}(n \log n)
\sum\limits_{i=0}^{n} i
y = mx + b \tag{1}
\lfloor x \rfloor + \lceil y \rceil
90^\circ
\dot{x} = \ddot{y}
x \in \{1, 2, 3\}
\begin{align*} x &= 1 \\ y &= 2 \end{align*}
\displaystyle\sum_{k} a_k
\int_0^1\!\!\int_0^1 f\,dx\,dy
\min_{x \in X} \max_{y} f
\sum_{\substack{i < n \\ j < m}} a_{ij}
`
  .trim()
  .split('\n');

/** The text of MathML without spaces, invisible operators and the source. */
function textOf(markup) {
  const entities = { '&lt;': '<', '&gt;': '>', '&amp;': '&', '&nbsp;': '' };
  return markup
    .replace(/<annotation[\s\S]*?<\/annotation>/g, '')
    .replace(/<[^>]*>/g, '')
    .replace(/&\w+;/g, (entity) => entities[entity])
    .replace(/[\s\u2061\u2009\u200b]/g, '');
}

/** The counts of elements that determine a formula's shape. Browsers place limits, so their position is not compared. */
function shapeOf(markup) {
  const tags = ['mfrac', 'msqrt', 'mroot', 'mtr', 'msub|munder', 'msup|mover', 'msubsup|munderover'];
  return Object.fromEntries(tags.map((tag) => [tag, markup.split(new RegExp(`<(?:${tag})[ >]`)).length - 1]));
}

test('formulas match Temml', async () => {
  for (const tex of FORMULAS) {
    const ours = await render(`$$${tex}$$`);
    const theirs = temml.renderToString(tex, { displayMode: true, throwOnError: true });
    assert.match(ours, /<math display="block">/, tex);
    assert.equal(textOf(ours), textOf(theirs), tex);
    // Temml aligns, underlines and tags with elements of its own.
    if (!/tag|align|brace|vec|dot|xright|pmod/.test(tex)) assert.deepEqual(shapeOf(ours), shapeOf(theirs), tex);
  }
});

test('formulas are found in every notation, and prices are not formulas', async () => {
  const cases = {
    'Let $x$ be \\(y\\).': 2, '$$\nx\n$$': 1, 'so\n$$x$$\nand': 1, '\\[\nx\n\\]': 1, 'a \\[x\\] b': 1, '- $x$\n- $y$': 2, '| $a$ |\n|---|\n| $b$ |': 2,
    'It costs $5 or $10.': 0, 'between $5-$10': 0, '$ x $': 0, 'US$': 0, '\\$x\\$': 0, '`$x$`': 0, '$$\nnot closed': 0, '```\n$x$\n```': 0, '$$ $$': 0,
  };
  for (const [text, count] of Object.entries(cases)) {
    assert.equal((await render(text)).split('<math').length - 1, count, text);
  }
});

test('an unsupported formula is shown as its source', async () => {
  for (const tex of ['\\unknown{x}', '\\frac{1}', 'x^1^2', '{x', 'x}', '\\left( x', '\\begin{pmatrix} 1', '\\begin{tikzpicture}\\end{tikzpicture}', '#']) {
    assert.equal(await render(`a $${tex}$`), `<p>a <code>$${tex}$</code></p>`);
  }
});

test('the parts of a displayed formula are laid out', async () => {
  const boxes = await page.evaluate(() => {
    const view = render('$$\\frac{a}{b} \\quad \\sum_{i}^{n} x^2$$');
    document.body.append(view);
    const box = (selector, index) => view.querySelectorAll(selector)[index].getBoundingClientRect();
    const found = { a: box('mi', 0), b: box('mi', 1), sum: box('munderover mo', 0), i: box('mi', 2), n: box('mi', 3), x: box('msup mi', 0), two: box('msup mn', 0) };
    view.remove();
    return found;
  });
  assert.ok(boxes.a.bottom <= boxes.b.top, 'a numerator is above its denominator');
  assert.ok(boxes.i.top >= boxes.sum.bottom - 4 && boxes.n.bottom <= boxes.sum.top + 4, 'limits are below and above');
  assert.ok(boxes.two.left >= boxes.x.right - 2 && boxes.two.top < boxes.x.top, 'a power is raised');
});

test('a formula in text is on its line, and scrolls if it is too wide', async () => {
  const wide = Array.from({ length: 20 }, (_, index) => `a_${index} x_${index}`).join(' + ');
  const found = await page.evaluate((texts) => {
    const view = render(texts.join('\n\n'));
    view.style.width = '300px';
    document.body.append(view);
    // A formula without its frame is on the baseline.
    const bare = document.createElement('p');
    bare.append('text ', view.querySelector('math').cloneNode(true));
    view.append(bare);
    const height = (paragraph) => paragraph.querySelector('math').getBoundingClientRect().bottom - paragraph.getBoundingClientRect().top;
    const result = { framed: height(view.firstChild), bare: height(bare), width: view.scrollWidth, heights: [view.firstChild, bare].map((it) => it.offsetHeight) };
    view.remove();
    return result;
  }, ['text $x = \\frac{a}{y}$', `text $${wide}$`, `text $$${wide}$$ end`, `- $$${wide}$$`]);
  assert.equal(found.framed, found.bare);
  assert.equal(found.heights[0], found.heights[1]);
  assert.equal(found.width, 300);
});

const CODE = {
  rust: ["fn main<'a>() { let c = '\\n'; } // end", { keyword: ['fn', 'let'], string: ["'\\n'"], comment: ['// end'] }],
  py: ['def f(x):\n    """Doc"""\n    return 0x1F  # end', { keyword: ['def', 'return'], string: ['"""Doc"""'], number: ['0x1F'], comment: ['# end'] }],
  TypeScript: ['const a = `x ${1}`; /* b\n c', { keyword: ['const'], string: ['`x ${1}`'], comment: ['/* b\n c\n'] }],
  json: ['{"a": [1.5, true, "b"]}', { keyword: ['"a"', 'true'], number: ['1.5'], string: ['"b"'] }],
  bash: ['if [ $# -gt 1 ]; then echo "a"; fi # b', { keyword: ['if', 'then', 'echo', 'fi'], number: ['1'], string: ['"a"'], comment: ['# b'] }],
  sql: ["SELECT a FROM b WHERE c = 'd' -- e", { keyword: ['SELECT', 'FROM', 'WHERE'], string: ["'d'"], comment: ['-- e'] }],
  html: ['<!-- a --><p class="b">c</p>', { comment: ['<!-- a -->'], keyword: ['<p', '>', '</p', '>'], string: ['"b"'] }],
  yaml: ['a: 1 # b\nc: true', { keyword: ['a', 'c', 'true'], number: ['1'], comment: ['# b'] }],
  unknown: ['if (x) return "a"; // b', {}],
};

test('code is highlighted, and unchanged', async () => {
  for (const [language, [code, expected]] of Object.entries(CODE)) {
    const found = await page.evaluate(
      (text) => {
        const made = render(text).querySelector('pre code');
        return { text: made.textContent, pieces: [...made.querySelectorAll('span')].map((it) => [it.className, it.textContent]) };
      },
      `\`\`\`${language}\n${code}\n\`\`\``,
    );
    assert.equal(found.text, `${code}\n`, language);
    const kinds = {};
    for (const [kind, text] of found.pieces) (kinds[kind] ??= []).push(text);
    assert.deepEqual(kinds, expected, language);
  }
});
