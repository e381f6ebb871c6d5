// Entry point: connects the parts of the page.

import { servedModel } from './api.js';
import { beginComposer, focusPrompt } from './composer.js';
import { ConversationView } from './conversation.js';
import { apiKey, askForKey, beginSettings, keptSystem, showModelDefaults, showSystem } from './settings.js';
import { beginSidebar, closeSidebar, listConversations } from './sidebar.js';
import { deleteConversation, loadConversation, newConversation, onOtherTab, saveConversation } from './store.js';

const status = document.getElementById('status');
const modelTitle = document.getElementById('model');
const context = document.getElementById('context');
const scroller = document.getElementById('scroller');
const toEnd = document.getElementById('to-end');

let model = null;

const view = new ConversationView({ modelName: () => model?.id, onChange: keep });

/** Shows a notice that is not about one message. */
function report(text) {
  context.textContent = text;
  status.textContent = text;
}

function keep(conversation) {
  conversation.updated = Date.now();
  try {
    if (conversation.messages.length > 0) saveConversation(conversation);
  } catch {
    report('Browser storage is full: this conversation is not saved. Delete other conversations.');
  }
  listConversations(view.conversation.id);
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

/** Polls for the model, which may still be loading. */
async function findModel() {
  for (;;) {
    try {
      model = await servedModel(apiKey());
      break;
    } catch (error) {
      if (error.status === 401) {
        report('API key required.');
        askForKey(apiKey() === '' ? 'This server requires an API key.' : error.message);
        return;
      }
      report(error.code === 'loading' ? 'The model is loading…' : error.message);
      await new Promise((resolve) => setTimeout(resolve, 1000));
    }
  }
  modelTitle.textContent = model.id;
  document.title = `${model.id} · inferno`;
  context.textContent = `${model.max_model_len.toLocaleString('en')} tokens of context`;
  showModelDefaults(model);
}

beginSettings({
  onSystem: (text) => {
    view.conversation.system = text;
    keep(view.conversation);
  },
  onKey: findModel,
  onProblem: report,
});

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
  modelName: () => model?.id,
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
const distanceToEnd = () => scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight;
const scrollToEnd = () => scroller.scrollTo({ top: scroller.scrollHeight });
scroller.addEventListener('scroll', () => {
  followsEnd = distanceToEnd() < 40;
  toEnd.hidden = followsEnd;
});
scroller.addEventListener('grown', (event) => {
  if (followsEnd || event.detail?.jump) scrollToEnd();
});
toEnd.addEventListener('click', scrollToEnd);

onOtherTab(() => listConversations(view.conversation.id));
addEventListener('popstate', openNamed);
await openNamed();
findModel();
