// Notices, shown above the message input until their cause is gone, and announcements for screen readers.

const area = document.getElementById('notice');
const status = document.getElementById('status');

/** How long something is shown or announced briefly, in milliseconds. */
export const BRIEFLY = 1500;

/** The shown notices, by cause. */
const notices = new Map();

/** Shows a notice that is not about one message; an empty text removes the one with this cause. */
export function notify(cause, text) {
  if (text === '') notices.delete(cause);
  else notices.set(cause, text);
  const shown = [...notices.values()].join(' ');
  // It is an alert, and would be announced again.
  if (area.textContent === shown) return;
  area.textContent = shown;
  area.hidden = shown === '';
}

/** Announces a change that is visible on the page. */
export function announce(text) {
  status.textContent = text;
}

/** Announces something that may soon happen again. */
export function announceBriefly(text) {
  announce(text);
  setTimeout(() => {
    if (status.textContent === text) announce('');
  }, BRIEFLY);
}
