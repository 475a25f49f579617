// What assistive technology and weak eyes need: a name for all that can be used, an alternative for each picture,
// one element for each id, and a contrast of 4.5 to 1 for text on a plain ground. Returns what is amiss.
() => {
  const faults = [];
  const seen = (e) => e.checkVisibility({ visibilityProperty: true, opacityProperty: true }) && e.getClientRects().length;
  const said = (e) => [e.ariaLabel, e.textContent, e.alt, e.title, e.getAttribute("placeholder"), e.labels?.[0]?.textContent,
    e.querySelector("img[alt]")?.alt]
    .find((text) => text?.trim());
  for (const e of document.querySelectorAll("a[href], button, input, select, [role=option], [role=listbox], dialog, nav, aside")) {
    if (seen(e) && !said(e)) faults.push(`no name: ${e.outerHTML.slice(0, 120)}`);
  }
  for (const e of document.querySelectorAll("img:not([alt])")) faults.push(`no alternative: ${e.src}`);
  const ids = [...document.querySelectorAll("[id]")].map((e) => e.id);
  for (const id of new Set(ids)) if (ids.filter((other) => other === id).length > 1) faults.push(`twice: #${id}`);
  for (const e of document.querySelectorAll("[tabindex]")) if (e.tabIndex > 0) faults.push(`order of tabs: ${e.className}`);
  const parts = (text) => { const [r, g, b, a = 1] = text.match(/[\d.]+/g).map(Number); return [r, g, b, a]; };
  const light = ([r, g, b]) => [r, g, b].map((c) => c / 255).map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  for (const e of document.querySelectorAll("body *")) {
    const own = [...e.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    if (!own || !seen(e) || e.disabled || e.closest(".visually-hidden, .skip-link, noscript")) continue;
    let ground = null;
    const veils = []; // colours that let through what is below
    for (let up = e; up && !ground; up = up.parentElement) {
      const style = getComputedStyle(up);
      if (style.backgroundImage !== "none") break;
      const colour = style.backgroundColor.startsWith("rgb") ? parts(style.backgroundColor) : [0, 0, 0, 0];
      if (colour[3] === 1) ground = colour;
      else if (colour[3] > 0) veils.push(colour);
    }
    if (!ground) continue; // on a picture
    for (const [r, g, b, a] of veils.reverse()) ground = [r, g, b].map((c, i) => a * c + (1 - a) * ground[i]);
    const [a, b] = [light(ground), light(parts(getComputedStyle(e).color))];
    const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (contrast < 4.5) faults.push(`contrast ${contrast.toFixed(2)}: ${e.outerHTML.slice(0, 120)}`);
  }
  return faults;
}
