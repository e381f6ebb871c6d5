// The conversation on the page: sending, streaming, stopping, and its branches.

import { chatChunks } from './api.js';
import { beginBranch, showBranch } from './branches.js';
import { keepFocus, showAnswering } from './composer.js';
import { showChildren } from './element.js';
import { apiKey, askForKey } from './key.js';
import { AnswerView, branchSwitch, failureNote, leftOutNote, userMessage } from './message.js';
import { servedModel } from './models.js';
import { announce } from './notices.js';
import { TOO_LONG, canSummarize, dropOldest, isNearlyFull, requestSummary } from './overflow.js';
import { completeCalls, isEmpty, receive } from './receive.js';
import { requestMessages } from './request.js';
import { requestFields } from './settings.js';
import { resultForm, toolResult } from './tools.js';

const list = document.getElementById('messages');
const welcome = document.getElementById('welcome');

/** Shows one conversation at a time, and requests answers. */
export class ConversationView {
  #conversation;
  #onChange;
  /** Aborts the running answer, if there is one. */
  #abort = null;
  /** Settles when no answer is running. */
  #answered = Promise.resolve();
  /** Whether a change waits until no answer is running. */
  #isChanging = false;
  /** The elements of messages. They are kept, so that what the user typed and opened in them remains when others change. */
  #elements = new WeakMap();

  /** `onChange` is called with the conversation, and with the messages to store if these are not all of its own. */
  constructor({ onChange }) {
    this.#onChange = onChange;
  }

  get conversation() {
    return this.#conversation;
  }

  /** Whether an answer is running, or the user has typed something in a message. */
  get isInUse() {
    const fields = [...list.querySelectorAll('textarea')];
    return this.#abort !== null || fields.some(({ value, defaultValue }) => value !== defaultValue);
  }

  /** Shows another conversation, and stops a running answer. */
  async show(conversation, jumps = true) {
    await this.stop();
    this.#conversation = conversation;
    announce('');
    this.#draw(jumps);
  }

  send(text) {
    this.#continue([{ role: 'user', content: text }]);
  }

  /** Stops a running answer, and waits until its text is stored. */
  async stop() {
    while (this.#abort !== null) {
      this.#abort.abort();
      await this.#answered;
    }
  }

  /** Changes the conversation when no answer is running. Until then, further changes are ignored, such as of a second click. */
  async #change(then) {
    if (this.#isChanging) return;
    this.#isChanging = true;
    await this.stop();
    this.#isChanging = false;
    then();
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

  /** Requests a summary of the messages that are left out. */
  #summarize() {
    this.#answered = this.#summary();
  }

  /** Replaces a message of the user; what followed it becomes another branch. */
  #edit(index, text) {
    const branches = beginBranch(this.#conversation.messages, index);
    this.#includeMessage(index);
    this.#continue([{ role: 'user', content: text, branches }]);
  }

  /** Shows another branch at a message. */
  #switch(index, number) {
    const { messages } = this.#conversation;
    showBranch(messages, index, number);
    this.#includeMessage(index);
    this.#onChange(this.#conversation);
    this.#draw(false);
    list.querySelectorAll('article')[index].querySelector('.branches button:enabled').focus();
    announce(`Version ${number + 1} of ${messages[index].branches.length}.`);
  }

  /** Sends all messages again if this one was left out. */
  #includeMessage(index) {
    if (!(this.#conversation.leftOut > index)) return;
    this.#conversation.leftOut = 0;
    delete this.#conversation.summary;
  }

  #dropOldest() {
    const isDropped = dropOldest(this.#conversation);
    this.#drawLeftOut();
    return isDropped;
  }

  #draw(jumps = true) {
    const { messages } = this.#conversation;
    welcome.hidden = messages.length > 0;
    showChildren(list, messages.map((message, index) => this.#messageElement(message, index)));
    this.#drawLeftOut();
    if (this.#abort === null) this.#offerAnswer();
    list.dispatchEvent(new CustomEvent('grown', { bubbles: true, detail: { jump: jumps } }));
  }

  /** Separates the messages that are left out from the others. While nothing is generated, it offers their summary. */
  #drawLeftOut() {
    const { leftOut = 0, summary } = this.#conversation;
    list.querySelector('.left-out')?.remove();
    if (leftOut === 0) return;
    const isPartial = canSummarize(this.#conversation);
    const note = leftOutNote(summary, isPartial, isPartial && this.#abort === null ? () => this.#summarize() : null);
    list.querySelectorAll('article')[leftOut]?.before(note);
  }

  #messageElement(message, index) {
    if (!this.#elements.has(message)) this.#elements.set(message, this.#newElement(message, index));
    return this.#elements.get(message);
  }

  #newElement(message, index) {
    if (message.role === 'tool') return toolResult(message, this.#conversation.messages);
    if (message.role === 'user') {
      const edit = (text) => this.#change(() => this.#edit(index, text));
      return userMessage(message, edit, this.#branchSwitch(message, index));
    }
    const view = new AnswerView(message);
    this.#finish(view, message, index);
    return view.element;
  }

  #finish(view, message, index) {
    view.finish(() => this.#change(() => this.#again()), this.#branchSwitch(message, index));
  }

  #branchSwitch(message, index) {
    return branchSwitch(message, (number) => this.#change(() => this.#switch(index, number)));
  }

  /** Offers what continues a conversation whose last message is not an answer, or requests results of tools. */
  #offerAnswer() {
    const last = this.#conversation.messages.at(-1);
    const calls = completeCalls(last ?? {});
    if (calls.length > 0) list.append(resultForm(calls, (results) => this.#change(() => this.#continue(results))));
    else if (last && last.role !== 'assistant') this.#fail('This message has no answer yet.', 'Generate answer', () => this.#again());
  }

  /** Streams an answer. If the last message is one already, it becomes another branch. */
  async #answer() {
    const conversation = this.#conversation;
    const { messages } = conversation;
    const before = [...messages];
    const message = { role: 'assistant', content: '' };
    if (messages.at(-1)?.role === 'assistant') message.branches = beginBranch(messages, messages.length - 1);
    this.#startGenerating('Generating…');
    const view = new AnswerView(message);
    this.#draw();
    list.append(view.element);
    keepFocus();
    view.update();
    this.#onChange(conversation, before);
    // Stored when the user leaves the page, so that nothing is lost.
    const leave = () => {
      if (!isEmpty(message)) this.#onChange(conversation, [...messages, { ...message, finish: 'stopped' }]);
    };
    addEventListener('pagehide', leave);
    const failure = await this.#request(message, () => view.update());
    removeEventListener('pagehide', leave);
    messages.splice(0, Infinity, ...(isEmpty(message) ? before : [...messages, message]));
    this.#onChange(conversation);
    this.#stopGenerating();
    if (isEmpty(message)) {
      this.#draw();
    } else {
      this.#finish(view, message, messages.length - 1);
      this.#elements.set(message, view.element);
    }
    this.#conclude(message, failure);
    list.dispatchEvent(new CustomEvent('grown', { bubbles: true }));
  }

  /** Replaces the messages that are left out with a summary. */
  async #summary() {
    const conversation = this.#conversation;
    this.#startGenerating('Summarizing…');
    this.#drawLeftOut();
    keepFocus();
    const end = conversation.leftOut;
    const { text, failure } = await requestSummary(conversation, this.#abort.signal);
    const isStopped = this.#abort.signal.aborted;
    if (text !== '' && !failure) {
      conversation.summary = { text, end };
      this.#onChange(conversation);
    }
    this.#stopGenerating();
    if (conversation.messages.at(-1).role !== 'assistant') this.#offerAnswer();
    if (failure?.status === 401) askForKey(failure.message);
    if (isStopped) announce('Stopped.');
    else if (failure) this.#fail(failure.message, 'Try again', () => this.#summarize());
    else if (text === '') this.#fail('The model wrote no summary.', 'Try again', () => this.#summarize());
    else announce('Summary complete.');
  }

  /** Shows that the model is generating, until it is stopped or done. */
  #startGenerating(text) {
    list.querySelector('.failure')?.remove();
    this.#abort = new AbortController();
    showAnswering(true);
    announce(text);
  }

  #stopGenerating() {
    this.#abort = null;
    showAnswering(false);
    this.#drawLeftOut();
  }

  /** Receives an answer, without the oldest messages if the conversation is too long. Returns the error, or null. */
  async #request(message, onChange) {
    const { signal } = this.#abort;
    const sentFrom = this.#conversation.leftOut ?? 0;
    if (isNearlyFull(this.#conversation)) this.#dropOldest();
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
      announce(message.finish === 'stopped' ? 'Stopped.' : 'Answer complete.');
      if (message.calls) this.#offerAnswer();
    }
  }

  #fail(text, label, onClick) {
    list.querySelector('.failure')?.remove();
    list.append(failureNote(text, label, onClick)); // It is an alert, so screen readers announce it immediately.
    announce('');
  }
}
