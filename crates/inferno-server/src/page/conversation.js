// The conversation on the page: sending, streaming, stopping, regenerating.

import { chatChunks } from './api.js';
import { showAnswering } from './composer.js';
import { AnswerView, failureNote, leftOutNote, userMessage } from './message.js';
import { apiKey, askForKey, requestFields } from './settings.js';
import { requestMessages } from './store.js';

const list = document.getElementById('messages');
const welcome = document.getElementById('welcome');
const status = document.getElementById('status');

/** Shows one conversation at a time, and requests answers. */
export class ConversationView {
  #conversation;
  #modelName;
  #onChange;
  /** Aborts the running answer, if there is one. */
  #abort = null;
  /** Settles when no answer is running. */
  #answered = Promise.resolve();

  /** `onChange` is called for every change that is to be stored. */
  constructor({ modelName, onChange }) {
    this.#modelName = modelName;
    this.#onChange = onChange;
  }

  get conversation() {
    return this.#conversation;
  }

  get isAnswering() {
    return this.#abort !== null;
  }

  /** Shows another conversation, and stops a running answer. */
  async show(conversation) {
    await this.stop();
    this.#conversation = conversation;
    status.textContent = '';
    this.#draw();
  }

  send(text) {
    this.#conversation.messages.push({ role: 'user', content: text });
    this.#draw();
    this.#answered = this.#answer();
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

  /** Answers the last message without as many of the oldest messages as necessary. */
  #answerFrom(place) {
    this.#conversation.leftOut = place;
    this.#draw();
    this.#answered = this.#answer(true);
  }

  /** The first message to send if the conversation is too long: a user message in the later half; null if there is only one message. */
  #placeToGoOn() {
    const { messages, leftOut = 0 } = this.#conversation;
    const middle = Math.max(leftOut + 1, Math.floor((leftOut + messages.length) / 2));
    const place = messages.findIndex((message, index) => index >= middle && message.role === 'user');
    return place === -1 ? null : place;
  }

  #again() {
    const { messages } = this.#conversation;
    if (messages.at(-1)?.role === 'assistant') messages.pop();
    this.#draw();
    this.#answered = this.#answer();
  }

  #draw() {
    const { messages, leftOut = 0 } = this.#conversation;
    const lastOfUser = messages.findLastIndex((message) => message.role === 'user');
    welcome.hidden = messages.length > 0;
    list.replaceChildren(
      ...messages.map((message, index) => {
        if (message.role === 'user') {
          const edit = async (text) => {
            await this.stop();
            messages.splice(index);
            this.send(text);
          };
          return userMessage(message, index === lastOfUser ? edit : null);
        }
        const view = new AnswerView(message);
        view.finish(index === messages.length - 1 ? () => this.#again() : null);
        return view.element;
      }),
    );
    if (leftOut > 0) list.children[leftOut]?.before(leftOutNote());
    if (messages.at(-1)?.role === 'user' && !this.isAnswering) {
      this.#fail('This message has no answer yet.', 'Generate answer', () => this.#again());
    }
    list.dispatchEvent(new CustomEvent('grown', { bubbles: true, detail: { jump: true } }));
  }

  /** Streams an answer to the last message; `leavesOut` allows dropping the oldest messages. */
  async #answer(leavesOut = false) {
    const conversation = this.#conversation;
    const message = { role: 'assistant', content: '' };
    const view = new AnswerView(message);
    const request = { model: this.#modelName(), messages: requestMessages(conversation), ...requestFields() };
    const abort = new AbortController();
    this.#abort = abort;
    list.querySelector('.failure')?.remove();
    list.append(view.element);
    view.update();
    showAnswering(true);
    status.textContent = 'Generating…';
    this.#keep(conversation);
    // Stored from the first chunk on, so that leaving the page loses nothing.
    const leave = () => this.#keep(conversation, message);
    addEventListener('pagehide', leave);
    let failure = null;
    try {
      await receive(message, chatChunks(request, apiKey(), abort.signal), () => view.update());
    } catch (error) {
      if (error.name === 'AbortError') message.finish = 'stopped';
      else failure = error;
    }
    removeEventListener('pagehide', leave);
    if (failure !== null) message.finish = 'failed';
    const isEmpty = message.content === '' && !message.reasoning;
    if (!isEmpty) conversation.messages.push(message);
    this.#keep(conversation);
    this.#abort = null;
    showAnswering(false);
    if (isEmpty) view.element.remove();
    else view.finish(() => this.#again());
    if (failure !== null) this.#explain(failure, leavesOut);
    else if (isEmpty) this.#fail('Stopped before the answer started.', 'Generate answer', () => this.#again());
    else status.textContent = message.finish === 'stopped' ? 'Stopped.' : 'Answer complete.';
    list.dispatchEvent(new CustomEvent('grown', { bubbles: true }));
  }

  /** Stores the conversation, including an incomplete answer. */
  #keep(conversation, partial = null) {
    const messages = partial?.content ? [{ ...partial, finish: 'stopped' }] : [];
    this.#onChange({ ...conversation, messages: [...conversation.messages, ...messages] });
  }

  #explain(failure, leavesOut) {
    if (failure.status === 401) askForKey(failure.message);
    if (failure.code !== 'context_length_exceeded') {
      this.#fail(failure.message, 'Try again', () => this.#again());
      return;
    }
    const place = this.#placeToGoOn();
    if (place === null) {
      this.#fail(`This message is too long for the model: ${failure.message}.`, 'Edit message', () => this.editLast());
    } else if (leavesOut) {
      this.#answerFrom(place);
    } else {
      const leaveOut = () => this.#answerFrom(place);
      this.#fail(`The conversation exceeds the context: ${failure.message}.`, 'Drop the oldest messages', leaveOut);
    }
  }

  #fail(text, label, onClick) {
    list.querySelector('.failure')?.remove();
    list.append(failureNote(text, label, onClick)); // It is an alert, so screen readers announce it immediately.
    status.textContent = '';
  }
}

/** Appends streamed content to a message, and measures it. */
async function receive(message, chunks, onPiece) {
  const begun = performance.now();
  const since = () => (performance.now() - begun) / 1000;
  let firstSeconds;
  let lastSeconds;
  let numPieces = 0;
  const measure = (usage) => {
    if (firstSeconds === undefined) return;
    const tokens = usage?.completion_tokens ?? numPieces;
    const time = lastSeconds - firstSeconds;
    message.figures = {
      tokens,
      isCounted: usage !== undefined,
      // The time to the first token is prefill, so only the others count.
      rate: time > 0 && tokens > 1 ? (tokens - 1) / time : null,
      firstSeconds,
      promptTokens: usage?.prompt_tokens,
      cachedTokens: usage?.prompt_tokens_details?.cached_tokens ?? 0,
    };
  };
  try {
    for await (const { choices, usage } of chunks) {
      const { delta, finish_reason: finish } = choices[0] ?? {};
      if (delta?.content || delta?.reasoning_content) {
        lastSeconds = since();
        firstSeconds ??= lastSeconds;
        numPieces += 1;
        if (delta.reasoning_content) message.reasoning = (message.reasoning ?? '') + delta.reasoning_content;
        if (delta.content && message.reasoning) message.thinkingSeconds ??= lastSeconds - firstSeconds;
        message.content += delta.content ?? '';
        onPiece();
      }
      if (finish) message.finish = finish;
      if (usage) measure(usage);
    }
  } finally {
    if (!message.figures) measure();
  }
}
