// Markdown's blocks: paragraphs, headings, lists, quotations, code, tables, rules, formulas. A subset of CommonMark, and GitHub's
// tables, as models write them. Deliberately unsupported: HTML, which is shown as text; setext headings and lazy continuation
// lines, which would change earlier output while an answer is streaming; reference links.
//
// A block is `{ type, source, … }`; `source` is its source text, which fully determines its rendering.

/** Maximum nesting of quotations and lists; deeper markers are text, so that no answer can exhaust the browser. */
const MAX_DEPTH = 12;

/** Maximum number of cells that are added to the short rows of a table; the rows that would need more are text. */
const MAX_ADDED_CELLS = 4096;

const FENCE = /^( {0,3})(`{3,}(?=[^`]*$)|~{3,})[ \t]*([^\s]*)/;
const HEADING = /^ {0,3}(#{1,6})(?:[ \t]+(.*))?$/;
const RULE = /^ {0,3}(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})$/;
const QUOTATION = /^ {0,3}> ?/;
const ITEM = /^( {0,3})([-*+]|(\d{1,9})[.)])(?:( +)(.*)|)$/;
const INDENTED = /^ {4}/;
const FORMULA = /^ {0,3}(\$\$|\\\[)(.*)$/;

/** The blocks of a text. */
export function blocks(text) {
  const lines = text.replace(/\r\n?/g, '\n').split('\n');
  return parse(lines.map(expandTabs), 0);
}

/** Expands leading tabs to tab stops of four columns. */
function expandTabs(line) {
  const start = /^[ \t]*/.exec(line)[0];
  if (!start.includes('\t')) return line;
  let width = 0;
  for (const character of start) width += character === '\t' ? 4 - (width % 4) : 1;
  return ' '.repeat(width) + line.slice(start.length);
}

function parse(lines, depth) {
  const found = [];
  let at = 0;
  while (at < lines.length) {
    if (isBlank(lines[at])) {
      at += 1;
      continue;
    }
    const { block, end } = take(lines, at, depth);
    found.push({ ...block, source: lines.slice(at, end).join('\n') });
    at = end;
  }
  return found;
}

/** The block that begins at a line, and where it ends. */
function take(lines, at, depth) {
  const line = lines[at];
  if (INDENTED.test(line)) return indentedCode(lines, at);
  const fence = FENCE.exec(line);
  if (fence) return fencedCode(lines, at, fence);
  const heading = HEADING.exec(line);
  if (heading) {
    const text = headingText(heading[2] ?? '');
    return { block: { type: 'heading', level: heading[1].length, text }, end: at + 1 };
  }
  if (RULE.test(line)) return { block: { type: 'rule' }, end: at + 1 };
  if (depth < MAX_DEPTH && QUOTATION.test(line)) return quotation(lines, at, depth);
  if (depth < MAX_DEPTH && ITEM.test(line)) return list(lines, at, depth);
  if (isTable(lines, at)) return table(lines, at);
  const end = formulaEnd(lines, at);
  if (end !== null) return formula(lines, at, end);
  return paragraph(lines, at, depth);
}

/** The heading text without a closing sequence of `#`. */
function headingText(text) {
  const whole = text.trim();
  let end = whole.length;
  while (whole[end - 1] === '#') end -= 1;
  return end === 0 || /[ \t]/.test(whole[end - 1]) ? whole.slice(0, end).trimEnd() : whole;
}

function indentedCode(lines, at) {
  let end = at;
  for (let next = at; next < lines.length; next += 1) {
    if (INDENTED.test(lines[next])) end = next + 1;
    else if (!isBlank(lines[next])) break;
  }
  const text = lines.slice(at, end).map((line) => line.replace(/^ {1,4}/, ''));
  return { block: { type: 'code', language: '', text: `${text.join('\n')}\n` }, end };
}

/** Without a closing fence, which may still arrive, the rest is code. */
function fencedCode(lines, at, [, indent, mark, language]) {
  const closing = new RegExp(`^ {0,3}${mark[0]}{${mark.length},}[ \\t]*$`);
  let end = at + 1;
  while (end < lines.length && !closing.test(lines[end])) end += 1;
  const shift = new RegExp(`^ {0,${indent.length}}`);
  const inner = lines.slice(at + 1, end).map((line) => line.replace(shift, ''));
  // An empty last line of an unfinished block has not started yet.
  if (end === lines.length && inner.at(-1) === '') inner.pop();
  const text = inner.map((line) => `${line}\n`).join('');
  return { block: { type: 'code', language, text }, end: Math.min(end + 1, lines.length) };
}

function quotation(lines, at, depth) {
  let end = at;
  while (end < lines.length && QUOTATION.test(lines[end])) end += 1;
  const inner = lines.slice(at, end).map((line) => line.replace(QUOTATION, ''));
  return { block: { type: 'quotation', blocks: parse(inner, depth + 1) }, end };
}

/** A list: items with one kind of marker. It is loose if blank lines separate any of its parts. */
function list(lines, at, depth) {
  const kind = itemKind(ITEM.exec(lines[at]));
  const items = [];
  let isLoose = false;
  let end = at;
  for (;;) {
    const item = end < lines.length && !RULE.test(lines[end]) ? ITEM.exec(lines[end]) : null;
    if (!item || itemKind(item) !== kind) break;
    const inner = itemLines(lines, end, item);
    items.push(parse(inner.lines, depth + 1));
    isLoose ||= hasBlankBetween(inner.lines, items.at(-1));
    end = inner.end;
    // Blank lines after an item belong to the list if another item follows.
    let next = end;
    while (next < lines.length && isBlank(lines[next])) next += 1;
    const follows = next < lines.length && !RULE.test(lines[next]) ? ITEM.exec(lines[next]) : null;
    if (next > end && follows && itemKind(follows) === kind) {
      isLoose = true;
      end = next;
    }
  }
  const first = ITEM.exec(lines[at])[3];
  const block = { type: 'list', start: first === undefined ? null : Number(first), isLoose, items };
  return { block, end };
}

/** A list continues with the same bullet, or the same delimiter after the number. */
function itemKind([, , mark]) {
  return mark.at(-1);
}

/** The lines of an item, without their indentation. */
function itemLines(lines, at, [, indent, mark, , space = ' ', rest = '']) {
  // Five or more spaces are one space and indented code.
  const isCode = space.length > 4;
  const width = indent.length + mark.length + (isCode || rest === '' ? 1 : space.length);
  const inner = [(isCode ? space.slice(1) : '') + rest];
  const indented = new RegExp(`^ {${width}}`);
  let end = at + 1;
  for (let next = at + 1; next < lines.length; next += 1) {
    if (isBlank(lines[next])) {
      // An item that starts with a blank line ends at the next one.
      if (rest === '' && inner.length === 1) break;
      continue;
    }
    if (!indented.test(lines[next])) break;
    for (; end <= next; end += 1) inner.push(lines[end].replace(indented, ''));
  }
  return { lines: inner, end };
}

/** Whether a blank line separates two blocks of an item. */
function hasBlankBetween(lines, found) {
  if (found.length < 2) return false;
  const numLines = found.reduce((sum, block) => sum + block.source.split('\n').length, 0);
  const first = lines.findIndex((line) => !isBlank(line));
  const last = lines.findLastIndex((line) => !isBlank(line));
  return last - first + 1 > numLines;
}

function isTable(lines, at) {
  const next = lines[at + 1];
  if (!lines[at].includes('|') || !next?.includes('-') || !/^[ \t|:-]+$/.test(next)) return false;
  const rules = cells(next);
  return rules.every((cell) => /^:?-+:?$/.test(cell)) && rules.length === cells(lines[at]).length;
}

function table(lines, at) {
  const head = cells(lines[at]);
  const aligns = cells(lines[at + 1]).map((rule) => {
    const [left, right] = [rule.startsWith(':'), rule.endsWith(':')];
    return left && right ? 'center' : right ? 'right' : left ? 'left' : null;
  });
  const rows = [];
  let end = at + 2;
  for (let numAdded = 0; end < lines.length && !isBlank(lines[end]) && !interrupts(lines[end]); end += 1) {
    const found = cells(lines[end]);
    numAdded += Math.max(0, head.length - found.length);
    if (numAdded > MAX_ADDED_CELLS) break;
    rows.push(head.map((_, column) => found[column] ?? ''));
  }
  return { block: { type: 'table', head, aligns, rows }, end };
}

/** The cells of a row; a bar after a backslash is text. */
function cells(line) {
  const inner = line.trim().replace(/^\|/, '').replace(/(^|[^\\])\|$/, '$1');
  return inner.split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll('\\|', '|'));
}

/** Where the formula that begins at a line ends; null if there is none, or if its end has not arrived. */
function formulaEnd(lines, at) {
  const [, open, first] = FORMULA.exec(lines[at]) ?? [];
  if (open === undefined) return null;
  const close = open === '$$' ? '$$' : '\\]';
  for (let end = at, rest = first; ; rest = lines[end]) {
    end += 1;
    const place = rest.indexOf(close);
    // Text after the formula makes it part of a paragraph.
    if (place >= 0) return rest.slice(place + close.length).trim() === '' ? end : null;
    if (end >= lines.length || isBlank(lines[end]) || (open !== close && lines[end].includes(open))) return null;
  }
}

function formula(lines, at, end) {
  const source = lines.slice(at, end).map((line) => line.trim()).join('\n');
  return { block: { type: 'math', tex: source.slice(2, -2), isDisplay: true }, end };
}

function paragraph(lines, at, depth) {
  let end = at + 1;
  while (end < lines.length && !isBlank(lines[end]) && !interrupts(lines[end], depth) && !isTable(lines, end) && formulaEnd(lines, end) === null) end += 1;
  const text = lines.slice(at, end).map((line) => line.trimStart()).join('\n').trimEnd();
  return { block: { type: 'paragraph', text }, end };
}

/** Whether a line interrupts a paragraph; numbered lists only if they start with 1. */
function interrupts(line, depth = 0) {
  if (FENCE.test(line) || HEADING.test(line) || RULE.test(line)) return true;
  if (depth >= MAX_DEPTH) return false;
  const item = ITEM.exec(line);
  if (item) return Boolean(item[5]) && (item[3] === undefined || Number(item[3]) === 1);
  return QUOTATION.test(line);
}

function isBlank(line) {
  return line.trim() === '';
}
