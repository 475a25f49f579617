// The mouse drawn over pictures: a range from the first to the one under the pointer. Near an edge the list scrolls.

const FAR = 8; // pixels: less is a click
const EDGE = 40;
const SPEED = 0.3; // of the distance to the edge, a frame

/** `at(x, y)` is the index of the picture at a point, or -1; `begin(i, event)` is called once, `to(i)` for every new end. */
export function dragRange(element, { at, begin, to }) {
  let begun = null;
  let frame = 0;

  const stop = () => {
    cancelAnimationFrame(frame);
    frame = 0;
    if (begun?.moved) { // the click that follows is no click
      const none = (event) => event.stopPropagation();
      addEventListener("click", none, { capture: true, once: true });
      setTimeout(() => removeEventListener("click", none, { capture: true }), 0);
    }
    begun = null;
  };
  const range = (event) => {
    const { left, right, top, bottom } = element.getBoundingClientRect();
    const i = at(Math.min(right - 1, Math.max(left, event.clientX)), Math.min(bottom - 1, Math.max(top, event.clientY)));
    if (i >= 0 && i !== begun.last) { begun.last = i; to(i); }
  };
  const scroll = (event) => {
    const { top, bottom } = element.getBoundingClientRect();
    const by = Math.min(0, event.clientY - top - EDGE) + Math.max(0, event.clientY - bottom + EDGE);
    cancelAnimationFrame(frame);
    frame = by ? requestAnimationFrame(() => { element.scrollTop += by * SPEED; range(event); scroll(event); }) : 0;
  };

  element.addEventListener("pointerdown", (event) => {
    const from = event.pointerType === "mouse" && event.button === 0 && !event.shiftKey ? at(event.clientX, event.clientY) : -1;
    begun = from < 0 ? null : { from, last: -1, x: event.clientX, y: event.clientY, moved: false };
  });
  element.addEventListener("pointermove", (event) => {
    if (!begun) return;
    if (!begun.moved && Math.hypot(event.clientX - begun.x, event.clientY - begun.y) < FAR) return;
    if (!begun.moved) { begun.moved = true; element.setPointerCapture(event.pointerId); begin(begun.from, event); }
    range(event);
    scroll(event);
  });
  element.addEventListener("pointerup", stop);
  element.addEventListener("pointercancel", stop);
}
