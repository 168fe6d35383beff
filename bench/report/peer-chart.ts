// Draws the comparison with other systems as an SVG chart: a row per system, with a dot on a logarithmic axis in each
// panel.

import type { LoadResult, PeerResult } from '../peers/measure-peers.ts';
import { type LogScale, logScale } from './log-scale.ts';
import { busyLoadOf, loadsOf } from './peer-report.ts';
import { readable } from './tables.ts';

const width = 1_000;
const labelsWidth = 228;
const rowHeight = 26;
const top = 74;
const panelWidth = 246;
const panelGap = 10;
/** Space for the label of the rightmost dot, in pixels. */
const valueWidth = 70;

const legend = 'Filled dots: synchronised to disk (fsync) before the response. Logarithmic axes.';

/** The styles: grey, and one strong colour for the router. The browser selects the light or the dark variant. */
const style = `<style>
text { fill: #222; font: 13px sans-serif }
.small { fill: #666; font-size: 11px }
.head { font-weight: bold }
.grid { stroke: #ddd }
.dot { fill: #5b6b7b }
.line { stroke: #5b6b7b; stroke-width: 2 }
.dot { stroke: #5b6b7b; stroke-width: 2 }
.router.dot { fill: #d1490c; stroke: #d1490c }
.router.line { stroke: #d1490c }
text.router { fill: #b63d08; font-weight: bold }
.ground, .dot.open { fill: #fff }
@media (prefers-color-scheme: dark) {
text { fill: #e6e6e6 }
.small { fill: #a0a0a0 }
.grid { stroke: #3a3f46 }
.dot { fill: #9fb0c0; stroke: #9fb0c0 }
.line { stroke: #9fb0c0 }
.router.dot { fill: #ff8a50; stroke: #ff8a50 }
.router.line { stroke: #ff8a50 }
text.router { fill: #ff9c6b }
.ground, .dot.open { fill: #0d1117 }
}
</style>`;

interface Panel {
  readonly title: string;
  readonly load: number;
  read(result: LoadResult): number;
  /** Returns the value at the other end of the line that starts at the dot. */
  readUpper?(result: LoadResult): number;
}

/** @param caption when and where the results were measured */
export function peerChart(results: readonly PeerResult[], caption: string): string {
  const shown = results.filter(({ loads }) => loads.length > 0);
  const bottom = top + shown.length * rowHeight;
  const height = bottom + 80;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img">`,
    '<title>Latency, throughput and processor time of durable execution over HTTP, by system</title>',
    style,
    '<rect class="ground" width="100%" height="100%"/>',
    ...shown.map(({ title, isRouter }, index) =>
      text([labelsWidth - 16, yOf(index) + 4], title, `class="${isRouter ? 'router' : ''}" text-anchor="end"`),
    ),
    ...panelsOf(shown).map((panel, index) =>
      drawPanel(panel, shown, { left: labelsWidth + index * (panelWidth + panelGap), bottom }),
    ),
    text([16, height - 32], legend, 'class="small"'),
    text([16, height - 14], caption, 'class="small"'),
    '</svg>\n',
  ].join('\n');
}

function panelsOf(results: readonly PeerResult[]): Panel[] {
  const [least = 1] = loadsOf(results);
  const busy = busyLoadOf(results);
  return [
    {
      title: 'Latency, ms: p50 – p99',
      load: least,
      read: ({ figures }) => figures.p50,
      readUpper: ({ figures }) => figures.p99,
    },
    { title: 'Requests per second', load: busy, read: ({ figures }) => figures.requestsPerSecond },
    {
      title: 'Processor ms per request',
      load: busy,
      read: ({ figures }) => figures.processorMs['system'] ?? Number.NaN,
    },
  ];
}

interface Area {
  readonly left: number;
  readonly bottom: number;
}

function drawPanel(panel: Panel, results: readonly PeerResult[], { left, bottom }: Area): string {
  const points = results.map(({ loads, isRouter, isSynced }) => ({
    load: loads.find(({ inFlight }) => inFlight === panel.load),
    ...{ isRouter, isSynced },
  }));
  const values = points.flatMap(({ load }) =>
    load === undefined ? [] : [panel.read(load), panel.readUpper?.(load) ?? Number.NaN],
  );
  const x = logScale(values, { least: left, greatest: left + panelWidth - valueWidth });
  return [
    text([left, 28], panel.title, 'class="head"'),
    text([left, 46], `requests in flight: ${panel.load}`, 'class="small"'),
    ...x.ticks.filter(isDecade).map((tick) => drawTick(tick, x, bottom)),
    ...points.map(({ load, ...row }, index) =>
      load === undefined ? '' : drawRow(panel, load, { ...row, x, y: yOf(index) }),
    ),
  ].join('\n');
}

/** Returns true for a power of ten. Labels of other ticks would be too close to each other. */
function isDecade(tick: number): boolean {
  return Number.isInteger(Math.log10(tick));
}

function drawTick(tick: number, x: LogScale, bottom: number): string {
  const at = round(x.at(tick));
  const label = text([at, bottom + 18], tick.toLocaleString('en'), 'class="small" text-anchor="middle"');
  return `<line class="grid" x1="${at}" x2="${at}" y1="${top - 14}" y2="${bottom}"/>${label}`;
}

interface Row extends Pick<PeerResult, 'isRouter' | 'isSynced'> {
  readonly x: LogScale;
  readonly y: number;
}

/** Returns a dot, a line to the upper value, and the values beside them. */
function drawRow(panel: Panel, load: LoadResult, { x, y, isRouter, isSynced }: Row): string {
  const value = panel.read(load);
  if (!(value > 0)) return '';
  const upper = panel.readUpper?.(load);
  const at = round(x.at(value));
  const end = upper === undefined ? at : round(x.at(upper));
  const label = upper === undefined ? readable(value) : `${readable(value)} – ${readable(upper)}`;
  const kind = isRouter ? 'router ' : '';
  return [
    upper === undefined ? '' : `<line class="${kind}line" x1="${at}" x2="${end}" y1="${y}" y2="${y}"/>`,
    `<circle class="${kind}dot${isSynced ? '' : ' open'}" cx="${at}" cy="${y}" r="5"/>`,
    text([end + 9, y + 4], label, `class="${isRouter ? 'router' : 'small'}"`),
  ].join('');
}

function yOf(index: number): number {
  return top + index * rowHeight;
}

/** Returns a text element at the given distances from the left and the top, in pixels. */
function text([x, y]: readonly [number, number], content: string, attributes: string): string {
  const safe = content.replace(/[<&]/g, (sign) => (sign === '<' ? '&lt;' : '&amp;'));
  return `<text x="${round(x)}" y="${round(y)}" ${attributes}>${safe}</text>`;
}

function round(pixels: number): number {
  return Math.round(pixels * 10) / 10;
}
