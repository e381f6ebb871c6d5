// Alternative continuations of a conversation, which edited messages and regenerated answers create.
//
// `messages` is the shown branch. A message with alternatives has `branches`: one list of messages per alternative, which
// starts with the alternative itself. The entry of the shown branch is null.

/** Cuts the messages at `index` off. Returns the branches for the message that replaces the one at `index`. */
export function beginBranch(messages, index) {
  return [...cut(messages, index), null];
}

/** Shows another branch at the message at `index`. */
export function showBranch(messages, index, number) {
  const branches = cut(messages, index);
  const [first, ...rest] = branches[number];
  messages.push({ ...first, branches: branches.with(number, null) }, ...rest);
}

/** The index of the shown branch at a message, and the number of branches. */
export function branchPosition({ branches = [null] }) {
  return { shown: branches.indexOf(null), count: branches.length };
}

/** Cuts the messages at `index` off. Returns all branches there, including the one that was shown. */
function cut(messages, index) {
  const [{ branches = [null], ...first }, ...rest] = messages.splice(index);
  return branches.with(branches.indexOf(null), [first, ...rest]);
}
