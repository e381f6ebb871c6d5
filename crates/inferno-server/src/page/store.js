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
  // Pages over plain HTTP from another machine have no crypto.randomUUID.
  const random = crypto.getRandomValues(new Uint32Array(2));
  const id = `${Date.now().toString(36)}-${[...random].map((word) => word.toString(36)).join('')}`;
  return { id, system, messages: [], updated: Date.now() };
}

/** Stores a conversation. Throws if the storage is full. */
export function saveConversation(conversation) {
  storage.setItem(CONVERSATION + conversation.id, JSON.stringify(conversation));
}

export function deleteConversation(id) {
  storage.removeItem(CONVERSATION + id);
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

/** All conversations, the latest first. */
export function allConversations() {
  const keys = Array.from({ length: storage.length }, (_, index) => storage.key(index));
  return keys
    .filter((key) => key?.startsWith(CONVERSATION))
    .map((key) => loadConversation(key.slice(CONVERSATION.length)))
    .filter((found) => found !== null)
    .sort((one, other) => other.updated - one.updated);
}

/** Calls back when another tab changes a conversation. */
export function onOtherTab(callback) {
  addEventListener('storage', (event) => {
    if (event.key === null || event.key.startsWith(CONVERSATION)) callback();
  });
}

/** The title of a conversation: the name that the user gave it, or its first message. */
export function title({ name, messages }) {
  return name || messages[0]?.content.trim().split('\n')[0] || 'New conversation';
}

/** Renames a stored conversation; an empty name restores the default title. Throws if the storage is full. */
export function renameConversation(id, name) {
  const conversation = loadConversation(id);
  if (conversation) saveConversation({ ...conversation, name });
}

/** All messages in request format, the system message first. */
export function allMessages(conversation) {
  return withSystem(conversation, conversation.messages);
}

/** The messages to send: without the `leftOut` oldest, which exceed the context, but with their summary. */
export function requestMessages(conversation, start = conversation.leftOut ?? 0, end = Infinity) {
  const [first, ...rest] = conversation.messages.slice(start, end);
  const { summary } = conversation;
  // A part of the message, since not every template accepts other messages before the first one of the user.
  const content = summary ? `Summary of our conversation so far:\n${summary.text}\n\n${first.content}` : first.content;
  return withSystem(conversation, [{ ...first, content }, ...rest]);
}

function withSystem({ system }, messages) {
  const sent = messages.map(({ role, content, reasoning, calls, callId }) => ({
    role,
    content,
    ...(reasoning ? { reasoning_content: reasoning } : {}),
    ...(calls ? { tool_calls: calls.map(({ id, ...called }) => ({ id, type: 'function', function: called })) } : {}),
    ...(callId ? { tool_call_id: callId } : {}),
  }));
  return system ? [{ role: 'system', content: system }, ...sent] : sent;
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
