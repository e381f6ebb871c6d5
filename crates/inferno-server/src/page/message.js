// One message on the page: its text, its reasoning, its tool calls, and its actions.

import { branchPosition } from './branches.js';
import { grow } from './composer.js';
import { copyButton, element, icon, iconButton } from './element.js';
import { isEnter, isEscape } from './keys.js';
import { MarkdownView } from './markdown.js';
import { completeCalls, isEmpty } from './receive.js';
import { callBlock } from './tools.js';

/** A user message; `onEdit` receives the new text, and `switcher` shows its other versions. */
export function userMessage(message, onEdit, switcher) {
  const text = element('div', { className: 'text' }, message.content);
  const buttons = element('div', { className: 'buttons' }, switcher, copyButton('Copy message', () => message.content));
  const article = element('article', { className: 'user', 'aria-label': 'You' }, text, buttons);
  const stopEditing = () => {
    article.replaceChildren(text, buttons);
    buttons.lastChild.focus();
  };
  article.edit = () => {
    const opened = article.querySelector('textarea');
    if (opened) opened.focus();
    else article.replaceChildren(editor(message.content, onEdit, stopEditing));
  };
  buttons.append(iconButton('edit', 'Edit message', article.edit));
  return article;
}

/** Buttons that show the other versions of a message, if there are any; `onSwitch` receives the number of one. */
export function branchSwitch(message, onSwitch) {
  const { shown, count } = branchPosition(message);
  if (count === 1) return '';
  const button = (name, label, number) => {
    const made = iconButton(name, label, () => onSwitch(number));
    made.disabled = number < 0 || number >= count;
    return made;
  };
  return element(
    'span',
    { className: 'branches', role: 'group', 'aria-label': 'Versions' },
    button('previous', 'Previous version', shown - 1),
    element('span', { 'aria-label': `Version ${shown + 1} of ${count}`, role: 'img' }, `${shown + 1}/${count}`),
    button('next', 'Next version', shown + 1),
  );
}

function editor(content, onEdit, onCancel) {
  const field = element('textarea', { value: content, 'aria-label': 'Your message', rows: 1 });
  const save = () => {
    const text = field.value.trim();
    if (text !== '') onEdit(text);
  };
  field.addEventListener('input', () => grow(field));
  field.addEventListener('keydown', (event) => {
    if (isEnter(event)) {
      event.preventDefault();
      save();
    } else if (isEscape(event)) {
      event.stopPropagation();
      onCancel();
    }
  });
  requestAnimationFrame(() => {
    grow(field);
    field.focus();
  });
  const cancel = element('button', { type: 'button', className: 'plain', onclick: onCancel }, 'Cancel');
  const send = element('button', { type: 'button', className: 'main', onclick: save }, 'Send edited');
  return element('div', { className: 'editor' }, field, element('div', { className: 'actions' }, cancel, send));
}

/** An answer, which may still be streaming. */
export class AnswerView {
  #message;
  #markdown = new MarkdownView();
  #calls = element('div', { className: 'calls' });
  #thoughts = element('div', { className: 'thoughts' });
  #summary = element('summary');
  #reasoning;
  #waiting = element('div', { className: 'waiting', title: 'Processing the prompt' }, element('i'), element('i'), element('i'));
  #footer = element('div', { className: 'buttons' });
  #frame = 0;

  constructor(message) {
    this.#message = message;
    this.#reasoning = element('details', { className: 'reasoning', hidden: true }, this.#summary, this.#thoughts);
    this.element = element(
      'article',
      { className: 'answer', 'aria-label': 'Answer' },
      this.#reasoning,
      this.#waiting,
      this.#markdown.element,
      this.#calls,
      this.#footer,
    );
  }

  /** Schedules an update; several chunks are rendered at once. */
  update() {
    this.element.setAttribute('aria-busy', 'true');
    this.#frame ||= requestAnimationFrame(() => {
      this.#frame = 0;
      this.#draw(true);
      this.element.dispatchEvent(new CustomEvent('grown', { bubbles: true }));
    });
  }

  /** Shows the complete answer. `onAgain` regenerates it, if it is the last message; `switcher` shows its other versions. */
  finish(onAgain, switcher) {
    cancelAnimationFrame(this.#frame);
    this.#frame = 0;
    this.element.setAttribute('aria-busy', 'false');
    this.#draw(false);
    const again = iconButton('again', 'Regenerate', onAgain);
    again.classList.add('again');
    this.#footer.replaceChildren(switcher, copyButton('Copy answer', () => copied(this.#message)), again);
    const notes = endings(this.#message).map((note) => element('span', { className: 'note' }, note));
    this.#footer.append(...notes, figures(this.#message.figures));
    if (isReasoningOnly(this.#message)) this.#reasoning.open = true;
  }

  #draw(isComing) {
    const { content, reasoning, calls = [], thinkingSeconds: time } = this.#message;
    const complete = completeCalls(this.#message);
    this.#markdown.show(content);
    this.#calls.replaceChildren(...calls.map((call) => callBlock(call, complete.includes(call))));
    this.#waiting.hidden = !isComing || !isEmpty(this.#message);
    this.#reasoning.hidden = !reasoning;
    if (!reasoning) return;
    this.#thoughts.textContent = reasoning;
    const isThinking = isComing && isReasoningOnly(this.#message);
    this.#reasoning.classList.toggle('live', isThinking);
    this.#summary.replaceChildren(icon('think'), isThinking ? 'Thinking' : thought(time));
  }
}

/** What is copied of an answer: its text, its tool calls if it has no text, or else its reasoning. */
function copied({ content, calls = [], reasoning }) {
  return content || calls.map(({ name, arguments: text }) => `${name} ${text}`).join('\n') || reasoning;
}

/** The reasoning time, if it is long enough to show. */
function thought(time) {
  return time === undefined || time < 0.1 ? 'Reasoning' : `Thought for ${seconds(time)}`;
}

function isReasoningOnly({ content, reasoning, calls }) {
  return Boolean(reasoning) && content === '' && !calls;
}

const ENDINGS = {
  stopped: 'Stopped.',
  length: 'Cut off: the token limit or the context length was reached.',
  failed: 'Interrupted.',
};

/** What is unusual about an answer. */
function endings(message) {
  const { finish, hasDropped } = message;
  return [
    ...(isReasoningOnly(message) && finish === 'stop' ? ['The model ended after its reasoning, without an answer.'] : []),
    ...(finish in ENDINGS ? [ENDINGS[finish]] : []),
    ...(hasDropped ? ['The oldest messages were left out: they no longer fit into the context.'] : []),
  ];
}

/** Statistics: tokens, rate, time to first token. */
function figures(taken) {
  const line = element('span', { className: 'figures' });
  if (!taken) return line;
  const { tokens, isCounted, rate, firstSeconds, promptTokens, cachedTokens } = taken;
  const about = isCounted ? '' : 'about ';
  const parts = [`${about}${tokens} ${tokens === 1 ? 'token' : 'tokens'}`];
  if (rate) parts.push(`${about}${rate < 10 ? rate.toFixed(1) : Math.round(rate)} tokens/s`);
  if (firstSeconds !== undefined) parts.push(`first after ${seconds(firstSeconds)}`);
  line.textContent = parts.join(' · ');
  if (promptTokens !== undefined) {
    line.title = `Prompt: ${promptTokens} tokens, ${cachedTokens} of them cached.`;
  }
  return line;
}

function seconds(time) {
  return time < 1 ? `${Math.round(time * 1000)} ms` : `${time.toFixed(1)} s`;
}

/** Separates messages that are no longer sent from the others. `onSummarize`, if given, requests a summary of them. */
export function leftOutNote(summary, isPartial, onSummarize) {
  const note = element('div', { className: 'left-out' });
  const text = isPartial
    ? 'The messages above no longer fit into the context and are not sent to the model.'
    : 'The messages above no longer fit into the context. The model receives a summary of them.';
  note.append(element('p', {}, text));
  if (summary) {
    const label = isPartial ? 'Summary of the oldest messages' : 'Summary';
    note.append(element('details', {}, element('summary', {}, label), element('p', {}, summary.text)));
  }
  if (onSummarize) note.append(element('button', { type: 'button', className: 'plain', onclick: onSummarize }, 'Summarize them'));
  return note;
}

/** An error with an action, such as to try again. */
export function failureNote(text, label, onClick) {
  const button = element('button', { type: 'button', className: 'plain', onclick: onClick }, label);
  return element('div', { className: 'failure', role: 'alert' }, element('p', {}, text), button);
}
