// The field that messages are written in.

const form = document.getElementById('composer');
const prompt = document.getElementById('prompt');
const send = document.getElementById('send');
const stop = document.getElementById('stop');

/** Whether Enter sends: not with Shift, and not while an input method composes a word. */
export function isSendKey(event) {
  return event.key === 'Enter' && !event.shiftKey && !event.isComposing;
}

/** Makes a text field as high as its text. */
export function grow(field) {
  field.style.height = 'auto';
  field.style.height = `${field.scrollHeight}px`;
}

/** Sets the field up; `onSend` gets the text, `onUp` hears of an arrow up in the empty field. */
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
  // The whole box is the field, as far as a pointer is concerned.
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

/** Shows the button that stops in place of the one that sends, or the other way round. */
export function showAnswering(isAnswering) {
  const hadFocus = document.activeElement === send || document.activeElement === stop;
  send.hidden = isAnswering;
  stop.hidden = !isAnswering;
  if (hadFocus) prompt.focus();
}

export function focusPrompt() {
  prompt.focus();
}
