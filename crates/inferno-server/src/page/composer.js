// The message input.

const form = document.getElementById('composer');
const prompt = document.getElementById('prompt');
const send = document.getElementById('send');
const stop = document.getElementById('stop');

/** Whether Enter sends: not with Shift, and not while an input method composes a word. */
export function isSendKey(event) {
  return event.key === 'Enter' && !event.shiftKey && !event.isComposing;
}

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
    if (isSendKey(event)) {
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
  if (hadFocus) prompt.focus();
}

export function focusPrompt() {
  prompt.focus();
}

export function focusStop() {
  stop.focus();
}
