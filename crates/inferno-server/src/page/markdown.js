// Renders Markdown to elements. Any model output becomes text and a few harmless elements.

import { blocks } from './blocks.js';
import { copyButton, element, mathElement } from './element.js';
import { inlineParts } from './inline.js';
import { highlight } from './syntax.js';
import { parseTex } from './tex.js';

/** Maximum nesting; deeper formatting is ignored. */
const MAX_DEPTH = 24;

/** Renders growing text; unchanged blocks keep their elements and selection. */
export class MarkdownView {
  element = element('div', { className: 'markdown' });
  #shown = [];

  show(text) {
    const found = blocks(text);
    let same = 0;
    while (same < found.length && this.#shown[same] === found[same].source) same += 1;
    while (this.element.childNodes.length > same) this.element.lastChild.remove();
    this.element.append(...found.slice(same).map(blockElement));
    this.#shown = found.map(({ source }) => source);
  }
}

function blockElement(block) {
  switch (block.type) {
    case 'heading':
      // The page itself uses the first two heading levels.
      return element(`h${Math.min(6, block.level + 2)}`, {}, ...inline(block.text));
    case 'rule':
      return element('hr');
    case 'code':
      return code(block);
    case 'quotation':
      return element('blockquote', {}, ...block.blocks.map(blockElement));
    case 'list':
      return list(block);
    case 'table':
      return table(block);
    case 'math':
      return element('p', { className: 'formula', tabIndex: 0 }, math(block));
    default:
      return element('p', {}, ...inline(block.text));
  }
}

function code({ language, text }) {
  const bar = element('div', { className: 'bar' }, element('span', {}, language || 'text'), copyButton('Copy code', () => text));
  const pieces = highlight(text, language).map((piece) => (piece.kind ? element('span', { className: piece.kind }, piece.text) : piece.text));
  return element('div', { className: 'code' }, bar, element('pre', { tabIndex: 0 }, element('code', {}, ...pieces)));
}

/** A formula, or its source if it cannot be shown. */
function math({ tex, isDisplay, source }) {
  const tree = parseTex(tex, isDisplay);
  return tree ? mathElement(tree) : element('code', {}, source);
}

/** A formula in text, which scrolls if it is wider than the page. */
function inlineMath(part) {
  const made = math(part);
  if (made.localName !== 'math') return made;
  return element('span', part.isDisplay ? { className: 'formula', tabIndex: 0 } : { className: 'inline-formula' }, made);
}

function list({ start, isLoose, items }) {
  const made = items.map((found) => {
    const children = found.map((block) =>
      block.type === 'paragraph' && !isLoose ? inline(block.text) : [blockElement(block)],
    );
    return element('li', {}, ...children.flat());
  });
  return start === null ? element('ul', {}, ...made) : element('ol', start === 1 ? {} : { start }, ...made);
}

function table({ head, aligns, rows }) {
  const row = (tag) => (cells) => {
    const made = cells.map((text, column) => element(tag, aligns[column] ? { className: aligns[column] } : {}, ...inline(text)));
    return element('tr', {}, ...made);
  };
  const whole = element('table', {}, element('thead', {}, row('th')(head)), element('tbody', {}, ...rows.map(row('td'))));
  return element('div', { className: 'table', tabIndex: 0 }, whole);
}

/** The nodes of inline text. */
function inline(text) {
  const root = document.createDocumentFragment();
  // The innermost element is last; null is ignored formatting.
  const open = [root];
  const append = (node) => open.findLast((it) => it !== null).append(node);
  for (const part of inlineParts(text)) {
    if (part.open) {
      const made = open.length > MAX_DEPTH ? null : mark(part);
      if (made) append(made);
      open.push(made);
    } else if (part.close) {
      open.pop();
    } else if (part.isBreak) {
      append(element('br'));
    } else if (part.tex !== undefined) {
      append(inlineMath(part));
    } else if (part.code !== undefined) {
      append(element('code', {}, part.code));
    } else {
      append(part.text);
    }
  }
  root.normalize();
  return [...root.childNodes];
}

function mark({ open, href, title }) {
  if (open !== 'a') return element(open);
  const properties = { href, target: '_blank', rel: 'noopener noreferrer' };
  return element('a', title ? { ...properties, title } : properties);
}
