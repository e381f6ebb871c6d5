// Keys in text fields. Those with which an input method composes a word are not the page's.

/** Whether Enter completes an input: not with Shift, which starts a new line. */
export function isEnter(event) {
  return event.key === 'Enter' && !event.shiftKey && !isForInputMethod(event);
}

/** Whether Escape cancels an input. */
export function isEscape(event) {
  return event.key === 'Escape' && !isForInputMethod(event);
}

/** Safari sends the key that accepts a word after `isComposing` has ended; only its code tells it apart. */
function isForInputMethod(event) {
  return event.isComposing || event.keyCode === 229;
}
