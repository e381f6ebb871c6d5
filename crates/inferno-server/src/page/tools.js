// Tool calls in answers, and their results, which the user enters.

import { grow } from './composer.js';
import { element, icon } from './element.js';

/** A call that a model made, which may still be streaming. One that was cut off is not complete. */
export function callBlock({ name, arguments: text }, isComplete) {
  const summary = element('summary', {}, icon('tool'), 'Calls ', element('code', {}, name));
  const note = isComplete ? '' : element('p', {}, 'This call was cut off. It is not sent to the model.');
  return element('details', { className: 'call', open: true }, summary, element('pre', { tabIndex: 0 }, indented(text)), note);
}

/** The result of a call. */
export function toolResult(message, messages) {
  const call = messages.flatMap(({ calls = [] }) => calls).find(({ id }) => id === message.callId);
  const label = `Result of ${call?.name ?? 'a tool'}`;
  const block = element('details', { className: 'call' }, element('summary', {}, icon('tool'), label));
  block.append(element('pre', { tabIndex: 0 }, indented(message.content)));
  return element('article', { className: 'result', 'aria-label': label }, block);
}

/** Fields for the results of calls; `onResults` receives the messages with them. */
export function resultForm(calls, onResults) {
  const fields = calls.map(({ name }) =>
    element('textarea', { rows: 1, 'aria-label': `Result of ${name}`, placeholder: `Result of ${name}`, required: true }),
  );
  for (const field of fields) field.addEventListener('input', () => grow(field));
  const submit = (event) => {
    event.preventDefault();
    onResults(calls.map(({ id }, index) => ({ role: 'tool', content: fields[index].value, callId: id })));
  };
  const note = element('p', {}, 'The model waits for these results. Tools do not run on this page: enter what they return.');
  const send = element('div', { className: 'actions' }, element('button', { type: 'submit', className: 'main' }, 'Send results'));
  return element('form', { className: 'editor results', onsubmit: submit }, note, ...fields, send);
}

/** JSON with indentation; other text as it is. */
function indented(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
