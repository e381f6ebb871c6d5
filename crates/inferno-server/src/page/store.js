// Browser storage: conversations, one per entry so that tabs do not overwrite each other; settings; API key.

const CONVERSATION = 'inferno.conversation.';

/** Local storage, or memory if the browser provides none. */
const storage = (() => {
  try {
    localStorage.getItem(CONVERSATION);
    return localStorage;
  } catch {
    const entries = new Map();
    return {
      getItem: (key) => entries.get(key) ?? null,
      setItem: (key, value) => entries.set(key, value),
      removeItem: (key) => entries.delete(key),
      key: (index) => [...entries.keys()][index] ?? null,
      get length() {
        return entries.size;
      },
    };
  }
})();

/** The stored value, or `fallback` if it is missing or invalid. */
export function read(name, fallback) {
  try {
    return JSON.parse(storage.getItem(`inferno.${name}`)) ?? fallback;
  } catch {
    return fallback;
  }
}

/** Stores a value. Throws if the storage is full. */
export function write(name, value) {
  storage.setItem(`inferno.${name}`, JSON.stringify(value));
}

/** An empty conversation, which is stored with its first message. */
export function newConversation(system) {
  return { id: newId(), system, messages: [], updated: Date.now() };
}

function newId() {
  // Pages over plain HTTP from another machine have no crypto.randomUUID.
  const random = crypto.getRandomValues(new Uint32Array(2));
  return `${Date.now().toString(36)}-${[...random].map((word) => word.toString(36)).join('')}`;
}

/**
 * Stores a changed conversation with these messages. If another tab has changed it since it was read, this version becomes
 * a copy with an id of its own.
 *
 * Throws if the storage is full; the conversation is then unchanged.
 */
export function saveConversation(conversation, messages = conversation.messages) {
  const stored = loadConversation(conversation.id);
  const isOwn = stored === null || stored.updated === conversation.updated;
  const id = isOwn ? conversation.id : newId();
  const updated = Date.now();
  store({ ...conversation, id, updated, messages });
  Object.assign(conversation, { id, updated });
}

function store(conversation) {
  storage.setItem(CONVERSATION + conversation.id, JSON.stringify(conversation));
  listed?.set(conversation.id, entryOf(conversation));
}

export function deleteConversation(id) {
  storage.removeItem(CONVERSATION + id);
  listed?.delete(id);
}

/** Renames a stored conversation; an empty name restores the default title. Throws if the storage is full. */
export function renameConversation(id, name) {
  const conversation = loadConversation(id);
  if (conversation) store({ ...conversation, name });
}

/** The conversation with this id, or null. */
export function loadConversation(id) {
  try {
    const found = JSON.parse(storage.getItem(CONVERSATION + id));
    return isConversation(found) ? found : null;
  } catch {
    return null;
  }
}

/** What a list shows of each conversation, by id. Reading all conversations for each change would take long. */
let listed = null;

/** What a list shows of all conversations, the latest first: their `id`, `title` and `updated`. */
export function listedConversations() {
  listed ??= readAll();
  return [...listed.values()].sort((one, other) => other.updated - one.updated);
}

function readAll() {
  const keys = Array.from({ length: storage.length }, (_, index) => storage.key(index));
  const conversations = keys
    .filter((key) => key?.startsWith(CONVERSATION))
    .map((key) => loadConversation(key.slice(CONVERSATION.length)))
    .filter((found) => found !== null);
  return new Map(conversations.map((conversation) => [conversation.id, entryOf(conversation)]));
}

function entryOf(conversation) {
  const { id, updated } = conversation;
  return { id, title: title(conversation), updated };
}

/** The title of a conversation: the name that the user gave it, or its first message. */
export function title({ name, messages }) {
  return name || messages[0]?.content.trim().split('\n')[0] || 'New conversation';
}

/**
 * Calls back with the id of a conversation that another tab changed or deleted, or null if that may be any: a page in the
 * back/forward cache misses the changes.
 */
export function onOtherTab(callback) {
  addEventListener('storage', ({ key }) => {
    if (key !== null && !key.startsWith(CONVERSATION)) return;
    const id = key?.slice(CONVERSATION.length) ?? null;
    const conversation = id === null ? null : loadConversation(id);
    if (id === null) listed = null;
    else if (conversation === null) listed?.delete(id);
    else listed?.set(id, entryOf(conversation));
    callback(id);
  });
  addEventListener('pageshow', ({ persisted }) => {
    if (!persisted) return;
    listed = null;
    callback(null);
  });
}

function isConversation(value) {
  const { id, updated, messages, summary = { text: '', end: 0 } } = value ?? {};
  const isSummary = isText(summary?.text) && Number.isInteger(summary.end);
  return isText(id) && Number.isFinite(updated) && isList(messages, isMessage) && isSummary;
}

function isMessage(value) {
  const { role, content, calls = [], branches = [null] } = value ?? {};
  const isCall = (call) => isText(call?.id) && isText(call.name) && isText(call.arguments);
  const isBranch = (branch) => branch === null || (isList(branch, isMessage) && branch.length > 0);
  const hasOneShown = isList(branches, isBranch) && branches.filter((branch) => branch === null).length === 1;
  return isText(role) && isText(content) && isList(calls, isCall) && hasOneShown;
}

function isText(value) {
  return typeof value === 'string';
}

function isList(value, isItem) {
  return Array.isArray(value) && value.every(isItem);
}
