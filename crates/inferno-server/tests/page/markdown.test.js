// Markdown as the page renders it, compared with markdown-it, and with hostile, random, long and deeply nested text.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import MarkdownIt from 'markdown-it';
import { useRenderer } from './setup.js';

let page;

useRenderer((opened) => ({ page } = opened));

/** HTML of the page's elements, without what only the page adds: bars above code, highlighting, frames of tables, link targets. */
function ours(text) {
  return page.evaluate((given) => {
    const view = render(given);
    for (const bar of view.querySelectorAll('.bar')) bar.remove();
    for (const piece of view.querySelectorAll('code span')) piece.replaceWith(...piece.childNodes);
    for (const code of view.querySelectorAll('code')) code.normalize();
    for (const frame of view.querySelectorAll('.code, .table')) frame.replaceWith(...frame.childNodes);
    for (const it of view.querySelectorAll('*')) {
      for (const name of ['target', 'rel', 'tabindex']) it.removeAttribute(name);
    }
    return view.innerHTML;
  }, text);
}

/** The output of markdown-it with the page's options: no HTML, line breaks preserved, headings two levels lower. */
function theirs(text) {
  const markdown = new MarkdownIt({ html: false, breaks: true, linkify: true });
  markdown.disable(['lheading', 'reference', 'image']);
  markdown.linkify.set({ fuzzyLink: false, fuzzyEmail: false });
  return markdown
    .render(text)
    .replace(/<(\/?)h([1-6])>/g, (_, slash, level) => `<${slash}h${Math.min(6, Number(level) + 2)}>`)
    .replace(/ class="language-[^"]*"/g, '')
    .replace(/ style="text-align:(\w+)"/g, ' class="$1"')
    .replace(/<br>\n/g, '<br>')
    .replace(/&quot;/g, '"')
    .replace(/(?<=>)\n|\n(?=<(?!\/code))/g, '');
}

const CASES = {
  paragraphs: ['One.\n\nTwo,\nand three.  \nFour.', '', '\n\n', '  indented a little', 'a\\\nb'],
  emphasis: [
    '*a* **b** ***c*** _d_ __e__ ~~f~~', '**bold *and* more**', '*a **b** c*', '**a*b*c**', 'snake_case_name and __init__', '2 * 3 * 4',
    '**not closed', '*a **b* c**', 'un*frigging*believable', '**"quoted"** and **end.**', '***a** b*', '***a* b**', '****a****', '*(a)*',
    '**日本語**です', 'a~b~c', '*foo**bar**baz*', '*foo**bar*', '**foo*bar**', '_a*b_c*', '\\*not\\* `*code*`', '*a*b_c_d',
  ],
  code: ['`a`', '`` a`b ``', '` a `', '`a', '``a`', '`a\nb`', '`<b>`', '`` ` ``'],
  headings: ['# One', '## Two ##', '####### seven', '#none', '### *a* `b`', '#', '# a #b', 'text\n# heading\ntext'],
  rules: ['---', '***', '_ _ _', 'a\n\n---\n\nb', '--'],
  lists: [
    '- a\n- b\n- c', '* a\n\n* b', '1. one\n2. two', '3) three\n4) four', '- a\n  - b\n    - c\n- d', '1. a\n\n   more\n\n2. b',
    '- a\n\n      code\n', '- a\n- b\n\ntext', '- a\n* b', 'text\n- a\n- b', 'text\n2. not a list', '-not a list', '- **a**: b\n- `c`',
    '1. a\n   - b\n   - c\n2. d', '- a\n  continued', '-\n- b', '10. ten\n11. eleven', '- > quoted\n- # heading', '- a\n\n  b\n- c',
  ],
  quotations: ['> a\n> b', '> a\n>\n> b', '> - a\n> - b', '> > deep', 'text\n> quoted\n\nafter', '>no space'],
  'code blocks': [
    '```\na\n```', '```rust\nfn main() {}\n\nlet x = 1;\n```', '~~~\na\n~~~', '````\n```\na\n```\n````', '```\nnot closed\n', 'a\n```\nb\n```\nc',
    '    indented\n\n    code', '- a\n  ```js\n  b\n    c\n  ```', '  ```\n  a\n   b\n  ```', '```\n```',
  ],
  tables: [
    '| a | b |\n|---|---|\n| 1 | 2 |', 'a | b\n:-- | --:\n1 | 2\n3', '| a |\n|:-:|\n| `x` **y** |\n\nafter', '| a | b |\n|---|\n| 1 | 2 |',
    '| a \\| b | c |\n|---|---|\n| 1 | 2 |',
  ],
  links: [
    '[a](https://example.org)', '[a *b*](https://example.org/x "title")', '[a](<https://example.org/x>)', '[a](mailto:someone@example.org)',
    '<https://example.org>', 'See https://example.org/a_b?c=d, or (https://example.org).', '[a](https://example.org/(x))', '[a]', '[a](', '[a] (b)',
    '**[a](https://example.org)**', '[a [b] c](https://example.org)', '[a](https://a.example) [b](https://b.example)', 'https://',
  ],
  'HTML and entities': ['<b>a</b>', '<script>alert(1)</script>', 'a < b && c > d', '&lt;b&gt; &amp; &#35; &#x1F999; &hellip;', '<!-- a -->'],
};

for (const [kind, texts] of Object.entries(CASES)) {
  test(`${kind} match markdown-it`, async () => {
    for (const text of texts) assert.equal(await ours(text), theirs(text), JSON.stringify(text));
  });
}

test('a streamed answer ends like a complete one, and finished blocks keep their elements', async () => {
  const text = Object.values(CASES).flat().join('\n\n');
  const result = await page.evaluate((whole) => {
    const view = new MarkdownView();
    let numKept = 0;
    for (let end = 1; end <= whole.length; end += 7) {
      const first = view.element.firstChild;
      view.show(whole.slice(0, end));
      if (first !== null && first === view.element.firstChild) numKept += 1;
    }
    view.show(whole);
    return { numKept, isSame: view.element.innerHTML === render(whole).innerHTML };
  }, text);
  assert.ok(result.isSame);
  assert.ok(result.numKept > 100, 'the first paragraph is not recreated');
});

/** Tags and attributes that Markdown may become. */
const ALLOWED = {
  a: ['href', 'title', 'target', 'rel'], ol: ['start'], pre: ['tabindex'], div: ['class', 'tabindex'], td: ['class'], th: ['class'],
  button: ['type', 'class', 'title', 'aria-label'], svg: ['class', 'aria-hidden'], use: ['href'], span: ['class', 'tabindex'], p: ['class', 'tabindex'],
  math: ['display'], mi: ['mathvariant'], mo: ['form', 'stretchy', 'lspace', 'rspace', 'minsize', 'maxsize', 'movablelimits'], mspace: ['width'],
  mtable: ['class', 'displaystyle'], mfrac: ['displaystyle', 'linethickness'], mover: ['accent'], mrow: ['class'], mtext: ['class'],
  ...Object.fromEntries(
    ('h3 h4 h5 h6 hr code em strong s br ul li blockquote table thead tbody tr ' +
      'mn msub msup msubsup munder munderover msqrt mroot mtr mtd mphantom').split(' ').map((tag) => [tag, []]),
  ),
};

/** The elements of rendered strings that are not allowed. */
function forbidden(texts) {
  return page.evaluate(
    ([given, allowed]) =>
      given.flatMap((text) =>
        [...render(text).querySelectorAll('*')]
          .filter((it) => {
            const attributes = allowed[it.localName];
            const isSafe = it.localName !== 'a' || /^(https?|mailto):/i.test(it.getAttribute('href'));
            return !attributes || !isSafe || it.getAttributeNames().some((name) => !attributes.includes(name));
          })
          .map((it) => `${JSON.stringify(text)}: ${it.outerHTML}`),
      ),
    [texts, ALLOWED],
  );
}

test('hostile text becomes harmless elements', async () => {
  const hostile = [
    '<img src=x onerror=alert(1)>', '[a](javascript:alert(1))', '[a](JaVaScRiPt:alert(1))', '[a](data:text/html,<script>alert(1)</script>)',
    '[a](\tjavascript:alert(1))', '[a](<javascript:alert(1)>)', '<javascript:alert(1)>', '![a](javascript:alert(1))', '[a](vbscript:x)',
    '![a](https://example.org/x.png)', '[a](https://example.org "onclick=alert(1)")', '```"><script>\na\n```', '[a](//example.org)', '[a](/etc)',
    '[<img src=x>](https://example.org)', '&lt;script&gt;', '[a](&#106;avascript:alert(1))', '[a](java\\script:alert(1))', '\u0000\ufffe\ud800',
    '$<img src=x onerror=alert(1)>$', '$\\href{javascript:alert(1)}{a}$', '$$\\text{<script>}\\class{a}{b}$$', '\\(\\unicode{x3c}script>\\)',
    '```html"><script>\n<img src=x onerror=alert(1)>\n```', '| <b> | " onx=1 |\n|---|---|\n| <i> | 2 |', '# <svg onload=alert(1)>', '- <iframe src=x>', '[a](file:///etc/passwd)', '[a](blob:x)',
  ];
  assert.deepEqual(await forbidden(hostile), []);
});

/** Random numbers that are the same in each run (mulberry32). */
function random(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

test('random text becomes harmless elements and is not lost', async () => {
  const draw = random(7);
  const pieces = ['*', '**', '_', '`', '```', '~~', '[', '](https://a.b)', '](x)', '!', '<', '>', '> ', '- ', '1. ', '# ', '|', '|-|', '\n', '\n\n', '    ', '\t', '\\', '&', '&amp;', 'word', 'h', 'https://a.b', ' ', '\u{1F999}', '\ud800', '$', '$$', '\\(', '\\)', '\\[', '\\frac', '{', '}', '^'];
  const texts = Array.from({ length: 3000 }, () =>
    Array.from({ length: 1 + Math.floor(draw() * 24) }, () => pieces[Math.floor(draw() * pieces.length)]).join(''),
  );
  assert.deepEqual(await forbidden(texts), []);
  const lost = await page.evaluate((given) => {
    const count = (text, word) => text.split(word).length;
    return given.filter((text) => count(render(text).textContent, 'word') < count(text.replace(/(```|~~~).*/g, ''), 'word'));
  }, texts);
  assert.deepEqual(lost, []);
});

test('long and deeply nested text is rendered in reasonable time', async () => {
  const many = (text, count = 20_000) => text.repeat(count);
  const texts = [
    many('*a '), many('**'), many('a**b'), many('_a*b~~'), many('`'), many('`a``b'), many('['), many('[a]('), many('[a](b "'), many('<a:'), many('&'),
    many('> '), many('- '), many('- a\n'), many('>'), many('1. '), many('#'), `# ${many(' ')}x`, `https://a.b [a](${many(' ', 60_000)}x y`, `a${many(' ', 60_000)}b\nc`, `# a ${many('# ')}b`, `|a|\n|-|\n${many('|a|\n')}`, many('|'),
    many('a|b\n'), many('\n'), many(' '), many('\\'), many('https://'), many('*a **b '), many('~~~\n'), many('(('), `[a](${many('(')}`, many('![a'),
    `${many('|-')}\n${many('|-')}`, Array.from({ length: 400 }, (_, depth) => `${'  '.repeat(depth)}- a`).join('\n'), many('***a b '), many('-'), many('- -'),
    many('$a'), many('$a '), many('\\(a'), many('\\[a\n'), many('$$\n'), many('$$a\n'), `$$\n${many('a\n')}`, `$${many('x^{', 1000)}$`, `$${many('\\frac', 700)}$`,
    `$${many('x_', 2000)}$`, `$\\begin{matrix}${many('&', 4000)}\\end{matrix}$`, ...['rust', 'python', 'html', 'css', 'yaml', 'sql'].flatMap((language) =>
      ['"', "'", '/*', '<', 'a-', '\n', '- ', '"""', '\\', '`', '0x', 'a:'].map((text) => `\`\`\`${language}\n${many(text, 9000)}\n`)),
  ];
  for (const text of texts) {
    const time = await page.evaluate((given) => {
      const begun = performance.now();
      render(given);
      return performance.now() - begun;
    }, text);
    assert.ok(time < 3000, `${time} ms for ${text.slice(0, 20)}`);
  }
});

test('the short rows of a wide table get a limited number of cells', async () => {
  const table = (columns, rows) => `${'|a'.repeat(columns)}|\n${'|-'.repeat(columns)}|\n${'|b\n'.repeat(rows)}`;
  const count = (text) => page.evaluate((given) => render(given).querySelectorAll('td').length, text);
  assert.equal(await count(table(5, 1000)), 5000);
  assert.ok((await count(table(1000, 1000))) < 10_000);
  // The other rows are not lost.
  assert.equal(await page.evaluate((given) => render(given).textContent.split('b').length - 1, table(1000, 1000)), 1000);
});

test('deeply nested text does not exceed the depth of browsers', async () => {
  const many = (text) => text.repeat(5000);
  const texts = [many('> '), many('- '), many('*a **b '), many('[a'), `${many('**a *b ')}${many('* **')}`, `${many('> - ')}a`, `$${'\\frac{'.repeat(500)}$`,
    ...[4, 11, 12, 13].map((depth) => `$${'\\frac{\\left('.repeat(depth / 2)}a${'\\right)}{b}'.repeat(depth / 2)}$`)];
  for (const text of texts) {
    const depth = await page.evaluate((given) => {
      const view = render(given);
      document.body.append(view);
      const { height } = view.getBoundingClientRect();
      view.remove();
      let [deepest, level] = [0, [view]];
      for (; level.length > 0; deepest += 1) level = level.flatMap((it) => [...it.children]);
      return height > 0 ? deepest : Infinity;
    }, text);
    assert.ok(depth < 60, `${depth} for ${text.slice(0, 20)}`);
  }
});
