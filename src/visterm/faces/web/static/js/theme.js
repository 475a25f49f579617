// Light or dark: as the system wishes, unless the person has chosen.

const wish = matchMedia("(prefers-color-scheme: dark)");

function show() {
  const chosen = localStorage.getItem("theme");
  document.documentElement.dataset.theme = chosen || (wish.matches ? "dark" : "light");
}

export function startTheme() {
  wish.addEventListener("change", show);
  show();
}

export function toggleTheme() {
  const now = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
  if ((now === "dark") === wish.matches) localStorage.removeItem("theme");
  else localStorage.setItem("theme", now);
  show();
}
