// One message on the page: its text, what the model thought before it, and what can be done with it.

import { grow, isSendKey } from './composer.js';
import { copyButton, element, icon, iconButton } from './element.js';
import { MarkdownView } from './markdown.js';

/** A message of the user. `onEdit`, where it may be edited, gets the new text. */
export function userMessage(message, onEdit) {
  const text = element('div', { className: 'text' }, message.content);
  const buttons = element('div', { className: 'buttons' }, copyButton('Copy the message', () => message.content));
  const article = element('article', { className: 'user', 'aria-label': 'You' }, text, buttons);
  if (onEdit) {
    const edit = () => article.replaceChildren(editor(message.content, onEdit, () => article.replaceChildren(text, buttons)));
    buttons.append(iconButton('edit', 'Edit the message', edit));
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
  const send = element('button', { type: 'button', className: 'main', onclick: save }, 'Send again');
  return element('div', { className: 'editor' }, field, element('div', { className: 'actions' }, cancel, send));
}

/** An answer of the model, which may still be coming. */
export class AnswerView {
  #message;
  #markdown = new MarkdownView();
  #thoughts = element('div', { className: 'thoughts' });
  #summary = element('summary');
  #reasoning;
  #waiting = element('div', { className: 'waiting', title: 'The model is reading' }, element('i'), element('i'), element('i'));
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

  /** Shows soon what has come so far; many pieces are shown at once. */
  update() {
    this.element.setAttribute('aria-busy', 'true');
    this.#frame ||= requestAnimationFrame(() => {
      this.#frame = 0;
      this.#draw(true);
      this.element.dispatchEvent(new CustomEvent('grown', { bubbles: true }));
    });
  }

  /** Shows the whole answer; `onAgain`, where it may be given again, asks for another one. */
  finish(onAgain) {
    cancelAnimationFrame(this.#frame);
    this.#frame = 0;
    this.element.setAttribute('aria-busy', 'false');
    this.#draw(false);
    this.#footer.replaceChildren(copyButton('Copy the answer', () => this.#message.content));
    if (onAgain) this.#footer.append(iconButton('again', 'Another answer', onAgain));
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

/** How long it thought, where that was long enough to tell. */
function thought(time) {
  return time === undefined || time < 0.1 ? 'Thoughts' : `Thought for ${seconds(time)}`;
}

/** Why an answer ended, where that is not simply its end. */
function ending(message) {
  switch (message.finish) {
    case 'stopped':
      return 'Stopped.';
    case 'length':
      return 'Cut off: the limit of tokens, or the end of the context, was reached.';
    case 'failed':
      return 'Broken off.';
    default:
      return null;
  }
}

/** What the answer took: tokens, their rate, the time to the first. */
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
    line.title = `The model read ${promptTokens} tokens, of which ${cachedTokens} were kept from before.`;
  }
  return line;
}

function seconds(time) {
  return time < 1 ? `${Math.round(time * 1000)} ms` : `${time.toFixed(1)} s`;
}

/** Stands between what the model no longer reads and what it does. */
export function leftOutNote() {
  return element('p', { className: 'left-out' }, 'What is above no longer fits the context: the model does not read it any more.');
}

/** Says that an answer failed, and offers to try again, or something else that helps. */
export function failureNote(text, label, onClick) {
  const button = element('button', { type: 'button', className: 'plain', onclick: onClick }, label);
  return element('div', { className: 'failure', role: 'alert' }, element('p', {}, text), button);
}
