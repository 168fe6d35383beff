// Draws the results as an SVG chart: latency and throughput against the load, both on logarithmic axes.

import type { Figures } from '../measure/figures.ts';
import type { Result } from '../measure/measure.ts';
import { type LogScale, logScale } from './log-scale.ts';

/** Colours that colour-blind readers can distinguish; the router has the most prominent one. */
const colours: Readonly<Record<string, string>> = {
  direct: '#8a8a8a',
  proxy: '#0a8f6c',
  floor: '#111111',
  router: '#d1490c',
  'sdk-default': '#1f6fb5',
  execute: '#a8508a',
};

const size = { width: 1_000, height: 480 };
const plot = { top: 64, bottom: 410, width: 340, labels: 84 };
/** Horizontal distance between the marks of neighbouring targets, in pixels, so that they do not hide each other. */
const dodge = 5;
/** Minimum distance between two labels, in pixels. */
const labelHeight = 14;

interface Panel {
  readonly title: string;
  readonly left: number;
  read(figures: Figures): number;
  /** Returns the value at the far end of the thin line above a mark. */
  readUpper?(figures: Figures): number;
}

const panels: readonly Panel[] = [
  { title: 'Latency in ms: p50, thin line up to p99', left: 62, read: ({ p50 }) => p50, readUpper: ({ p99 }) => p99 },
  { title: 'Requests per second', left: 560, read: ({ requestsPerSecond }) => requestsPerSecond },
];

/** @param caption when and where the results were taken */
export function chart(results: readonly Result[], caption: string): string {
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${size.width} ${size.height}" role="img" font-family="sans-serif" font-size="12" fill="#222">`,
    `<title>Latency and requests per second over requests in flight</title>`,
    `<rect width="100%" height="100%" fill="#fff"/>`,
    ...panels.map((panel) => drawPanel(panel, results)),
    text([62, size.height - 14], caption, 'font-size="10" fill="#666"'),
    '</svg>\n',
  ].join('\n');
}

function drawPanel(panel: Panel, results: readonly Result[]): string {
  const loads = [...new Set(results.map(({ inFlight }) => inFlight))].sort((a, b) => a - b);
  const values = results.flatMap(({ figures }) => [panel.read(figures), panel.readUpper?.(figures) ?? Number.NaN]);
  const y = logScale(values, { least: plot.bottom, greatest: plot.top });
  const step = (plot.width - 60) / Math.max(1, loads.length - 1);
  const xOf = (inFlight: number) => panel.left + 30 + loads.indexOf(inFlight) * step;
  const targets = [...new Set(results.map(({ target }) => target))];
  const lines = targets
    .map((target, index) => {
      const shift = (index - (targets.length - 1) / 2) * dodge;
      return { target, points: pointsOf(target, panel, { results, y, xOf: (inFlight) => xOf(inFlight) + shift }) };
    })
    .filter(({ points }) => points.length > 0);
  return [
    text([panel.left, 32], panel.title, 'font-size="15" font-weight="bold"'),
    ...y.ticks.map((tick) => drawTick(panel, tick, y)),
    ...loads.map((load) => text([xOf(load), plot.bottom + 20], String(load), 'text-anchor="middle"')),
    text([panel.left + plot.width / 2, plot.bottom + 40], 'requests in flight', 'text-anchor="middle" fill="#555"'),
    ...lines.map(({ target, points }) => drawLine(target, points)),
    ...drawLabels(panel.left + plot.width + 6, lines),
  ].join('\n');
}

interface Point {
  readonly x: number;
  readonly y: number;
  readonly upper: number | undefined;
}

function pointsOf(
  target: string,
  panel: Panel,
  { results, y, xOf }: { results: readonly Result[]; y: LogScale; xOf: (inFlight: number) => number },
): Point[] {
  return results
    .filter((result) => result.target === target && panel.read(result.figures) > 0)
    .sort((a, b) => a.inFlight - b.inFlight)
    .map(({ inFlight, figures }) => {
      const upper = panel.readUpper?.(figures);
      const ends = { y: y.at(panel.read(figures)), upper: upper === undefined ? undefined : y.at(upper) };
      return { x: xOf(inFlight), ...ends };
    });
}

function drawTick({ left }: Panel, tick: number, y: LogScale): string {
  const at = round(y.at(tick));
  const isDecade = Number.isInteger(Math.log10(tick));
  return [
    `<line x1="${left}" x2="${left + plot.width}" y1="${at}" y2="${at}" stroke="${isDecade ? '#bbb' : '#eee'}"/>`,
    text([left - 8, at + 4], tick.toLocaleString('en'), `text-anchor="end" fill="${isDecade ? '#222' : '#888'}"`),
  ].join('');
}

function drawLine(target: string, points: readonly Point[]): string {
  const colour = colours[target];
  const width = target === 'router' ? 3 : 1.5;
  const path = points.map(({ x, y }, index) => `${index === 0 ? 'M' : 'L'}${round(x)} ${round(y)}`).join('');
  const marks = points.map(({ x, y, upper }) => {
    const mark = `<circle cx="${round(x)}" cy="${round(y)}" r="${width + 1.5}" fill="${colour}"/>`;
    if (upper === undefined) return mark;
    return `${mark}<path d="M${round(x)} ${round(y)}V${round(upper)}m-3 0h6" stroke="${colour}" fill="none"/>`;
  });
  return `<path d="${path}" stroke="${colour}" stroke-width="${width}" fill="none"/>${marks.join('')}`;
}

/** Labels at the ends of the lines, moved down where they would overlap. */
function drawLabels(x: number, lines: readonly { target: string; points: readonly Point[] }[]): string[] {
  const ends = lines.map(({ target, points }) => ({ target, y: points.at(-1)?.y ?? 0 })).sort((a, b) => a.y - b.y);
  let lowest = Number.NEGATIVE_INFINITY;
  return ends.map(({ target, y }) => {
    lowest = Math.max(y + 4, lowest + labelHeight);
    return text([x, lowest], target, `fill="${colours[target]}"${target === 'router' ? ' font-weight="bold"' : ''}`);
  });
}

/** @param at pixels from the left and from the top */
function text([x, y]: readonly [number, number], content: string, attributes: string): string {
  const safe = content.replace(/[<&]/g, (sign) => (sign === '<' ? '&lt;' : '&amp;'));
  return `<text x="${round(x)}" y="${round(y)}" ${attributes}>${safe}</text>`;
}

function round(pixels: number): number {
  return Math.round(pixels * 10) / 10;
}
