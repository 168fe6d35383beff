// Refreshes the content of a page: fetches it and changes only what differs, so that focus, selection and charts stay.

const view = document.getElementById('view');
const live = document.getElementById('live');
const renewed = document.getElementById('renewed');
const pause = document.getElementById('pause');
const everyMs = Number(view.dataset.every);
let isPaused = false;

/** A screen reader announces each change of the status text, so unchanged text is not written again. */
function say(text, kind = '') {
  if (live.textContent !== text) live.textContent = text;
  live.className = kind;
}

/** Makes `old` equal to `fresh`. Elements with `data-keep` are left as they are. */
function morph(old, fresh) {
  if (old.nodeType !== fresh.nodeType || old.nodeName !== fresh.nodeName) return old.replaceWith(fresh);
  if (old.nodeType !== Node.ELEMENT_NODE) {
    if (old.nodeValue !== fresh.nodeValue) old.nodeValue = fresh.nodeValue;
    return;
  }
  if (isKept(old)) return;
  for (const { name } of [...old.attributes])
    if (!fresh.hasAttribute(name) && name !== 'open') old.removeAttribute(name);
  for (const { name, value } of fresh.attributes) if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  morphChildren(old, fresh);
}

const isKept = (node) => node.nodeType === Node.ELEMENT_NODE && node.hasAttribute('data-keep');

/** Pairs children by position, except elements with `data-keep`, which are paired with each other. */
function morphChildren(old, fresh) {
  const before = [...old.childNodes];
  for (const node of [...fresh.childNodes]) {
    if (isKept(node) && before.some(isKept)) while (!isKept(before[0])) before.shift().remove();
    if (before.length === 0 || isKept(node) !== isKept(before[0])) old.insertBefore(node, before[0] ?? null);
    else morph(before.shift(), node);
  }
  before.forEach((node) => node.remove());
}

/** Returns false when no further change is expected. */
async function update() {
  try {
    const response = await fetch(view.dataset.from, { cache: 'no-store', signal: AbortSignal.timeout(15_000) });
    if (!response.ok && response.headers.get('content-type') !== 'text/html; charset=utf-8')
      throw new Error(`status ${response.status}`);
    const isLast = response.headers.get('refresh-ended') === 'true';
    const fresh = new DOMParser().parseFromString(await response.text(), 'text/html').body;
    // Paused while the request was in flight.
    if (isPaused) return true;
    morphChildren(view, fresh);
    say(isLast ? 'last updated' : 'live');
    renewed.textContent = `${new Date().toISOString().slice(11, 19)} UTC`;
    pause.hidden = isLast;
    return !isLast;
  } catch {
    if (!isPaused) say('the router does not respond; the values shown are old', 'wrong');
    return true;
  }
}

async function follow() {
  // A hidden page sends no requests.
  if (!document.hidden && !isPaused && !(await update())) return;
  setTimeout(follow, everyMs);
}

pause.hidden = false;
pause.addEventListener('click', () => {
  isPaused = !isPaused;
  pause.setAttribute('aria-pressed', String(isPaused));
  say(isPaused ? 'paused' : 'live');
});
follow();
