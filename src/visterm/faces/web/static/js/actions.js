// The actions of this window that hold, the newest last. They are kept when the page is loaded again.

const OWN = "own-actions";
const MOST = 500;

let own = JSON.parse(sessionStorage.getItem(OWN) || "[]");

function keep(actions) {
  own = actions.slice(-MOST);
  sessionStorage.setItem(OWN, JSON.stringify(own));
}

/** Remembers what was done in this window: an answer of the server that names its action. */
export function decided(answer) {
  if (answer?.action) keep([...own.filter((one) => one !== answer.action), answer.action]);
}

/** An action holds no longer. */
export const forgotten = (action) => keep(own.filter((one) => one !== action));

export const lastOwn = () => own.at(-1);
