// Formulas in TeX, parsed to a tree of MathML: the part of LaTeX that models write. Anything else is an error, so that a formula
// is shown either correctly or as its source.

import { ENVIRONMENTS, commandParser } from './tex-commands.js';
import { FUNCTIONS, LIMITS, SPACES, SYMBOLS, inAlphabet } from './tex-symbols.js';
import { Unsupported, group, leaf, node, space } from './tex-tree.js';

/** Maximum length of a formula. */
const MAX_LENGTH = 5_000;

/** Maximum nesting of groups and arguments. */
const MAX_DEPTH = 12;

/** Tokens that end a row of nodes, and are errors elsewhere. */
const ROW_ENDS = ['}', '&', '\\\\', '\\cr', '\\right', '\\middle', '\\end'];

/** Characters that TeX shows differently. */
const CHARACTERS = { '-': '−', '*': '∗' };

const TOKEN = /\\(?:(?:operatorname|tag)\*|[a-zA-Z]+|[\s\S])|[\s\S]/uy;
const NUMBER = /\d+(?:[.,]\d+)*/y;

/** The formula as a tree, or null if it contains something unsupported. */
export function parseTex(source, isDisplay) {
  if (source.trim() === '' || source.length > MAX_LENGTH) return null;
  try {
    const children = new TexParser(source).formula();
    return node('math', children, isDisplay ? { display: 'block' } : {});
  } catch (error) {
    if (error instanceof Unsupported) return null;
    throw error;
  }
}

/** A recursive descent parser; the commands with arguments are in `tex-commands.js`. */
class TexParser {
  #source;
  #at = 0;
  #depth = 0;
  /** The alphabet of letters, or null for the usual one. */
  font = null;

  constructor(source) {
    this.#source = source.trim();
  }

  /** The nodes of the whole formula; several lines become a table. */
  formula() {
    const rows = this.rows([]);
    if (this.peek() !== '') throw new Unsupported();
    return rows.length > 1 || rows[0]?.length > 1 ? [ENVIRONMENTS.aligned(rows)] : (rows[0]?.[0] ?? []);
  }

  /** Rows of cells, each a list of nodes, up to one of the tokens. */
  rows(ends) {
    const rows = [[]];
    for (;;) {
      rows.at(-1).push(this.row(['&', '\\\\', '\\cr', ...ends]));
      const end = this.peek();
      if (end === '' || ends.includes(end)) break;
      this.next();
      if (end === '&') continue;
      if (this.peek() === '[') this.raw('[', ']'); // Additional space between the lines.
      rows.push([]);
    }
    // A line break at the end begins no line.
    if (rows.length > 1 && rows.at(-1).length === 1 && rows.at(-1)[0].length === 0) rows.pop();
    return rows;
  }

  /** The nodes up to one of the tokens, which is not consumed. */
  row(ends) {
    const nodes = [];
    for (;;) {
      const token = this.peek();
      if (token === '' || ends.includes(token)) return nodes;
      if (ROW_ENDS.includes(token)) throw new Unsupported();
      const made = this.#scripted();
      if (isSign(made[0]) && isBeforeOperand(nodes.at(-1))) made[0].attributes.form = 'prefix';
      nodes.push(...made);
    }
  }

  /** The next token without the spaces before it; empty at the end. */
  peek() {
    while (/\s/.test(this.#source[this.#at] ?? '')) this.#at += 1;
    TOKEN.lastIndex = this.#at;
    return TOKEN.exec(this.#source)?.[0] ?? '';
  }

  next() {
    const token = this.peek();
    this.#at += token.length;
    return token;
  }

  /** Consumes a token, which must be this one. */
  expect(token) {
    if (this.next() !== token) throw new Unsupported();
  }

  /** An argument: a group, or one token. */
  argument() {
    return this.nested(() => {
      const token = this.peek();
      if (token === '{') return group(this.#group());
      // Of several digits, only the first is the argument.
      if (/^\d$/.test(token)) return leaf('mn', inAlphabet(this.font, this.next()));
      if (token === '' || '^_'.includes(token) || ROW_ENDS.includes(token)) throw new Unsupported();
      return group(this.#atom());
    });
  }

  /** An argument in brackets, or null if there is none. */
  optional() {
    if (this.peek() !== '[') return null;
    this.next();
    const nodes = this.nested(() => this.row([']']));
    this.expect(']');
    return group(nodes);
  }

  /** The source text of an argument. */
  raw(open = '{', close = '}') {
    this.expect(open);
    const start = this.#at;
    for (let depth = 1; depth > 0; this.#at += 1) {
      const character = this.#source[this.#at];
      if (character === undefined) throw new Unsupported();
      if (character === '\\') this.#at += 1;
      else if (character === close) depth -= 1;
      else if (character === open) depth += 1;
    }
    return this.#source.slice(start, this.#at - 1);
  }

  /** The result of a function that parses something nested. */
  nested(parse) {
    this.#depth += 1;
    if (this.#depth > MAX_DEPTH) throw new Unsupported();
    const result = parse();
    this.#depth -= 1;
    return result;
  }

  /** The text of a delimiter; empty for a dot. */
  delimiter() {
    const token = this.next();
    if (token === '.') return '';
    const angle = { '<': '⟨', '>': '⟩' }[token];
    if (angle) return angle;
    const symbol = token.startsWith('\\') ? SYMBOLS.get(token.slice(1)) : null;
    if (symbol?.kind === 'fence' || symbol?.kind === 'mo') return symbol.text;
    if (!'()[]|/'.includes(token) || token === '') throw new Unsupported();
    return token;
  }

  #group() {
    this.expect('{');
    const { font } = this;
    const nodes = this.row(['}']);
    this.font = font;
    this.expect('}');
    return nodes;
  }

  /** The next node with its scripts, and the space that follows a function. */
  #scripted() {
    const name = this.peek().slice(1);
    const isFunction = FUNCTIONS.has(name) || name === 'operatorname';
    const nodes = '^_\''.includes(this.peek()) ? [] : this.#atom();
    const base = group(nodes);
    const scripts = this.#scripts(base);
    const made = scripts.length > 0 ? [attach(base, Object.fromEntries(scripts))] : nodes;
    if (!isFunction) return made;
    const isApart = !/^$|^[()[\]|^_&}=+,-]$|^\\(?:left|right|\\)$/.test(this.peek());
    return [...made, leaf('mo', '\u2061'), ...(isApart ? [space(0.167)] : [])];
  }

  /** Pairs of `sub` or `sup` and a node. */
  #scripts(base) {
    const found = new Map();
    for (;;) {
      const token = this.peek();
      if (token === '\\limits' || token === '\\nolimits') {
        this.next();
        base.limits = token === '\\limits';
      } else if (token === "'") {
        const primes = leaf('mo', this.#primes(), { lspace: '0', rspace: '0' });
        const power = this.peek() === '^' ? [this.#script()] : [];
        if (found.has('sup')) throw new Unsupported();
        found.set('sup', group([primes, ...power]));
      } else if (token === '^' || token === '_') {
        const place = token === '^' ? 'sup' : 'sub';
        if (found.has(place)) throw new Unsupported();
        found.set(place, this.#script());
      } else {
        return [...found];
      }
    }
  }

  #script() {
    this.next();
    return this.argument();
  }

  #primes() {
    let count = 0;
    for (; this.peek() === "'"; count += 1) this.next();
    return '′'.repeat(count);
  }

  /** The nodes of the next token, with the arguments of a command. */
  #atom() {
    const token = this.peek();
    if (token === '{') return [node('mrow', this.nested(() => this.#group()))];
    if (/^\d$/.test(token)) return [this.#number()];
    this.next();
    if (token.startsWith('\\')) return this.#command(token.slice(1));
    if (token === '~') return [space(SPACES.get('~'))];
    if (token === '$' || token === '#') throw new Unsupported();
    if (/\p{L}/u.test(token)) return [this.#letter(token)];
    return [operator(CHARACTERS[token] ?? token)];
  }

  #number() {
    NUMBER.lastIndex = this.#at;
    const [digits] = NUMBER.exec(this.#source);
    this.#at += digits.length;
    return leaf('mn', [...digits].map((digit) => inAlphabet(this.font, digit)).join(''));
  }

  #letter(text) {
    const shown = inAlphabet(this.font, text);
    // A letter of another alphabet is not made italic.
    const isUpright = this.font === 'mathrm';
    return leaf('mi', shown, isUpright ? { mathvariant: 'normal' } : {});
  }

  #command(name) {
    if (SPACES.has(name)) return SPACES.get(name) < 0 ? [] : [space(SPACES.get(name))];
    if (FUNCTIONS.has(name)) return [leaf('mi', name)];
    if (LIMITS.has(name)) return [{ ...leaf('mo', LIMITS.get(name), { movablelimits: 'true', lspace: '0', rspace: '0.167em' }), limits: true }];
    const symbol = SYMBOLS.get(name);
    if (symbol) return [symbolNode(symbol)];
    const parse = commandParser(name);
    if (!parse) throw new Unsupported();
    return [parse(this, name)].flat();
  }
}

/** Operators do not stretch, unlike in MathML, unless `\left` makes them. Bars have no space around them. */
function operator(text) {
  if (text === '|' || text === '‖') return leaf('mo', text, { stretchy: 'false', lspace: '0', rspace: '0' });
  return leaf('mo', text, /[()[\]/{}⟨⟩⌊⌋⌈⌉↑↓↕⇑⇓]/.test(text) ? { stretchy: 'false' } : {});
}

/** Whether a node is a sign if no operand precedes it. */
function isSign(made) {
  return made?.tag === 'mo' && '+−±∓'.includes(made.text);
}

/** Whether what follows a node is an operand. */
function isBeforeOperand(made) {
  return made?.tag === 'mo' && !')]}!|‖⟩⌋⌉…'.includes(made.text);
}

function symbolNode({ kind, text }) {
  switch (kind) {
    case 'mi':
      return leaf('mi', text);
    case 'upright':
      return leaf('mi', text, { mathvariant: 'normal' });
    case 'big':
      return { ...leaf('mo', text, { movablelimits: 'true' }), limits: true };
    default:
      return operator(text);
  }
}

/** A node with scripts, at the side or above and below. */
function attach(base, { sub, sup }) {
  const [below, above, both] = base.limits ? ['munder', 'mover', 'munderover'] : ['msub', 'msup', 'msubsup'];
  if (sub && sup) return node(both, [base, sub, sup]);
  return sub ? node(below, [base, sub]) : node(above, [base, sup]);
}
