// Settings: how answers are sampled, whether the model thinks first, the system message, the key.

import { read, write } from './store.js';

const dialog = document.getElementById('settings');
const fields = [...document.querySelectorAll('#sampling input')];
const system = document.getElementById('system');
const key = document.getElementById('key');
const keyNote = document.getElementById('key-note');
const thinking = document.getElementById('thinking');

let takesThinking = false;

/** Sets the form up with what was kept; `onSystem` hears of another system message, `onKey` of another key. */
export function beginSettings({ onSystem, onKey, onProblem }) {
  const keep = (name, value) => {
    try {
      write(name, value);
    } catch {
      onProblem('The browser’s storage is full; the settings hold until the page is left.');
    }
  };
  const kept = read('sampling', {});
  for (const field of fields) {
    if (typeof kept[field.name] === 'number') field.value = kept[field.name];
    field.addEventListener('change', () => keep('sampling', samplingFields()));
  }
  key.value = read('key', '');
  let shownKey = key.value;
  thinking.setAttribute('aria-pressed', String(read('thinking', true) !== false));
  thinking.addEventListener('click', () => {
    const thinks = !isThinking();
    thinking.setAttribute('aria-pressed', String(thinks));
    keep('thinking', thinks);
  });
  system.addEventListener('change', () => {
    keep('system', system.value);
    onSystem(system.value);
  });
  key.addEventListener('change', () => {
    key.value = key.value.trim();
    keep('key', key.value);
  });
  document.getElementById('open-settings').addEventListener('click', () => dialog.showModal());
  document.getElementById('reset-settings').addEventListener('click', () => {
    for (const field of fields) field.value = '';
    keep('sampling', {});
  });
  // A click beside the dialog closes it.
  dialog.addEventListener('click', (event) => {
    if (event.target === dialog) dialog.close();
  });
  dialog.addEventListener('close', () => {
    // What cannot be right is not sent, and so not kept on show either.
    for (const field of fields) if (!field.validity.valid) field.value = '';
    keyNote.hidden = true;
    if (key.value !== shownKey) {
      shownKey = key.value;
      onKey();
    }
  });
}

/** Shows what the model recommends, and whether it can be asked to think. */
export function showModelDefaults(model) {
  for (const [name, value] of Object.entries(model.default_sampling_params ?? {})) {
    const field = fields.find((it) => it.name === name);
    if (field) field.placeholder = String(value);
  }
  takesThinking = model.takes_enable_thinking === true;
  thinking.hidden = !takesThinking;
}

/** Asks for the API key, and says why. */
export function askForKey(why) {
  keyNote.textContent = why;
  keyNote.hidden = false;
  if (!dialog.open) dialog.showModal();
  key.focus();
}

export function showSystem(text) {
  system.value = text;
}

/** The system message that a new conversation begins with: the last one that was written. */
export function keptSystem() {
  const kept = read('system', '');
  return typeof kept === 'string' ? kept : '';
}

export function apiKey() {
  return key.value.trim();
}

function isThinking() {
  return thinking.getAttribute('aria-pressed') === 'true';
}

/** The sampling fields that are filled in, as numbers. */
function samplingFields() {
  const filled = fields.filter((field) => field.value !== '' && field.validity.valid);
  return Object.fromEntries(filled.map((field) => [field.name, field.valueAsNumber]));
}

/** The fields of a request that the settings ask for. */
export function requestFields() {
  const thinks = takesThinking ? { chat_template_kwargs: { enable_thinking: isThinking() } } : {};
  return { ...samplingFields(), ...thinks };
}
