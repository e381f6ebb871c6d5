// Settings: sampling, reasoning, system prompt, API key.

import { read, write } from './store.js';

const dialog = document.getElementById('settings');
const fields = [...document.querySelectorAll('#sampling input')];
const system = document.getElementById('system');
const key = document.getElementById('key');
const keyNote = document.getElementById('key-note');
const thinking = document.getElementById('thinking');

let takesThinking = false;

/** Initializes the form from storage; `onSystem` and `onKey` are called for changes. */
export function beginSettings({ onSystem, onKey, onProblem }) {
  const keep = (name, value) => {
    try {
      write(name, value);
    } catch {
      onProblem('Browser storage is full; the settings apply until you leave the page.');
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
  // A click outside the dialog closes it.
  dialog.addEventListener('click', (event) => {
    if (event.target === dialog) dialog.close();
  });
  dialog.addEventListener('close', () => {
    // Invalid values are not sent, so they are not shown either.
    for (const field of fields) if (!field.validity.valid) field.value = '';
    keyNote.hidden = true;
    if (key.value !== shownKey) {
      shownKey = key.value;
      onKey();
    }
  });
}

/** Shows the model’s defaults, and whether it supports reasoning. */
export function showModelDefaults(model) {
  for (const [name, value] of Object.entries(model.default_sampling_params ?? {})) {
    const field = fields.find((it) => it.name === name);
    if (field) field.placeholder = String(value);
  }
  takesThinking = model.takes_enable_thinking === true;
  thinking.hidden = !takesThinking;
}

/** Asks for the API key, with the reason. */
export function askForKey(why) {
  keyNote.textContent = why;
  keyNote.hidden = false;
  if (!dialog.open) dialog.showModal();
  key.focus();
}

export function showSystem(text) {
  system.value = text;
}

/** The system prompt of new conversations: the last one that was entered. */
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

/** The non-empty sampling fields, as numbers. */
function samplingFields() {
  const filled = fields.filter((field) => field.value !== '' && field.validity.valid);
  return Object.fromEntries(filled.map((field) => [field.name, field.valueAsNumber]));
}

/** The request fields from the settings. */
export function requestFields() {
  const thinks = takesThinking ? { chat_template_kwargs: { enable_thinking: isThinking() } } : {};
  return { ...samplingFields(), ...thinks };
}
