// The conversation on the page: sending, streaming, stopping, and its branches.

import { chatChunks } from './api.js';
import { beginBranch, showBranch } from './branches.js';
import { showAnswering } from './composer.js';
import { apiKey, askForKey } from './key.js';
import { AnswerView, branchSwitch, failureNote, leftOutNote, userMessage } from './message.js';
import { servedModel } from './models.js';
import { isEmpty, receive } from './receive.js';
import { requestFields } from './settings.js';
import { requestMessages } from './store.js';
import { resultForm, toolResult } from './tools.js';

/** The code of errors for requests that exceed the context. */
const TOO_LONG = 'context_length_exceeded';

/** Share of the context that is kept free for an answer, if there are older messages to drop. */
const FREE_SHARE = 0.25;

const list = document.getElementById('messages');
const welcome = document.getElementById('welcome');
const status = document.getElementById('status');

/** Shows one conversation at a time, and requests answers. */
export class ConversationView {
  #conversation;
  #onChange;
  /** Aborts the running answer, if there is one. */
  #abort = null;
  /** Settles when no answer is running. */
  #answered = Promise.resolve();

  /** `onChange` is called for every change that is to be stored. */
  constructor({ onChange }) {
    this.#onChange = onChange;
  }

  get conversation() {
    return this.#conversation;
  }

  /** Shows another conversation, and stops a running answer. */
  async show(conversation) {
    await this.stop();
    this.#conversation = conversation;
    status.textContent = '';
    this.#draw();
  }

  send(text) {
    this.#continue([{ role: 'user', content: text }]);
  }

  /** Stops a running answer, and waits until its text is stored. */
  stop() {
    this.#abort?.abort();
    return this.#answered;
  }

  /** Starts editing the last message of the user, if there is one. */
  editLast() {
    [...list.querySelectorAll('.user')].at(-1)?.edit?.();
  }

  /** Appends messages and requests an answer. */
  #continue(messages) {
    this.#conversation.messages.push(...messages);
    this.#again();
  }

  /** Requests an answer, or another one. */
  #again() {
    this.#answered = this.#answer();
  }

  /** Replaces a message of the user; what followed it becomes another branch. */
  async #edit(index, text) {
    await this.stop();
    const branches = beginBranch(this.#conversation.messages, index);
    this.#includeMessage(index);
    this.#continue([{ role: 'user', content: text, branches }]);
  }

  /** Shows another branch at a message. */
  async #switch(index, number) {
    await this.stop();
    const { messages } = this.#conversation;
    showBranch(messages, index, number);
    this.#includeMessage(index);
    this.#onChange(this.#conversation);
    this.#draw(false);
    list.querySelectorAll('article')[index].querySelector('.branches button:enabled').focus();
    status.textContent = `Version ${number + 1} of ${messages[index].branches.length}.`;
  }

  /** Sends all messages again if this one was left out. */
  #includeMessage(index) {
    if (this.#conversation.leftOut > index) this.#conversation.leftOut = 0;
  }

  /** Leaves out the older half of the sent messages. Returns false if there is only one to send. */
  #dropOldest() {
    const { messages, leftOut = 0 } = this.#conversation;
    const middle = Math.max(leftOut + 1, Math.floor((leftOut + messages.length) / 2));
    const place = messages.findIndex((message, index) => index >= middle && message.role === 'user');
    if (place === -1) return false;
    this.#conversation.leftOut = place;
    this.#drawLeftOut();
    return true;
  }

  /** Leaves out messages if the latest answer left too little of the context free. */
  #makeRoom() {
    const { messages, leftOut = 0 } = this.#conversation;
    const { figures } = messages.findLast((message) => message.figures?.promptTokens !== undefined) ?? {};
    // Counts from before messages were left out do not apply any more.
    if (!figures || (figures.leftOut ?? 0) !== leftOut) return;
    const used = figures.promptTokens + figures.tokens;
    if (used > (1 - FREE_SHARE) * (servedModel()?.max_model_len ?? Infinity)) this.#dropOldest();
  }

  #draw(jumps = true) {
    const { messages } = this.#conversation;
    welcome.hidden = messages.length > 0;
    list.replaceChildren(...messages.map((message, index) => this.#messageElement(message, index)));
    this.#drawLeftOut();
    if (this.#abort === null) this.#offerAnswer();
    list.dispatchEvent(new CustomEvent('grown', { bubbles: true, detail: { jump: jumps } }));
  }

  #drawLeftOut() {
    const { leftOut = 0 } = this.#conversation;
    list.querySelector('.left-out')?.remove();
    if (leftOut > 0) list.querySelectorAll('article')[leftOut]?.before(leftOutNote());
  }

  #messageElement(message, index) {
    const { messages } = this.#conversation;
    if (message.role === 'tool') return toolResult(message, messages);
    if (message.role === 'user') {
      return userMessage(message, (text) => this.#edit(index, text), this.#branchSwitch(message, index));
    }
    const view = new AnswerView(message);
    this.#finish(view, message, index);
    return view.element;
  }

  #finish(view, message, index) {
    const isLast = index === this.#conversation.messages.length - 1;
    view.finish(isLast ? () => this.#again() : null, this.#branchSwitch(message, index));
  }

  #branchSwitch(message, index) {
    return branchSwitch(message, (number) => this.#switch(index, number));
  }

  /** Offers what continues a conversation whose last message is not an answer, or requests results of tools. */
  #offerAnswer() {
    const last = this.#conversation.messages.at(-1);
    if (last?.calls?.length > 0) list.append(resultForm(last.calls, (results) => this.#continue(results)));
    else if (last && last.role !== 'assistant') this.#fail('This message has no answer yet.', 'Generate answer', () => this.#again());
  }

  /** Streams an answer. If the last message is one already, it becomes another branch. */
  async #answer() {
    const conversation = this.#conversation;
    const { messages } = conversation;
    const before = [...messages];
    const message = { role: 'assistant', content: '' };
    if (messages.at(-1)?.role === 'assistant') message.branches = beginBranch(messages, messages.length - 1);
    this.#abort = new AbortController();
    const view = new AnswerView(message);
    this.#draw();
    list.append(view.element);
    view.update();
    showAnswering(true);
    status.textContent = 'Generating…';
    this.#onChange({ ...conversation, messages: before });
    // Stored when the user leaves the page, so that nothing is lost.
    const leave = () => {
      if (!isEmpty(message)) this.#onChange({ ...conversation, messages: [...messages, { ...message, finish: 'stopped' }] });
    };
    addEventListener('pagehide', leave);
    const failure = await this.#request(message, () => view.update());
    removeEventListener('pagehide', leave);
    messages.splice(0, Infinity, ...(isEmpty(message) ? before : [...messages, message]));
    this.#onChange(conversation);
    this.#abort = null;
    showAnswering(false);
    if (isEmpty(message)) this.#draw();
    else this.#finish(view, message, messages.length - 1);
    this.#conclude(message, failure);
    list.dispatchEvent(new CustomEvent('grown', { bubbles: true }));
  }

  /** Receives an answer, without the oldest messages if the conversation is too long. Returns the error, or null. */
  async #request(message, onChange) {
    const { signal } = this.#abort;
    const sentFrom = this.#conversation.leftOut ?? 0;
    this.#makeRoom();
    for (;;) {
      const request = { model: servedModel()?.id, messages: requestMessages(this.#conversation), ...requestFields() };
      const failure = await receive(message, chatChunks(request, apiKey(), signal), onChange);
      if (failure?.code === TOO_LONG && this.#dropOldest()) continue;
      const { leftOut = 0 } = this.#conversation;
      if (message.figures) message.figures.leftOut = leftOut;
      if (leftOut > sentFrom) message.hasDropped = true;
      return failure;
    }
  }

  /** Reports how an answer ended, and offers what can be done. */
  #conclude(message, failure) {
    if (failure?.status === 401) askForKey(failure.message);
    if (failure?.code === TOO_LONG) {
      this.#fail(`This message is too long for the model: ${failure.message}.`, 'Edit message', () => this.editLast());
    } else if (failure) {
      this.#fail(failure.message, 'Try again', () => this.#again());
    } else if (isEmpty(message)) {
      this.#fail('Stopped before the answer started.', 'Generate answer', () => this.#again());
    } else {
      status.textContent = message.finish === 'stopped' ? 'Stopped.' : 'Answer complete.';
      if (message.calls) this.#offerAnswer();
    }
  }

  #fail(text, label, onClick) {
    list.querySelector('.failure')?.remove();
    list.append(failureNote(text, label, onClick)); // It is an alert, so screen readers announce it immediately.
    status.textContent = '';
  }
}
