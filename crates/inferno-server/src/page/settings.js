// Settings: system prompt, sampling, reasoning, tools.

import { notify } from './notices.js';
import { beginSampling, clearInvalid, samplingFields, showSamplingDefaults } from './sampling.js';
import { read, write } from './store.js';

const dialog = document.getElementById('settings');
const system = document.getElementById('system');
const tools = document.getElementById('tools');
const thinking = document.getElementById('thinking');

let supportsThinking = false;

/** Initializes the form from storage; `onSystem` is called for changes. */
export function beginSettings({ onSystem }) {
  const keep = (name, value) => {
    try {
      write(name, value);
      notify('settings', '');
    } catch {
      notify('settings', 'Browser storage is full; the settings apply until you leave the page.');
    }
  };
  beginSampling((fields) => keep('sampling', fields));
  thinking.addEventListener('click', () => {
    thinking.setAttribute('aria-pressed', String(!isThinking()));
    keep('thinking', isThinking());
  });
  system.addEventListener('change', () => {
    keep('system', system.value);
    onSystem(system.value);
  });
  tools.value = keptText('tools');
  checkTools();
  tools.addEventListener('input', checkTools);
  tools.addEventListener('change', () => keep('tools', tools.value));
  document.getElementById('open-settings').addEventListener('click', () => dialog.showModal());
  // A click outside the dialog closes it.
  dialog.addEventListener('click', (event) => {
    if (event.target === dialog) dialog.close();
  });
  dialog.addEventListener('close', clearInvalid);
}

/** Shows the model's defaults, and whether it supports reasoning, which follows the model until the user switches it. */
export function showModelDefaults(model) {
  showSamplingDefaults(model.default_sampling_params ?? {});
  supportsThinking = model.takes_enable_thinking === true;
  const chosen = read('thinking', null);
  const thinks = typeof chosen === 'boolean' ? chosen : model.enable_thinking_default === true;
  thinking.setAttribute('aria-pressed', String(thinks));
  thinking.hidden = !supportsThinking;
}

export function showSystem(text) {
  system.value = text;
}

/** The system prompt of new conversations: the last one that was entered. */
export function keptSystem() {
  return keptText('system');
}

function keptText(name) {
  const kept = read(name, '');
  return typeof kept === 'string' ? kept : '';
}

function isThinking() {
  return thinking.getAttribute('aria-pressed') === 'true';
}

/** Shows whether the tools can be sent. */
function checkTools() {
  const note = document.getElementById('tools-note');
  const isValid = tools.value.trim() === '' || parsedTools().length > 0;
  tools.setAttribute('aria-invalid', String(!isValid));
  note.hidden = isValid;
}

/** The tools; an empty list if the field contains anything else than a JSON list. */
function parsedTools() {
  try {
    const found = JSON.parse(tools.value);
    return Array.isArray(found) ? found : [];
  } catch {
    return [];
  }
}

/** The request fields from the settings; `thinks` replaces the choice of reasoning. */
export function requestFields(thinks = isThinking()) {
  const found = parsedTools();
  return {
    ...samplingFields(),
    ...(supportsThinking ? { chat_template_kwargs: { enable_thinking: thinks } } : {}),
    ...(found.length > 0 ? { tools: found } : {}),
  };
}
