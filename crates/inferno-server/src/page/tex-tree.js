// The tree of MathML that formulas are parsed to.
//
// A node is `{ tag, attributes, children }` or `{ tag, attributes, text }`. `limits`, if present, places scripts above and below.

/** Something that is not supported, or not TeX. */
export class Unsupported extends Error {}

/** A node with children. */
export function node(tag, children, attributes = {}) {
  return { tag, attributes, children };
}

/** A node with text. */
export function leaf(tag, text, attributes = {}) {
  return { tag, attributes, text };
}

/** One node for a list of nodes. */
export function group(nodes) {
  return nodes.length === 1 ? nodes[0] : node('mrow', nodes);
}

/** A space of a width in em. */
export function space(width) {
  return leaf('mspace', '', { width: `${width}em` });
}

/** A delimiter, which grows with its content or has a fixed height in em. */
export function fence(text, height = null) {
  const size = height === null ? {} : { minsize: `${height}em`, maxsize: `${height}em` };
  return leaf('mo', text, { stretchy: 'true', ...size });
}
