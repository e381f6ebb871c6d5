// The list of conversations; on narrow screens it overlays the page.

import { element, iconButton, showChildren } from './element.js';
import { downloadConversation, readFile } from './files.js';
import { isEnter, isEscape } from './keys.js';
import { listedConversations, loadConversation } from './store.js';

const sidebar = document.getElementById('sidebar');
const page = document.getElementById('page');
const list = document.getElementById('conversations');
const newButton = document.getElementById('new-conversation');
const menu = document.getElementById('menu');
const shade = document.getElementById('shade');
const narrow = matchMedia('(max-width: 52rem)');

let actions;
let currentId;

/** The title and the element of each item of the list, by the id of its conversation. */
let items = new Map();

/**
 * Initializes the list. `onOpen` and `onDelete` receive an id, `onRename` an id and a name, `onImport` a conversation;
 * `modelName` is for exported files.
 */
export function beginSidebar({ onNew, onOpen, onDelete, onRename, onImport, modelName }) {
  actions = { onOpen, onDelete, onRename, modelName };
  const chooser = document.getElementById('import-file');
  document.getElementById('import').addEventListener('click', () => chooser.click());
  chooser.addEventListener('change', async () => {
    const [file] = chooser.files;
    // Allows selecting the same file again.
    chooser.value = '';
    if (!file) return;
    try {
      const conversation = await readFile(file);
      closeSidebar();
      onImport(conversation);
    } catch (error) {
      alert(error.message);
    }
  });
  newButton.addEventListener('click', () => {
    closeSidebar();
    onNew();
  });
  menu.addEventListener('click', () => show(!isShown()));
  document.getElementById('close-sidebar').addEventListener('click', closeSidebar);
  shade.addEventListener('click', closeSidebar);
  narrow.addEventListener('change', () => show(!narrow.matches));
  show(!narrow.matches);
}

function isShown() {
  return !sidebar.inert;
}

function show(isOpen) {
  const losesFocus = !isOpen && (page.inert || sidebar.contains(document.activeElement));
  sidebar.inert = !isOpen;
  page.inert = isOpen && narrow.matches;
  document.body.classList.toggle('with-sidebar', isOpen);
  menu.setAttribute('aria-expanded', String(isOpen));
  if (page.inert) newButton.focus();
  else if (losesFocus) menu.focus();
}

/** Closes the list if it overlays the page, and returns whether it did. */
export function closeSidebar() {
  if (!narrow.matches || !isShown()) return false;
  show(false);
  return true;
}

/** Shows the saved conversations, with the current one highlighted. */
export function listConversations(shownId = currentId) {
  currentId = shownId;
  // The name that is being entered would be lost.
  if (list.querySelector('input') !== null) return;
  const known = items;
  items = new Map();
  for (const { id, title } of listedConversations()) {
    const item = known.get(id);
    items.set(id, item?.title === title ? item : { title, element: itemElement(id, title) });
  }
  for (const [id, { element: item }] of items) {
    const open = item.querySelector('.open');
    if (id === currentId) open.setAttribute('aria-current', 'true');
    else open.removeAttribute('aria-current');
  }
  showChildren(list, Array.from(items.values(), ({ element: item }) => item));
}

function itemElement(id, title) {
  const onOpen = () => {
    closeSidebar();
    actions.onOpen(id);
  };
  const open = element('button', { type: 'button', className: 'open', title, onclick: onOpen }, title);
  const rename = iconButton('edit', `Rename “${title}”`, () => item.replaceChildren(nameField(id, title, restore)));
  const exportIt = iconButton('export', `Export “${title}” as JSON`, () => {
    const conversation = loadConversation(id);
    if (conversation) downloadConversation(conversation, actions.modelName());
  });
  const deleteIt = iconButton('delete', `Delete “${title}”`, async () => {
    if (!confirm(`Delete “${title}”?`)) return;
    await actions.onDelete(id);
    if (document.activeElement === document.body) newButton.focus();
  });
  const buttons = element('span', {}, rename, exportIt, deleteIt);
  const restore = () => item.replaceChildren(open, buttons);
  const item = element('li', {}, open, buttons);
  return item;
}

/** A field for the name of a conversation; Enter and leaving it save, Escape does not. `onDone` removes it. */
function nameField(id, title, onDone) {
  let isDone = false;
  const finish = (saves) => {
    // Removing the field leaves it.
    if (isDone) return;
    isDone = true;
    onDone();
    if (saves) actions.onRename(id, field.value.trim());
    listConversations();
  };
  const onkeydown = (event) => {
    event.stopPropagation();
    if (!isEnter(event) && !isEscape(event)) return;
    // Enter would press the button that gets the focus.
    event.preventDefault();
    finish(isEnter(event));
    items.get(id)?.element.querySelector('.open').focus();
  };
  const field = element('input', { value: title, 'aria-label': 'Name of the conversation', onkeydown, onblur: () => finish(true) });
  requestAnimationFrame(() => {
    field.focus();
    field.select();
  });
  return field;
}
