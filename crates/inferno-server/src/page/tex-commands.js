// The commands of TeX that have arguments, and its environments.

import { ACCENTS, FONTS } from './tex-symbols.js';
import { Unsupported, fence, leaf, node, space } from './tex-tree.js';

/** Delimiters around the tables of environments. */
const MATRICES = {
  matrix: ['', ''], smallmatrix: ['', ''], pmatrix: ['(', ')'], bmatrix: ['[', ']'], Bmatrix: ['{', '}'], vmatrix: ['|', '|'], Vmatrix: ['‖', '‖'],
  array: ['', ''],
};

/** Heights of delimiters, in em. */
const HEIGHTS = { big: 1.2, Big: 1.8, bigg: 2.4, Bigg: 3 };

/** Arrows with text above and below. */
const ARROWS = { xrightarrow: '→', xleftarrow: '←', xRightarrow: '⇒', xleftrightarrow: '↔' };

const TEXT_FONTS = { textbf: 'bold', textit: 'italic', emph: 'italic', texttt: 'typewriter' };

/** Tables of environments, from rows of cells. */
export const ENVIRONMENTS = {
  ...Object.fromEntries(
    Object.entries(MATRICES).map(([name, [open, close]]) => [name, (rows) => enclosed(open, [table(rows, 'matrix')], close)]),
  ),
  cases: (rows) => enclosed('{', [table(rows, 'cases')], ''),
  rcases: (rows) => enclosed('', [table(rows, 'cases')], '}'),
  gathered: (rows) => table(rows, 'gathered', { displaystyle: 'true' }),
  aligned: (rows) => table(rows, 'aligned', { displaystyle: 'true' }),
};

for (const [name, same] of Object.entries({
  gather: 'gathered', equation: 'gathered', align: 'aligned', split: 'aligned', eqnarray: 'aligned', alignat: 'aligned', alignedat: 'aligned',
  flalign: 'aligned', multline: 'gathered', dcases: 'cases',
})) {
  ENVIRONMENTS[name] = ENVIRONMENTS[same];
}

/** Environments with an argument before their table. */
const WITH_ARGUMENT = ['array', 'alignat', 'alignedat'];

/** Parsers of commands: each receives the parser and the name, and returns a node or a list of nodes. */
const COMMANDS = {
  frac: (parser) => node('mfrac', [parser.argument(), parser.argument()]),
  dfrac: (parser) => node('mfrac', [parser.argument(), parser.argument()], { displaystyle: 'true' }),
  tfrac: (parser) => node('mfrac', [parser.argument(), parser.argument()], { displaystyle: 'false' }),
  binom: (parser) => enclosed('(', [node('mfrac', [parser.argument(), parser.argument()], { linethickness: '0' })], ')'),
  sqrt: (parser) => {
    const index = parser.optional();
    const radicand = parser.argument();
    return index === null ? node('msqrt', [radicand]) : node('mroot', [radicand, index]);
  },
  left: (parser) => parser.nested(() => delimited(parser)),
  begin: (parser) => parser.nested(() => environment(parser)),
  operatorname: (parser) => leaf('mi', parser.raw().replaceAll('\\,', '\u2009'), { mathvariant: 'normal' }),
  'operatorname*': (parser) => ({ ...leaf('mo', parser.raw(), { movablelimits: 'true', lspace: '0', rspace: '0' }), limits: true }),
  underline: (parser) => node('munder', [parser.argument(), leaf('mo', '_', { stretchy: 'true' })]),
  underbrace: (parser) => ({ ...node('munder', [parser.argument(), leaf('mo', '⏟', { stretchy: 'true' })]), limits: true }),
  overset: (parser) => placed('mover', parser),
  stackrel: (parser) => placed('mover', parser),
  underset: (parser) => placed('munder', parser),
  substack: (parser) => {
    parser.expect('{');
    const rows = parser.nested(() => parser.rows(['}']));
    parser.expect('}');
    return table(rows, 'gathered');
  },
  not: (parser) => {
    const crossed = parser.argument();
    if (crossed.text === undefined) throw new Unsupported();
    return { ...crossed, text: `${crossed.text}\u0338` };
  },
  pmod: (parser) => [space(1), leaf('mo', '(', { stretchy: 'false' }), leaf('mi', 'mod'), space(0.333), parser.argument(), leaf('mo', ')', { stretchy: 'false' })],
  bmod: () => leaf('mo', 'mod', { lspace: '0.222em', rspace: '0.222em' }),
  mod: () => [space(1), leaf('mi', 'mod'), space(0.333)],
  boxed: (parser) => node('mrow', [parser.argument()], { class: 'boxed' }),
  phantom: (parser) => node('mphantom', [parser.argument()]),
  tag: (parser) => [space(2), leaf('mtext', `(${plainText(parser.raw())})`)],
  'tag*': (parser) => [space(2), leaf('mtext', plainText(parser.raw()))],
  textcolor: (parser) => {
    parser.raw();
    return parser.argument();
  },
  color: (parser) => ignored(parser.raw()),
  label: (parser) => ignored(parser.raw()),
  hspace: (parser) => ignored(parser.raw()),
};

define(['mathop', 'mathrel', 'mathbin', 'mathord', 'mathopen', 'mathclose', 'mathinner', 'ensuremath'], (parser) => parser.argument());
define(['displaystyle', 'textstyle', 'scriptstyle', 'nonumber', 'notag', 'hline', 'allowbreak', 'negthinspace'], () => []);
define(['text', 'textrm', 'textnormal', 'mbox', ...Object.keys(TEXT_FONTS)], (parser, name) => {
  return leaf('mtext', plainText(parser.raw()), name in TEXT_FONTS ? { class: TEXT_FONTS[name] } : {});
});
define(FONTS, (parser, font) => inFont(parser, font));
define(Object.keys(ARROWS), (parser, name) => {
  const [below, above] = [parser.optional(), parser.argument()];
  const arrow = leaf('mo', ARROWS[name], { stretchy: 'true' });
  return below === null ? node('mover', [arrow, above]) : node('munderover', [arrow, below, above]);
});
define(ACCENTS.keys(), (parser, name) => {
  const [mark, stretches] = ACCENTS.get(name);
  const accent = leaf('mo', mark, { stretchy: String(stretches) });
  const accented = node('mover', [parser.argument(), accent], { accent: 'true' });
  return name === 'overbrace' ? { ...accented, limits: true } : accented;
});
for (const [name, height] of Object.entries(HEIGHTS)) {
  define([name, `${name}l`, `${name}r`, `${name}m`], (parser) => fence(parser.delimiter(), height));
}
// These older commands apply up to the end of the group.
for (const [name, font] of Object.entries({ bf: 'mathbf', rm: 'mathrm', cal: 'mathcal', it: 'mathit' })) {
  define([name], (parser) => {
    parser.font = font;
    return [];
  });
}

function define(names, parse) {
  for (const name of names) COMMANDS[name] = parse;
}

/** The parser of a command, or undefined. */
export function commandParser(name) {
  return Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
}

function ignored() {
  return [];
}

function inFont(parser, font) {
  const outer = parser.font;
  parser.font = font;
  const argument = parser.argument();
  parser.font = outer;
  return argument;
}

/** `\left … \middle … \right`. */
function delimited(parser) {
  const open = parser.delimiter();
  const inner = parser.row(['\\right', '\\middle']);
  while (parser.peek() === '\\middle') {
    parser.next();
    inner.push(fence(parser.delimiter()), ...parser.row(['\\right', '\\middle']));
  }
  parser.expect('\\right');
  return enclosed(open, inner, parser.delimiter());
}

function enclosed(open, inner, close) {
  return node('mrow', [...(open ? [fence(open)] : []), ...inner, ...(close ? [fence(close)] : [])]);
}

function environment(parser) {
  const name = parser.raw();
  const kind = name.replace(/\*$/, '');
  if (!Object.hasOwn(ENVIRONMENTS, kind)) throw new Unsupported();
  if (WITH_ARGUMENT.includes(kind)) parser.raw();
  const rows = parser.rows(['\\end']);
  parser.expect('\\end');
  if (parser.raw() !== name) throw new Unsupported();
  return ENVIRONMENTS[kind](rows);
}

function table(rows, kind, attributes = {}) {
  const cells = (row) => node('mtr', row.map((nodes) => node('mtd', nodes)));
  return node('mtable', rows.map(cells), { class: kind, ...attributes });
}

/** The second argument with the first above or below it. */
function placed(tag, parser) {
  const script = parser.argument();
  return node(tag, [parser.argument(), script]);
}

/** Text of a formula; its spaces are preserved. */
function plainText(source) {
  return source.replace(/\\([%$#&_{}])/g, '$1').replaceAll(/\\ |[ ~\n]/g, '\u00a0');
}
