// Entry point: connects the parts of the page.

import { beginComposer, focusPrompt } from './composer.js';
import { ConversationView } from './conversation.js';
import { beginKey } from './key.js';
import { isEscape } from './keys.js';
import { findModels, servedModel } from './models.js';
import { notify } from './notices.js';
import { beginSettings, keptSystem, showModelDefaults, showSystem } from './settings.js';
import { beginSidebar, closeSidebar, listConversations } from './sidebar.js';
import { deleteConversation, loadConversation, newConversation, onOtherTab, renameConversation, saveConversation } from './store.js';

const scroller = document.getElementById('scroller');
const toEnd = document.getElementById('to-end');

const view = new ConversationView({ onChange: keep });

/** The id of the shown conversation if it could not be stored. */
let unsavedId = null;

/** The id and the new name of a conversation whose name could not be stored. */
let unsavedName = null;

/** Stores a conversation with these messages. */
function keep(conversation, messages = conversation.messages) {
  const { id } = conversation;
  if (messages.length > 0) {
    if (!fits(() => saveConversation(conversation, messages))) setUnsaved(id);
    else if (unsavedId === id) setUnsaved(null);
    if (unsavedId === null && unsavedName?.id === id) setUnsavedName(null);
  }
  if (conversation.id !== id) showCopy(id, conversation.id);
  listConversations(view.conversation.id);
}

/** Stores something, and returns whether the browser has space for it. */
function fits(save) {
  try {
    save();
    return true;
  } catch {
    return false;
  }
}

function setUnsaved(id) {
  unsavedId = id;
  notify('storage', id === null ? '' : 'Browser storage is full: this conversation is not saved. Delete other conversations.');
}

function setUnsavedName(unsaved) {
  unsavedName = unsaved;
  notify('name', unsaved === null ? '' : 'Browser storage is full: the name is not saved. Delete other conversations.');
}

/** Stores another name of a conversation. */
function rename(id, name) {
  setUnsavedName(fits(() => renameConversation(id, name)) ? null : { id, name });
}

/** Reports that a conversation became a copy, because another tab has changed it too. */
function showCopy(id, copyId) {
  if (location.hash.slice(1) === id) history.replaceState(null, '', `#${copyId}`);
  notify('tabs', 'This conversation was changed in another tab. What you see here is stored as a copy.');
}

function connect() {
  return findModels({ onModel: showModelDefaults });
}

async function show(conversation, jumps) {
  await view.show(conversation, jumps);
  notify('tabs', '');
  setUnsavedName(null);
  if (unsavedId !== conversation.id) setUnsaved(null);
  showSystem(conversation.system ?? '');
  listConversations(conversation.id);
}

async function open(conversation) {
  await show(conversation);
  if (matchMedia('(hover: hover)').matches) focusPrompt();
}

function begin() {
  if (location.hash) history.pushState(null, '', location.pathname + location.search);
  return open(newConversation(keptSystem()));
}

function openKept(id) {
  location.hash = id;
}

/** The URL contains the conversation id, so that reload and back work. */
function openNamed() {
  const kept = loadConversation(location.hash.slice(1));
  return open(kept ?? newConversation(keptSystem()));
}

/** Shows what another tab has made of the shown conversation. */
async function followOtherTab() {
  const { conversation } = view;
  const { id, updated, messages } = conversation;
  const stored = loadConversation(id);
  if (stored === null) {
    // A conversation that could not be stored is nowhere else.
    if (messages.length === 0 || unsavedId === id) return;
    await begin();
    // A running answer was stored when it stopped.
    deleteConversation(id);
    listConversations();
  } else if (stored.updated === updated) {
    conversation.name = stored.name;
  } else if (view.isInUse) {
    notify('tabs', 'This conversation was changed in another tab. If you continue it here, it is stored as a copy.');
  } else {
    await show(stored, false);
  }
}

beginSettings({
  onSystem: (text) => {
    view.conversation.system = text;
    keep(view.conversation);
  },
});

beginKey({ onKey: connect });

beginComposer({
  onSend: (text) => {
    view.send(text);
    // A new conversation gets its title here.
    if (location.hash.slice(1) !== view.conversation.id) history.pushState(null, '', `#${view.conversation.id}`);
  },
  onStop: () => view.stop(),
  onUp: () => view.editLast(),
});

beginSidebar({
  onNew: begin,
  onOpen: openKept,
  onDelete: async (id) => {
    const pending = unsavedName?.id === id ? null : unsavedName;
    if (view.conversation.id === id) await begin();
    deleteConversation(id);
    if (pending === null) setUnsavedName(null);
    else rename(pending.id, pending.name);
    if (unsavedId !== null) keep(view.conversation);
    else listConversations();
  },
  onImport: async (conversation) => {
    await open(conversation);
    keep(conversation);
    history.pushState(null, '', `#${conversation.id}`);
  },
  onRename: (id, name) => {
    if (view.conversation.id === id) view.conversation.name = name;
    rename(id, name);
  },
  modelName: () => servedModel()?.id,
});

for (const button of document.querySelectorAll('#suggestions button')) {
  button.addEventListener('click', () => {
    view.send(button.textContent);
    history.pushState(null, '', `#${view.conversation.id}`);
    focusPrompt();
  });
}

document.addEventListener('keydown', (event) => {
  const isTyping = event.target.closest?.('input, textarea, dialog') !== null;
  if (isEscape(event) && document.querySelector('dialog[open]') === null) {
    if (!closeSidebar()) view.stop();
  } else if (event.key === '/' && !isTyping && !event.ctrlKey && !event.metaKey && !event.altKey) {
    event.preventDefault();
    focusPrompt();
  }
});

// Follows a growing answer, unless the user has scrolled away.
let followsEnd = true;
let lastTop = 0;
const distanceToEnd = () => scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight;
const scrollToEnd = () => scroller.scrollTo({ top: scroller.scrollHeight });
scroller.addEventListener('scroll', () => {
  // The content may have grown since the page scrolled itself, so only moving up stops following.
  const movedUp = scroller.scrollTop < lastTop;
  lastTop = scroller.scrollTop;
  followsEnd = distanceToEnd() < 40 || (followsEnd && !movedUp);
  toEnd.hidden = followsEnd;
});
scroller.addEventListener('grown', (event) => {
  followsEnd ||= event.detail?.jump === true;
  if (followsEnd) scrollToEnd();
});
toEnd.addEventListener('click', scrollToEnd);

onOtherTab((id) => {
  listConversations();
  if (id === null || id === view.conversation.id) followOtherTab();
});
addEventListener('popstate', openNamed);
await openNamed();
connect();
