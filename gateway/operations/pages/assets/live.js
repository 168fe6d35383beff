// Updates the status page: fetches its dynamic part every two seconds and replaces the old one.

const everyMs = 2_000;
const view = document.getElementById('view');
const live = document.getElementById('live');

async function update() {
  try {
    const response = await fetch('/status/view', { cache: 'no-store', signal: AbortSignal.timeout(10_000) });
    if (!response.ok) throw new Error(`status ${response.status}`);
    const fresh = new DOMParser().parseFromString(await response.text(), 'text/html');
    view.replaceChildren(...fresh.body.childNodes);
    live.textContent = `live: ${new Date().toLocaleTimeString()}`;
    live.className = '';
  } catch {
    live.textContent = 'the router does not respond; the values shown are old';
    live.className = 'wrong';
  }
}

async function follow() {
  // A hidden page sends no requests.
  if (!document.hidden) await update();
  setTimeout(follow, everyMs);
}

document.addEventListener('visibilitychange', () => {
  if (!document.hidden) update();
});
follow();
