// Draws the charts of the overview with uPlot and refreshes them.

const { uPlot } = globalThis;

const everyMs = 10_000;
const height = 150;
const container = document.querySelector('.charts');
/** A canvas does not support `light-dark()`, so colours are read from the computed style of this element. */
const probe = document.body.appendChild(document.createElement('span'));
function colour(name) {
  probe.style.color = `var(${name})`;
  return getComputedStyle(probe).color;
}

const charts = {
  requests: {
    subject: 'Requests per second',
    read: ({ requests, failures }, seconds) => [requests / seconds, failures / seconds],
    series: [
      { label: 'all', stroke: '--series-1', fill: '--series-1-fill' },
      { label: '5xx', stroke: '--wrong', fill: '--wrong-fill' },
    ],
    format: (value) => (value >= 10 ? value.toFixed(0) : value.toFixed(1)),
  },
  durations: {
    subject: 'Duration in milliseconds',
    read: ({ p50, p99 }) => [p50 ?? null, p99 ?? null],
    series: [
      { label: 'median', stroke: '--series-1' },
      { label: '99th percentile', stroke: '--late' },
    ],
    format: (value) => (value >= 10 ? value.toFixed(0) : value.toFixed(1)),
  },
};

const timeOf = (seconds) => new Date(seconds * 1_000).toISOString().slice(11, 19);

/** Without a pointer the legend shows the latest step. */
function showLatest(plot) {
  if (plot.legend.idx == null) plot.setLegend({ idx: plot.data[0].length - 1 }, false);
}

function optionsOf({ series, format }, width) {
  const axis = {
    stroke: () => colour('--dim'),
    grid: { stroke: () => colour('--line'), width: 1 },
    ticks: { show: false },
  };
  return {
    width,
    height,
    tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1_000), 'Etc/UTC'),
    cursor: { y: false, drag: { x: false, y: false } },
    hooks: { setLegend: [showLatest] },
    scales: { y: { range: (_plot, _low, high) => [0, high > 0 ? high * 1.1 : 1] } },
    axes: [
      { ...axis, space: 70, size: 30, values: (_plot, ticks) => ticks.map((tick) => timeOf(tick).slice(0, 5)) },
      { ...axis, size: 52, space: 30, values: (_plot, ticks) => ticks.map(format) },
    ],
    series: [
      { label: 'UTC', value: (_plot, seconds) => (seconds == null ? '' : timeOf(seconds)) },
      ...series.map(({ label, stroke, fill }) => ({
        label,
        stroke: () => colour(stroke),
        ...(fill === undefined ? {} : { fill: () => colour(fill) }),
        width: 2,
        // Without points, a single step between two gaps would not be visible.
        points: { show: fill === undefined, size: 4 },
        value: (_plot, value) => (value == null ? '–' : format(value)),
      })),
    ],
  };
}

const plots = new Map();

function draw(name, data) {
  const figure = container.querySelector(`[data-chart=${name}]`);
  const plot = plots.get(name);
  if (plot === undefined) plots.set(name, new uPlot(optionsOf(charts[name], figure.clientWidth), data, figure));
  else plot.setData(data);
  showLatest(plots.get(name));
  const values = data.slice(1).map((column) => Math.max(0, ...column.filter((value) => value !== null)));
  const { subject, series, format } = charts[name];
  const text = series.map(({ label }, index) => `${format(values[index])} (${label})`);
  figure.querySelector('canvas').setAttribute('role', 'img');
  figure
    .querySelector('canvas')
    .setAttribute('aria-label', `${subject} in the last ten minutes: maximum ${text.join(', ')}`);
}

const isPaused = () => document.getElementById('pause').getAttribute('aria-pressed') === 'true';

async function update() {
  const query = new URLSearchParams({ route: container.dataset.route });
  const response = await fetch(`/status/activity?${query}`, { cache: 'no-store', signal: AbortSignal.timeout(10_000) });
  const { stepMs, steps } = await response.json();
  if (isPaused()) return;
  const now = Math.floor(Date.now() / stepMs) * stepMs;
  const times = steps.map((_, index) => (now - (steps.length - index) * stepMs) / 1_000);
  for (const [name, { read }] of Object.entries(charts)) {
    const columns = steps.map((step) => read(step, stepMs / 1_000));
    draw(name, [times, ...charts[name].series.map((_, index) => columns.map((values) => values[index]))]);
  }
}

async function follow() {
  // A hidden or paused page sends no requests; live.js says when the router does not respond.
  if (!document.hidden && !isPaused()) await update().catch(() => undefined);
  setTimeout(follow, everyMs);
}

new ResizeObserver(() => {
  for (const [name, plot] of plots)
    plot.setSize({ width: container.querySelector(`[data-chart=${name}]`).clientWidth, height });
}).observe(container);
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () =>
  plots.forEach((plot) => plot.redraw(false, true)),
);
follow();
