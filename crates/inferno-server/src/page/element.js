// Creates elements one by one, never from HTML text.

import { BRIEFLY, announceBriefly } from './notices.js';

/** An element with these properties (or attributes, or `on…` listeners) and children. */
export function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name.startsWith('on')) made.addEventListener(name.slice(2), value);
    else if (name in made) made[name] = value;
    else made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

/** Replaces the children of an element. Those that remain are not recreated, so that they keep what was entered and opened. */
export function showChildren(parent, children) {
  const { activeElement } = document;
  const remaining = new Set(children);
  for (const child of [...parent.children]) if (!remaining.has(child)) child.remove();
  children.forEach((child, index) => {
    if (parent.children[index] !== child) parent.insertBefore(child, parent.children[index] ?? null);
  });
  // An element that is moved loses the focus.
  if (parent.contains(activeElement)) activeElement.focus({ preventScroll: true });
}

const SVG = 'http://www.w3.org/2000/svg';
const MATHML = 'http://www.w3.org/1998/Math/MathML';

/** The element of a MathML tree, as `tex.js` makes it. */
export function mathElement({ tag, attributes, text, children = [] }) {
  const made = document.createElementNS(MATHML, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...(text === undefined ? children.map(mathElement) : [text]));
  return made;
}

/** One of the icons that `index.html` defines. */
export function icon(name) {
  const svg = document.createElementNS(SVG, 'svg');
  svg.setAttribute('class', 'icon');
  svg.setAttribute('aria-hidden', 'true');
  const use = document.createElementNS(SVG, 'use');
  use.setAttribute('href', `#icon-${name}`);
  svg.append(use);
  return svg;
}

/** A button with an icon and an accessible label. */
export function iconButton(name, label, onclick) {
  return element('button', { type: 'button', className: 'quiet', title: label, 'aria-label': label, onclick }, icon(name));
}

/** A button that copies the result of `text`, and briefly confirms it. */
export function copyButton(label, text) {
  const button = iconButton('copy', label, async () => {
    const done = await copy(text());
    button.replaceChildren(icon(done ? 'done' : 'close'));
    button.title = done ? 'Copied.' : 'Copying was blocked by the browser.';
    announceBriefly(button.title);
    setTimeout(() => {
      button.replaceChildren(icon('copy'));
      button.title = label;
    }, BRIEFLY);
  });
  return button;
}

/** Copies text to the clipboard, and returns whether that succeeded. */
async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // The clipboard API is not available over plain HTTP from another machine; the older way is.
    const field = element('textarea', { value: text, className: 'unseen' });
    document.body.append(field);
    field.select();
    const done = document.execCommand('copy');
    field.remove();
    return done;
  }
}
