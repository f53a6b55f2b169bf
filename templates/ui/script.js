// Live updates, the filter of lists, and the keys of the search and of differences. Everything works without it.
"use strict";
(() => {
  const main = () => document.getElementById("main");
  const say = (text) => { document.getElementById("told").textContent = text; };

  // Filter: rows that lack a word are hidden while one types; Enter asks the server for all rows.
  const filter = () => {
    const field = main().querySelector("[data-filter]");
    if (!field || !field.dataset.typed) return;
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of main().querySelectorAll("[data-rows] > tbody > tr:not([data-group]), [data-row]")) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
      shown += row.hidden ? 0 : 1;
    }
    say(words.length ? `${shown} on this page` : "");
  };
  document.addEventListener("input", (event) => {
    if (!event.target.matches("[data-filter]")) return;
    event.target.dataset.typed = "1";
    filter();
  });

  // "j" and "k" go to the next and the last difference.
  const step = (by) => {
    const all = [...main().querySelectorAll("[data-step]")];
    const at = all.findIndex((one) => one.contains(document.activeElement));
    const next = all[at < 0 ? (by > 0 ? 0 : all.length - 1) : at + by];
    if (next) next.focus();
    return Boolean(next);
  };

  // "/" goes to the search, Escape leaves a field.
  document.addEventListener("keydown", (event) => {
    const types = event.target.matches("input, textarea, select");
    const is_plain = !types && !event.ctrlKey && !event.metaKey && !event.altKey;
    if (is_plain && (event.key === "j" || event.key === "k")) {
      if (step(event.key === "j" ? 1 : -1)) event.preventDefault();
    } else if (event.key === "/" && !types && !event.ctrlKey && !event.metaKey && !event.altKey) {
      const search = document.getElementById("search");
      if (!search) return;
      event.preventDefault();
      search.focus();
      search.select();
    } else if (event.key === "Escape" && types) {
      event.target.blur();
    }
  });

  // Live: on a message the page is fetched again, and its main part replaced.
  const events = document.body.dataset.live;
  if (!events) return;
  const PAUSE = 2000, MINUTE = 60000;
  let paused = false, waiting = false, busy = false, timer = 0, last = 0, seen = main().innerHTML;

  const focusable = "a[href], button, input, summary, [tabindex]";
  const place = () => {
    const at = document.activeElement;
    if (!at || !main().contains(at) || at === main()) return null;
    const key = at.getAttribute("href") || at.textContent;
    const same = [...main().querySelectorAll(focusable)].filter((one) => (one.getAttribute("href") || one.textContent) === key);
    const range = at.matches("input[type=search]") ? [at.selectionStart, at.selectionEnd] : null;
    return { id: at.id, key, nth: same.indexOf(at), range };
  };
  const restore = (kept) => {
    if (!kept) return;
    const all = [...main().querySelectorAll(focusable)];
    const same = all.filter((one) => (one.getAttribute("href") || one.textContent) === kept.key);
    const at = (kept.id && document.getElementById(kept.id)) || same[Math.min(kept.nth, same.length - 1)] || main();
    at.focus({ preventScroll: true });
    if (kept.range && at.setSelectionRange) at.setSelectionRange(...kept.range);
  };
  // What can be opened is known by what it is about, wherever it moves.
  const nameOf = (details) => {
    const about = (details.closest("li, tr, dd, section") || main()).querySelector("a[href]");
    return `${about ? about.getAttribute("href") : ""} ${details.querySelector("summary").textContent}`;
  };
  const opened = () => new Set([...main().querySelectorAll("details[open]")].map(nameOf));

  // Without ages, which change all the time.
  const text = (node) => {
    const copy = node.cloneNode(true);
    copy.querySelectorAll("time").forEach((one) => one.remove());
    return copy.textContent;
  };

  const replace = (page) => {
    const next = page.getElementById("main");
    if (!next) return;
    document.title = page.title;
    const made = page.querySelector("footer time"), shown = document.querySelector("footer time");
    if (made && shown) shown.replaceWith(made);
    if (next.innerHTML === seen) return;
    seen = next.innerHTML;
    const isNews = text(next) !== text(main());
    const kept = place(), open = opened(), field = main().querySelector("[data-filter]");
    const scrolls = [...main().querySelectorAll("pre, .graph, .pane")].map((one) => [one.scrollLeft, one.scrollTop]);
    const [x, y] = [scrollX, scrollY];
    main().replaceChildren(...next.childNodes);
    main().querySelectorAll("details").forEach((one) => { one.open = open.has(nameOf(one)); });
    [...main().querySelectorAll("pre, .graph, .pane")].forEach((one, n) => { if (scrolls[n]) [one.scrollLeft, one.scrollTop] = scrolls[n]; });
    const again = main().querySelector("[data-filter]");
    if (field && again && field.dataset.typed) {
      again.value = field.value;
      again.dataset.typed = "1";
      filter();
    }
    restore(kept);
    scrollTo(x, y);
    if (isNews) say(`Updated: ${document.title}`);
  };

  const update = async () => {
    // Nothing is taken away from somebody who marks text, and nothing is fetched for a page that nobody sees.
    const marks = getSelection() && !getSelection().isCollapsed && main().contains(getSelection().anchorNode);
    if (paused || busy || marks || document.hidden) { waiting = true; return; }
    const rest = last + PAUSE - Date.now();
    if (rest > 0) { later(rest); return; }
    [waiting, busy, last] = [false, true, Date.now()];
    try {
      const answer = await fetch(location.href, { credentials: "same-origin", headers: { Accept: "text/html" } });
      // Signed out: the server says what to do.
      if (answer.redirected || answer.status === 401 || answer.status === 403) { location.reload(); return; }
      if (answer.ok) replace(new DOMParser().parseFromString(await answer.text(), "text/html"));
      if (waiting) later(PAUSE);
    } catch {
      waiting = true; // until the stream is open again
    } finally {
      busy = false;
    }
  };
  const later = (rest) => { timer = timer || setTimeout(() => { timer = 0; update(); }, rest); };
  const retry = () => { if (waiting) update(); };
  document.addEventListener("visibilitychange", retry);
  document.addEventListener("selectionchange", retry);
  // Ages grow although nothing happens.
  setInterval(update, MINUTE);

  const state = document.getElementById("link-state"), pause = document.getElementById("pause");
  const stream = new EventSource(events);
  let missed = false;
  stream.onopen = () => { state.textContent = "live"; if (missed) update(); missed = false; };
  stream.onerror = () => { state.textContent = "not live"; missed = true; };
  stream.onmessage = update;
  pause.hidden = false;
  pause.addEventListener("click", () => {
    paused = !paused;
    pause.textContent = paused ? "Resume updates" : "Pause updates";
    retry();
  });
  addEventListener("pagehide", () => stream.close());
  addEventListener("pageshow", (event) => { if (event.persisted) location.reload(); });
})();
