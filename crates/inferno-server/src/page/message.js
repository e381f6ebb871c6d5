// One message on the page: its text, its reasoning, and its actions.

import { grow, isSendKey } from './composer.js';
import { copyButton, element, icon, iconButton } from './element.js';
import { MarkdownView } from './markdown.js';

/** A user message. `onEdit`, if it can be edited, receives the new text. */
export function userMessage(message, onEdit) {
  const text = element('div', { className: 'text' }, message.content);
  const buttons = element('div', { className: 'buttons' }, copyButton('Copy message', () => message.content));
  const article = element('article', { className: 'user', 'aria-label': 'You' }, text, buttons);
  if (onEdit) {
    const edit = () => article.replaceChildren(editor(message.content, onEdit, () => article.replaceChildren(text, buttons)));
    buttons.append(iconButton('edit', 'Edit message', edit));
    article.edit = edit;
  }
  return article;
}

function editor(content, onEdit, onCancel) {
  const field = element('textarea', { value: content, 'aria-label': 'Your message', rows: 1 });
  const save = () => {
    const text = field.value.trim();
    if (text !== '') onEdit(text);
  };
  field.addEventListener('input', () => grow(field));
  field.addEventListener('keydown', (event) => {
    if (isSendKey(event)) {
      event.preventDefault();
      save();
    } else if (event.key === 'Escape') {
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

  /** Shows the complete answer; `onAgain`, if given, regenerates it. */
  finish(onAgain) {
    cancelAnimationFrame(this.#frame);
    this.#frame = 0;
    this.element.setAttribute('aria-busy', 'false');
    this.#draw(false);
    this.#footer.replaceChildren(copyButton('Copy answer', () => this.#message.content));
    if (onAgain) this.#footer.append(iconButton('again', 'Regenerate', onAgain));
    const note = ending(this.#message);
    if (note) this.#footer.append(element('span', { className: 'note' }, note));
    this.#footer.append(figures(this.#message.figures));
  }

  #draw(isComing) {
    const { content, reasoning, thinkingSeconds: time } = this.#message;
    this.#markdown.show(content);
    this.#waiting.hidden = !isComing || content !== '' || Boolean(reasoning);
    this.#reasoning.hidden = !reasoning;
    if (!reasoning) return;
    this.#thoughts.textContent = reasoning;
    const isThinking = isComing && content === '';
    this.#reasoning.classList.toggle('live', isThinking);
    this.#summary.replaceChildren(icon('think'), isThinking ? 'Thinking' : thought(time));
  }
}

/** The reasoning time, if it is long enough to show. */
function thought(time) {
  return time === undefined || time < 0.1 ? 'Reasoning' : `Thought for ${seconds(time)}`;
}

/** Why an answer is incomplete. */
function ending(message) {
  switch (message.finish) {
    case 'stopped':
      return 'Stopped.';
    case 'length':
      return 'Cut off: the token limit or the context length was reached.';
    case 'failed':
      return 'Interrupted.';
    default:
      return null;
  }
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

/** Separates messages that are no longer sent from the others. */
export function leftOutNote() {
  return element('p', { className: 'left-out' }, 'The messages above no longer fit into the context and are not sent to the model.');
}

/** An error with an action, such as to try again. */
export function failureNote(text, label, onClick) {
  const button = element('button', { type: 'button', className: 'plain', onclick: onClick }, label);
  return element('div', { className: 'failure', role: 'alert' }, element('p', {}, text), button);
}
