// Keeps the status page up to date: fetches the part that changes and puts it in the place of the old one.

const everyMs = 2_000;
const view = document.getElementById('view');
const live = document.getElementById('live');

async function update() {
  try {
    const response = await fetch('/status/view', { cache: 'no-store', signal: AbortSignal.timeout(10_000) });
    if (!response.ok) throw new Error(`answered ${response.status}`);
    const fresh = new DOMParser().parseFromString(await response.text(), 'text/html');
    view.replaceChildren(...fresh.body.childNodes);
    live.textContent = `live: ${new Date().toLocaleTimeString()}`;
    live.className = '';
  } catch {
    live.textContent = 'the router does not answer; what is shown is old';
    live.className = 'wrong';
  }
}

async function follow() {
  // A page that nobody looks at asks nothing.
  if (!document.hidden) await update();
  setTimeout(follow, everyMs);
}

document.addEventListener('visibilitychange', () => {
  if (!document.hidden) update();
});
follow();
