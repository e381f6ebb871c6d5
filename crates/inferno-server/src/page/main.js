// Entry point: connects the parts of the page.

import { beginComposer, focusPrompt } from './composer.js';
import { ConversationView } from './conversation.js';
import { beginKey } from './key.js';
import { findModels, servedModel } from './models.js';
import { beginSettings, keptSystem, showModelDefaults, showSystem } from './settings.js';
import { beginSidebar, closeSidebar, listConversations } from './sidebar.js';
import { deleteConversation, loadConversation, newConversation, onOtherTab, renameConversation, saveConversation } from './store.js';

const status = document.getElementById('status');
const context = document.getElementById('context');
const scroller = document.getElementById('scroller');
const toEnd = document.getElementById('to-end');

const view = new ConversationView({ onChange: keep });

/** Shows a notice that is not about one message. */
function report(text) {
  context.textContent = text;
  status.textContent = text;
}

function keep(conversation) {
  conversation.updated = Date.now();
  orReport(() => {
    if (conversation.messages.length > 0) saveConversation(conversation);
  });
  listConversations(view.conversation.id);
}

/** Saves something, or reports that the browser has no space for it. */
function orReport(save) {
  try {
    save();
  } catch {
    report('Browser storage is full: this conversation is not saved. Delete other conversations.');
  }
}

function connect() {
  return findModels({ onModel: showModelDefaults, report });
}

async function open(conversation) {
  await view.show(conversation);
  showSystem(conversation.system ?? '');
  listConversations(conversation.id);
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

beginSettings({
  onSystem: (text) => {
    view.conversation.system = text;
    keep(view.conversation);
  },
  onProblem: report,
});

beginKey({ onKey: connect, onProblem: report });

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
    if (view.conversation.id === id) await begin();
    deleteConversation(id);
    listConversations(view.conversation.id);
  },
  onImport: async (conversation) => {
    await open(conversation);
    keep(conversation);
    history.pushState(null, '', `#${conversation.id}`);
  },
  onRename: (id, name) => {
    if (view.conversation.id === id) view.conversation.name = name;
    orReport(() => renameConversation(id, name));
    listConversations(view.conversation.id);
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
  if (event.key === 'Escape' && document.querySelector('dialog[open]') === null) {
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

onOtherTab(() => listConversations(view.conversation.id));
addEventListener('popstate', openNamed);
await openNamed();
connect();
