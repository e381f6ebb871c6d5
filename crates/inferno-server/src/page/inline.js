// Markdown inside of a block: emphasis, code, links, line breaks, formulas. As in CommonMark, with three differences: line
// breaks are preserved, bare URLs are links, and TeX between dollar signs or in `\(…\)` and `\[…\]` is a formula.
//
// The result is a flat list of text, breaks, code, and markers that open and close an element. Markers are always balanced, so
// that elements can be built with a stack instead of recursion.

const SAFE_SCHEME = /^(?:https?|mailto):/i;
const PUNCTUATION = /[\p{P}\p{S}]/u;
const ESCAPABLE = /[!-/:-@[-`{-~]/;
const WORDS = /[^\\`\n*_~[\]!<&$h]+|h[^\\`\n*_~[\]!<&$h]*/y;
/** Prices are not formulas: there is no space inside of the dollar signs, and no digit after them. */
const DOLLARS = /\$\$((?:\\[^\n]|[^\\$\n])+)\$\$|\$(?!\s)((?:\\[^\n]|[^\\$\n])+)(?<!\s)\$(?!\d)/y;
const BRACKETED = /\\\[((?:[^\\]|\\[^[\]])+)\\\]|\\\(((?:[^\\]|\\[^()])+)\\\)/y;
const LINE_BREAK = /\n */y;
const ADDRESS = /https?:\/\/[^\s<>"]*[^\s<>"'.,:;!?*_~)\]}]/iy;
const NAMED_ADDRESS = /<([a-z][a-z0-9+.-]{1,31}:[^\s<>]*)>/iy;
const DESTINATION = /\(\s*(?!\s)(?:<([^<>\n]*)>|((?:\\.|[^\s()\\]|\((?:\\.|[^\s()\\])*\))*))(?:\s+(?:"((?:\\.|[^"\\])*)"|'((?:\\.|[^'\\])*)'))?\s*\)/y;
const ENTITY = /&(?:#(\d{1,7})|#[xX]([0-9a-fA-F]{1,6})|(amp|lt|gt|quot|apos|nbsp|copy|reg|hellip|mdash|ndash|times|deg));/y;
const ENTITIES = {
  amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: '\u00a0', copy: '©', reg: '®', hellip: '…', mdash: '—',
  ndash: '–', times: '×', deg: '°',
};

/** Whether a link may have this address: http, https or mailto. */
export function isSafe(address) {
  return SAFE_SCHEME.test(address);
}

/** The parts of a text: `{ text }`, `{ code }`, `{ tex, isDisplay, source }`, `{ isBreak }`, `{ open: 'strong' | 'em' | 's' | 'a', href, title }`, `{ close }`. */
export function inlineParts(text) {
  return new Scanner(text).parts();
}

class Scanner {
  #text;
  #at = 0;
  /** Each is a part, or a delimiter run that may become markers. */
  #nodes = [];
  #brackets = [];
  #ticks = null;

  constructor(text) {
    this.#text = text;
  }

  parts() {
    while (this.#at < this.#text.length) this.#step();
    emphasize(this.#nodes, 0);
    return this.#nodes.flatMap(partsOf);
  }

  #step() {
    const character = this.#text[this.#at];
    switch (character) {
      case '\\':
        return this.#find(BRACKETED) ? this.#formula(BRACKETED) : this.#escape();
      case '$':
        return this.#formula(DOLLARS);
      case '`':
        return this.#code();
      case '\n':
        return this.#break();
      case '*':
      case '_':
      case '~':
        return this.#delimiters(character);
      case '[':
        this.#brackets.push({ index: this.#nodes.length, isActive: true, isImage: false });
        return this.#literal('[');
      case '!':
        if (this.#text[this.#at + 1] !== '[') return this.#literal('!');
        this.#brackets.push({ index: this.#nodes.length, isActive: true, isImage: true });
        return this.#literal('![');
      case ']':
        return this.#closeBracket();
      case '<':
        return this.#match(NAMED_ADDRESS, ([whole, address]) => this.#link(whole, address, address));
      case '&':
        return this.#match(ENTITY, ([whole, decimal, hexadecimal, name]) => {
          const code = decimal ? Number(decimal) : Number.parseInt(hexadecimal, 16);
          this.#add({ text: name ? ENTITIES[name] : codePoint(code) }, whole.length);
        });
      default:
        return this.#words();
    }
  }

  #add(node, length) {
    this.#nodes.push(node);
    this.#at += length;
  }

  #literal(text) {
    this.#add({ text }, text.length);
  }

  /** The match of a sticky pattern at the current position. */
  #find(pattern, at = this.#at) {
    pattern.lastIndex = at;
    return pattern.exec(this.#text);
  }

  /** Consumes the next construct, or one character of text. */
  #match(pattern, then) {
    const found = this.#find(pattern);
    if (found) then(found);
    else this.#literal(this.#text[this.#at]);
  }

  /** Text up to the next special character; URLs in it are links. */
  #words() {
    const before = this.#text[this.#at - 1] ?? ' ';
    if (this.#text[this.#at] === 'h' && !/[\p{L}\p{N}]/u.test(before) && this.#brackets.every(({ isActive }) => !isActive)) {
      const address = this.#find(ADDRESS)?.[0];
      if (address) return this.#link(address, address, address);
    }
    return this.#literal(this.#find(WORDS)[0]);
  }

  #escape() {
    const next = this.#text[this.#at + 1] ?? '';
    if (next === '\n') return this.#add({ isBreak: true }, 2);
    if (ESCAPABLE.test(next)) return this.#add({ text: next }, 2);
    return this.#literal('\\');
  }

  #formula(pattern) {
    this.#match(pattern, ([source, displayed, tex]) => {
      const isDisplay = displayed !== undefined;
      this.#add({ tex: displayed ?? tex, isDisplay, source }, source.length);
    });
  }

  /** Spaces around a line break are not shown. */
  #break() {
    const last = this.#nodes.at(-1);
    if (last?.text && !last.run) last.text = last.text.replace(/(?<! ) +$/, '');
    this.#add({ isBreak: true }, this.#find(LINE_BREAK)[0].length);
  }

  #code() {
    const run = this.#run('`');
    const end = this.#closingTicks(run.length);
    if (end === null) return this.#literal(run);
    let code = this.#text.slice(this.#at + run.length, end).replaceAll('\n', ' ');
    if (/^ .* $/.test(code) && code.trim() !== '') code = code.slice(1, -1);
    return this.#add({ code }, end + run.length - this.#at);
  }

  /** The start of the next run of exactly this many backticks. Runs are indexed once, so that many of them stay cheap. */
  #closingTicks(length) {
    if (this.#ticks === null) {
      this.#ticks = new Map();
      for (const found of this.#text.matchAll(/`+/g)) {
        const places = this.#ticks.get(found[0].length) ?? [];
        this.#ticks.set(found[0].length, places);
        places.push(found.index);
      }
      for (const places of this.#ticks.values()) places.reverse();
    }
    const places = this.#ticks.get(length) ?? [];
    while (places.length > 0 && places.at(-1) <= this.#at) places.pop();
    return places.at(-1) ?? null;
  }

  #run(character) {
    let end = this.#at;
    while (this.#text[end] === character) end += 1;
    return this.#text.slice(this.#at, end);
  }

  #delimiters(character) {
    const run = this.#run(character);
    const before = [...this.#text.slice(Math.max(0, this.#at - 2), this.#at)].at(-1) ?? ' ';
    const after = [...this.#text.slice(this.#at + run.length, this.#at + run.length + 2)][0] ?? ' ';
    const isSpace = (text) => /\s/.test(text);
    const isLeft = !isSpace(after) && (!PUNCTUATION.test(after) || isSpace(before) || PUNCTUATION.test(before));
    const isRight = !isSpace(before) && (!PUNCTUATION.test(before) || isSpace(after) || PUNCTUATION.test(after));
    const inWord = character === '_';
    this.#add(
      {
        run: character,
        length: run.length,
        left: run.length,
        canOpen: isLeft && (!inWord || !isRight || PUNCTUATION.test(before)),
        canClose: isRight && (!inWord || !isLeft || PUNCTUATION.test(after)),
        opens: [],
        closes: [],
      },
      run.length,
    );
  }

  #closeBracket() {
    const opener = this.#brackets.pop();
    if (!opener?.isActive) return this.#literal(']');
    const found = this.#find(DESTINATION, this.#at + 1);
    if (!found) return this.#literal(']');
    const [whole, pointed, bare, double, single] = found;
    const href = unescape(pointed ?? bare);
    if (!isSafe(href)) return this.#literal(']');
    emphasize(this.#nodes, opener.index + 1);
    this.#nodes[opener.index] = { open: 'a', href, title: unescape(double ?? single ?? '') };
    // Loading images would send requests to other servers, so they are shown as links.
    if (!opener.isImage) for (const bracket of this.#brackets) bracket.isActive &&= bracket.isImage;
    return this.#add({ close: 'a' }, whole.length + 1);
  }

  #link(whole, href, text) {
    if (!isSafe(href)) return this.#literal(whole);
    this.#nodes.push({ open: 'a', href, title: '' }, { text });
    return this.#add({ close: 'a' }, whole.length);
  }
}

function codePoint(code) {
  const isText = code > 0 && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
  return isText ? String.fromCodePoint(code) : '\ufffd';
}

function unescape(text) {
  return text.replace(/\\([!-/:-@[-`{-~])/g, '$1');
}

/** Finds which runs of delimiters from `start` on belong together; those that do not are text. */
function emphasize(nodes, start) {
  const openers = [];
  for (let index = start; index < nodes.length; index += 1) {
    const closer = nodes[index];
    if (!closer.run || closer.isDone) continue;
    closer.isDone = true;
    while (closer.canClose && closer.left > 0) {
      const place = openers.findLastIndex((opener) => fits(opener, closer));
      if (place < 0) break;
      const opener = openers[place];
      const width = closer.run === '~' ? closer.left : Math.min(2, opener.left, closer.left);
      const tag = closer.run === '~' ? 's' : width === 2 ? 'strong' : 'em';
      opener.opens.unshift(tag);
      closer.closes.push(tag);
      opener.left -= width;
      closer.left -= width;
      // Openers in between that were not closed are text.
      openers.length = opener.left > 0 ? place + 1 : place;
    }
    // Unmatched openers would otherwise be searched repeatedly.
    if (closer.canOpen && closer.left > 0) openers.push(closer);
    if (openers.length > 64) openers.shift();
  }
}

function fits(opener, closer) {
  if (opener.run !== closer.run) return false;
  if (closer.run === '~') return opener.left === closer.left && closer.left === 2;
  const isAmbiguous = opener.canClose || closer.canOpen;
  const sum = opener.length + closer.length;
  return !isAmbiguous || sum % 3 !== 0 || (opener.length % 3 === 0 && closer.length % 3 === 0);
}

/** A resolved delimiter run: closing markers, text, opening markers. */
function partsOf(node) {
  if (!node.run) return [node];
  const rest = node.left > 0 ? [{ text: node.run.repeat(node.left) }] : [];
  return [...node.closes.map((close) => ({ close })), ...rest, ...node.opens.map((open) => ({ open }))];
}
