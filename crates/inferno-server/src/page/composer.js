// The message input.

import { isEnter } from './keys.js';

const form = document.getElementById('composer');
const prompt = document.getElementById('prompt');
const send = document.getElementById('send');
const stop = document.getElementById('stop');

/** Fits the height of a text field to its text. */
export function grow(field) {
  field.style.height = 'auto';
  field.style.height = `${field.scrollHeight}px`;
}

/** Initializes the input; `onSend` receives the text, `onUp` is called for Arrow Up in an empty input. */
export function beginComposer({ onSend, onStop, onUp }) {
  const submit = () => {
    const text = prompt.value.trim();
    if (text === '' || send.hidden) return;
    prompt.value = '';
    refresh();
    onSend(text);
  };
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    submit();
  });
  prompt.addEventListener('keydown', (event) => {
    if (isEnter(event)) {
      event.preventDefault();
      submit();
    } else if (event.key === 'ArrowUp' && prompt.value === '') {
      event.preventDefault();
      onUp();
    }
  });
  prompt.addEventListener('input', refresh);
  // A click anywhere in the box focuses the input.
  form.addEventListener('click', (event) => {
    if (event.target === form || event.target.matches('.row, #keys')) prompt.focus();
  });
  stop.addEventListener('click', onStop);
  refresh();
}

function refresh() {
  grow(prompt);
  send.disabled = prompt.value.trim() === '';
}

/** Switches between the send and the stop button. */
export function showAnswering(isAnswering) {
  const hadFocus = document.activeElement === send || document.activeElement === stop;
  send.hidden = isAnswering;
  stop.hidden = !isAnswering;
  if (hadFocus) restFocus();
}

export function focusPrompt() {
  prompt.focus();
}

/** Moves the focus to the input, or on touch screens, where this opens a keyboard, to the messages. */
export function restFocus() {
  if (matchMedia('(hover: hover)').matches) prompt.focus();
  else document.getElementById('messages').focus({ preventScroll: true });
}

/** Moves the focus to the stop button if the button that had it is gone. */
export function keepFocus() {
  if (document.activeElement === document.body) stop.focus();
}
