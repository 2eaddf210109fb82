// Sends forms without leaving the page, searches while typing, and replaces the live part when the store changes.
"use strict";

const find = (selector, from = document) => from.querySelector(selector);
const all = (selector, from = document) => [...from.querySelectorAll(selector)];
const live = find("#live");
const toast = find("#toast");
const token = find('meta[name="form-token"]')?.content;
const TEXT_FIELD = "textarea, input[type=text]";

// The token in the fragment works once. It leaves the address bar and the history at once.
if (find("#entry") && location.hash.length > 1) {
  const body = new URLSearchParams({ token: location.hash.slice(1) });
  history.replaceState(null, "", location.pathname);
  fetch("enter", { method: "POST", body }).then((answer) => {
    if (answer.ok) location.replace("search");
  });
}

let hideToast;
// Deletions that can still be undone, the last one at the end. Other messages keep its button.
let undoable = [];
function say(text, { wrong = false, undo = null, seconds = 30 } = {}) {
  clearTimeout(hideToast);
  toast.textContent = text;
  toast.classList.toggle("wrong", wrong);
  if (undo) undoable.push({ id: undo, until: performance.now() + 1000 * seconds });
  undoable = undoable.filter(({ until }) => until > performance.now());
  const last = undoable.at(-1);
  const left = last ? last.until - performance.now() : 0;
  if (last) {
    const button = document.createElement("button");
    button.textContent = toast.dataset.undo;
    button.addEventListener("click", () => act({ action: "undo", id: last.id }));
    toast.append(button);
  }
  hideToast = setTimeout(() => toast.replaceChildren(), Math.max(left, wrong ? 12000 : 4000));
}

let isActing = false;
async function act(fields) {
  if (isActing) {
    say(toast.dataset.busy, { wrong: true });
    return false;
  }
  isActing = true;
  try {
    const answer = await fetch("do", {
      method: "POST",
      headers: { "x-jikime-form": token },
      body: new URLSearchParams(fields),
    });
    const text = await answer.text();
    if (fields.action === "undo") undoable = undoable.filter(({ id }) => id !== fields.id);
    if (!answer.ok) {
      say(text, { wrong: true });
      return false;
    }
    const done = JSON.parse(text);
    say(done.message, done);
    // Texts that are still being written are based on what was just saved.
    const isSame = ({ form, value }) => value === fields.seen && form.elements.id?.value === fields.id;
    if (done.seen) all("input[name=seen]").filter(isSame).forEach((field) => (field.value = done.seen));
    return true;
  } catch {
    say(toast.dataset.gone, { wrong: true });
    return false;
  } finally {
    isActing = false;
  }
}

// Whether replacing the live part would throw away what a person writes.
function isWriting() {
  const first = ({ options }) => Math.max(0, [...options].findIndex((option) => option.defaultSelected));
  return (
    all(TEXT_FIELD, live).some((field) => field.value !== field.defaultValue) ||
    all("select", live).some((choice) => choice.selectedIndex !== first(choice))
  );
}
addEventListener("beforeunload", (event) => live && isWriting() && event.preventDefault());

// Identifies a field or a button, so that the focus stays with it and never moves to another memory.
function identity(element) {
  const form = element.closest("form");
  // The checkbox of a task closes it and then opens it again.
  const changing = form?.matches(".check") ? ["action", "seen"] : ["seen", "seen_other"];
  const fields = form ? all("input[type=hidden]", form).filter(({ name }) => !changing.includes(name)) : [];
  const about = fields.map(({ value }) => value).join(" ") || element.getAttribute("href") || element.textContent;
  return [element.tagName, element.type, element.name, element.dataset.key, about].join("|");
}
const FOCUSABLE = "a, button, input, select, textarea, summary";

// Since when the first candidate of a review is shown. Keys act on it only after somebody could read it.
let firstSince = -Infinity;
const READING_MS = 400;

// The text field in which somebody may be typing. If it is replaced or closed meanwhile, what is typed on is no shortcut.
let typedIn = null;
document.addEventListener("focusin", ({ target }) => (typedIn = target.matches(TEXT_FIELD) ? target : null));
document.addEventListener("pointerdown", () => (typedIn = null));

let running;
async function refresh() {
  running?.abort();
  const mine = (running = new AbortController());
  const url = new URL(location);
  url.searchParams.set("part", "1");
  try {
    const answer = await fetch(url, { signal: mine.signal });
    const text = await answer.text();
    if (mine.signal.aborted || isWriting()) return;
    if (answer.ok) replaceLive(text);
    else if (answer.status === 404) live.textContent = text;
    else say(text, { wrong: true });
  } catch (error) {
    if (error.name !== "AbortError") say(toast.dataset.gone, { wrong: true });
  }
}

function replaceLive(text) {
  const name = (part) => find("summary", part).textContent + (find("input[name=id]", part)?.value ?? "");
  const open = all("details", live).filter((part) => part.open).map(name);
  const active = document.activeElement;
  const focused = live.contains(active) ? identity(active) : null;
  const selection = focused && active.matches(TEXT_FIELD) ? [active.selectionStart, active.selectionEnd, active.selectionDirection] : null;
  const loaded = new Map(all("[data-loaded]", live).map((part) => [part.dataset.load, part.innerHTML]));
  const first = find(".candidate", live)?.textContent;
  live.innerHTML = text;
  if (find(".candidate", live)?.textContent !== first) firstSince = performance.now();
  all("details", live).forEach((part) => (part.open ||= open.includes(name(part))));
  const again = focused && all(FOCUSABLE, live).find((part) => identity(part) === focused);
  again?.focus({ preventScroll: true });
  if (selection) again?.setSelectionRange(...selection);
  loadParts(loaded);
}

// Parts that take longer come after the rest, and once.
async function loadParts(loaded = new Map()) {
  for (const part of all("[data-load]")) {
    part.dataset.loaded = "";
    const known = loaded.get(part.dataset.load);
    const answer = known === undefined ? await fetch(part.dataset.load).catch(() => null) : null;
    if (known !== undefined) part.innerHTML = known;
    else if (answer?.ok) part.innerHTML = await answer.text();
  }
  if (find("[data-again]")) setTimeout(refresh, 500);
}
if (live) loadParts();

document.addEventListener("submit", async (event) => {
  const form = event.target;
  event.preventDefault();
  if (form.matches(".search")) return searchNow(form);
  const written = all(TEXT_FIELD, form);
  const sent = written.map((field) => field.value);
  if (await act(Object.fromEntries(new FormData(form)))) {
    written.forEach((field, number) => {
      const value = field.value;
      field.defaultValue = sent[number];
      field.value = value;
    });
    // The choices are saved as well.
    all("select", form).forEach((choice) => [...choice.options].forEach((option) => (option.defaultSelected = option.selected)));
    if (isWriting()) return;
    form.closest("details.form")?.removeAttribute("open");
    await refresh();
  } else if (form.matches(".check")) form.reset();
});

document.addEventListener("change", (event) => {
  if (event.target.matches("[data-submit]")) event.target.form.requestSubmit();
});

document.addEventListener("click", async (event) => {
  if (event.target.closest("button[data-sure]") && !confirm(toast.dataset.sure)) event.preventDefault();
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  await navigator.clipboard.writeText(find(button.dataset.copy).textContent);
  say(toast.dataset.copied);
});

// Search while typing, also while a Korean syllable is being composed.
let typing;
function searchNow(form) {
  clearTimeout(typing);
  const fields = [...new FormData(form)].filter(([, value]) => value !== "");
  history.replaceState(null, "", location.pathname + (fields.length ? "?" + new URLSearchParams(fields) : ""));
  const summary = find("summary", form);
  if (summary) summary.toggleAttribute("data-active", fields.some(([name]) => name !== "q"));
  return refresh();
}
for (const form of all(".search")) {
  form.addEventListener("input", (event) => {
    clearTimeout(typing);
    // The filters that are texts apply when they are complete.
    if (event.target.type !== "text") typing = setTimeout(() => searchNow(form), 15);
  });
  form.addEventListener("change", () => searchNow(form));
}

// Keys: / to search, arrows or j and k through a list, letters for a review, Escape to go back.
document.addEventListener("keydown", (event) => {
  if (typedIn && !typedIn.checkVisibility()) {
    if (event.key === "Escape") typedIn = null;
    return;
  }
  // A held key presses a button once.
  if (event.repeat && event.key === "Enter" && event.target.closest("button")) event.preventDefault();
  if (event.isComposing || event.repeat || event.ctrlKey || event.metaKey || event.altKey || !live) return;
  const field = event.target.closest("input:not([type=checkbox]), textarea, select");
  // The letter on the key, also with a Korean layout.
  const key = /^Key[A-Z]$/.test(event.code) ? event.code.at(-1).toLowerCase() : event.key;
  const items = all(".memories a.text, .sessions a.text, .tasks a.text", live);
  const at = items.indexOf(document.activeElement);
  const move = (to) => {
    event.preventDefault();
    to?.focus();
  };
  if (field && field.id !== "q") return;
  if (field) {
    if (event.key === "ArrowDown" || event.key === "Escape") move(items[0]);
  } else if (event.key === "/") {
    event.preventDefault();
    find("#q") ? find("#q").select() : location.assign("search");
  } else if (event.key === "Escape") {
    history.back();
  } else if (key === "j" || (event.key === "ArrowDown" && at >= 0)) {
    if (items.length) move(items[Math.min(at + 1, items.length - 1)]);
  } else if ((key === "k" || event.key === "ArrowUp") && at >= 0) {
    move(at === 0 && find("#q") ? find("#q") : items[Math.max(at - 1, 0)]);
  } else {
    const button = all(".candidate [data-key]", live).find((one) => one.dataset.key === key);
    if (button && !isActing && performance.now() - firstSince > READING_MS) {
      event.preventDefault();
      button.click();
    }
  }
});

if (live) {
  // A deletion can be undone on every page.
  const { undoId, undoSeconds, deleted } = toast.dataset;
  if (undoId) say(deleted, { undo: undoId, seconds: Number(undoSeconds) });

  // One message for each change of the store. Browsers allow six connections to a server, so one page listens for all.
  let waiting;
  const changed = () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => isWriting() || refresh(), 300);
  };
  const name = location.pathname.split("/")[1];
  const pages = new BroadcastChannel(name);
  pages.addEventListener("message", changed);
  const listen = () => {
    const events = new EventSource("events");
    events.addEventListener("change", () => {
      changed();
      pages.postMessage("change");
    });
    // The lock is held until the page is closed.
    return new Promise(() => {});
  };
  navigator.locks.request(name, listen);
  // The year ends at the right.
  all(".map").forEach((map) => (map.scrollLeft = map.scrollWidth));
}
