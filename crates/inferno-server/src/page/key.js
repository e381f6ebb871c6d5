// The API key, and the dialog that requests it.

import { notify } from './notices.js';
import { read, write } from './store.js';

const dialog = document.getElementById('key-dialog');
const field = document.getElementById('key');
const note = document.getElementById('key-note');

let key = '';

/** Loads the stored key; `onKey` is called when the user enters another one. */
export function beginKey({ onKey }) {
  const kept = read('key', '');
  key = typeof kept === 'string' ? kept : '';
  document.getElementById('open-key').addEventListener('click', () => {
    document.getElementById('settings').close();
    open('');
  });
  document.getElementById('cancel-key').addEventListener('click', () => dialog.close());
  dialog.querySelector('form').addEventListener('submit', () => {
    key = field.value.trim();
    try {
      write('key', key);
      notify('key', '');
    } catch {
      notify('key', 'Browser storage is full; the API key applies until you leave the page.');
    }
    onKey();
  });
}

export function apiKey() {
  return key;
}

/** Requests the API key, and shows the reason. */
export function askForKey(why) {
  open(why);
}

function open(why) {
  note.textContent = why;
  note.hidden = why === '';
  field.value = key;
  if (!dialog.open) dialog.showModal();
  field.select();
}
