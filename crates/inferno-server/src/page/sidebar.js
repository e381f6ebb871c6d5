// The list of conversations; on narrow screens it overlays the page.

import { element, iconButton } from './element.js';
import { downloadConversation, readFile } from './files.js';
import { allConversations, title } from './store.js';

const sidebar = document.getElementById('sidebar');
const list = document.getElementById('conversations');
const menu = document.getElementById('menu');
const shade = document.getElementById('shade');
const narrow = matchMedia('(max-width: 52rem)');

let actions;

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
  document.getElementById('new-conversation').addEventListener('click', () => {
    if (narrow.matches) show(false);
    onNew();
  });
  menu.addEventListener('click', () => show(!isShown()));
  shade.addEventListener('click', () => show(false));
  narrow.addEventListener('change', () => show(!narrow.matches));
  show(!narrow.matches);
}

function isShown() {
  return !sidebar.inert;
}

function show(isOpen) {
  sidebar.inert = !isOpen;
  document.body.classList.toggle('with-sidebar', isOpen);
  menu.setAttribute('aria-expanded', String(isOpen));
  if (isOpen && narrow.matches) document.getElementById('new-conversation').focus();
}

/** Closes the list if it overlays the page, and returns whether it did. */
export function closeSidebar() {
  if (!narrow.matches || !isShown()) return false;
  show(false);
  menu.focus();
  return true;
}

/** Shows the saved conversations, with the current one highlighted. */
export function listConversations(currentId) {
  list.replaceChildren(...allConversations().map((conversation) => entry(conversation, currentId)));
}

function entry(conversation, currentId) {
  const name = title(conversation);
  const open = element(
    'button',
    {
      type: 'button',
      className: 'open',
      title: name,
      onclick: () => {
        closeSidebar();
        actions.onOpen(conversation.id);
      },
    },
    name,
  );
  if (conversation.id === currentId) open.setAttribute('aria-current', 'true');
  const rename = iconButton('edit', `Rename “${name}”`, () => item.replaceChildren(nameField(conversation, name, currentId)));
  const exportIt = iconButton('export', `Export “${name}” as JSON`, () => downloadConversation(conversation, actions.modelName()));
  const deleteIt = iconButton('delete', `Delete “${name}”`, () => {
    if (confirm(`Delete “${name}”?`)) actions.onDelete(conversation.id);
  });
  const item = element('li', {}, open, element('span', {}, rename, exportIt, deleteIt));
  return item;
}

/** A field for the name of a conversation; Enter and leaving it save, Escape does not. */
function nameField(conversation, name, currentId) {
  let isDone = false;
  const finish = (save) => {
    // Redrawing the list removes the field, which leaves it.
    if (isDone) return;
    isDone = true;
    if (save) actions.onRename(conversation.id, field.value.trim());
    else listConversations(currentId);
  };
  const onkeydown = (event) => {
    event.stopPropagation();
    if (event.key === 'Enter' && !event.isComposing) finish(true);
    else if (event.key === 'Escape') finish(false);
  };
  const field = element('input', { value: name, 'aria-label': 'Name of the conversation', onkeydown, onblur: () => finish(true) });
  requestAnimationFrame(() => field.select());
  return field;
}
