// The served models, and which of them answers.

import { listDevices, listModels } from './api.js';
import { element } from './element.js';
import { apiKey, askForKey } from './key.js';
import { notify } from './notices.js';
import { read, write } from './store.js';

/** The name of the model that is built into the program. */
const DEMO = 'ember';

const NO_CHAT = 'This model cannot chat: it generates no text, or has no chat template (inferno serve --chat-template FILE sets one).';

const heading = document.getElementById('model');
const chooser = document.getElementById('models');
const context = document.getElementById('context');
const demo = document.getElementById('demo');

let models = [];
let devices = [];
let chosen = null;

/** The model that answers, as `listModels` describes it; null before it is known. */
export function servedModel() {
  return chosen;
}

/** Finds the models, waiting for the server; `onModel` is called with the chosen one. A notice shows what is missing. */
export async function findModels({ onModel }) {
  chooser.onchange = () => {
    try {
      write('model', chooser.value);
    } catch {
      // The choice then applies until the page is closed.
    }
    onModel(choose(chooser.value));
  };
  for (;;) {
    try {
      models = await listModels(apiKey());
      break;
    } catch (error) {
      if (error.status === 401) {
        notify('server', 'API key required.');
        askForKey(apiKey() === '' ? 'This server requires an API key.' : `The key was rejected: ${error.message}.`);
        return;
      }
      notify('server', error.code === 'loading' ? 'The model is loading…' : error.message);
      await new Promise((resolve) => setTimeout(resolve, 1000));
    }
  }
  notify('server', models.length === 0 ? 'This server has no models.' : '');
  if (models.length === 0) return;
  devices = await listDevices(apiKey());
  chooser.replaceChildren(...models.map(({ id }) => element('option', {}, id)));
  onModel(choose(read('model', null)));
}

function choose(id) {
  chosen = models.find((model) => model.id === id) ?? models[0];
  const isOnly = models.length === 1;
  heading.textContent = chosen.id;
  heading.classList.toggle('unseen', !isOnly);
  chooser.hidden = isOnly;
  chooser.value = chosen.id;
  document.title = `${chosen.id} · inferno`;
  const length = `${chosen.max_model_len.toLocaleString('en')} tokens of context`;
  context.textContent = [length, devices.join(', ')].filter((part) => part !== '').join(' · ');
  demo.hidden = chosen.id !== DEMO;
  notify('model', chosen.takes_messages === false ? NO_CHAT : '');
  return chosen;
}
