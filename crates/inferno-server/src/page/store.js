// What the browser keeps: conversations, one an entry, so that two tabs do not write over each other's; settings; the key.

const CONVERSATION = 'inferno.conversation.';

/** The browser's storage, or where it gives none, one that lasts as long as the page. */
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

/** What is kept under a name, or `fallback` where there is nothing, or nothing that can be read. */
export function read(name, fallback) {
  try {
    return JSON.parse(storage.getItem(`inferno.${name}`)) ?? fallback;
  } catch {
    return fallback;
  }
}

/** Keeps a value under a name. Throws where the browser's storage is full. */
export function write(name, value) {
  storage.setItem(`inferno.${name}`, JSON.stringify(value));
}

/** A conversation without messages, which is kept from its first message on. */
export function newConversation(system) {
  // Pages over plain HTTP from another machine have no crypto.randomUUID.
  const random = crypto.getRandomValues(new Uint32Array(2));
  const id = `${Date.now().toString(36)}-${[...random].map((word) => word.toString(36)).join('')}`;
  return { id, system, messages: [], updated: Date.now() };
}

/** Keeps a conversation. Throws where the browser's storage is full. */
export function saveConversation(conversation) {
  storage.setItem(CONVERSATION + conversation.id, JSON.stringify(conversation));
}

export function deleteConversation(id) {
  storage.removeItem(CONVERSATION + id);
}

/** The conversation of this id, or null. */
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

/** Calls back when another tab changed a conversation. */
export function onOtherTab(callback) {
  addEventListener('storage', (event) => {
    if (event.key === null || event.key.startsWith(CONVERSATION)) callback();
  });
}

/** What stands for a conversation in the list: how it began. */
export function title(conversation) {
  const first = conversation.messages[0]?.content.trim().split('\n')[0] ?? '';
  return first === '' ? 'New conversation' : first;
}

/** All messages, as requests have them, the system message first. */
export function allMessages(conversation) {
  return withSystem(conversation, conversation.messages);
}

/** Those that the model is to read: without the `leftOut` oldest, for which its context has no room. */
export function requestMessages(conversation) {
  return withSystem(conversation, conversation.messages.slice(conversation.leftOut ?? 0));
}

function withSystem({ system }, messages) {
  const sent = messages.map(({ role, content, reasoning }) => ({
    role,
    content,
    ...(reasoning ? { reasoning_content: reasoning } : {}),
  }));
  return system ? [{ role: 'system', content: system }, ...sent] : sent;
}

function isConversation(value) {
  const isText = (text) => typeof text === 'string';
  return (
    isText(value?.id) &&
    Number.isFinite(value.updated) &&
    Array.isArray(value.messages) &&
    value.messages.every((message) => isText(message?.role) && isText(message.content))
  );
}
