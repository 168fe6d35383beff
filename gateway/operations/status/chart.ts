// Small charts of one route's activity as inline SVG, without inline styles (the page's CSP forbids them).

import { type ActivityStep, stepMs } from './activity.ts';
import { Html, html } from './html.ts';
import { formatMs, formatRate } from './format.ts';

const width = 236;
const height = 36;

/** Returns a bar chart of requests per second; failures have another colour. */
export function rateChart(steps: readonly ActivityStep[]): Html {
  const seconds = stepMs / 1_000;
  const most = Math.max(...steps.map(({ requests }) => requests));
  const label = `Requests a second in the last ten minutes, at most ${formatRate(most / seconds)}`;
  const step = width / steps.length;
  const bar = (kind: string, index: number, { from, to }: { from: number; to: number }) => {
    const y = (value: number) => height - (value / most) * height;
    const x = (index * step).toFixed(1);
    return `<rect class="${kind}" x="${x}" y="${y(to).toFixed(1)}" width="${(step - 0.8).toFixed(1)}" height="${(y(from) - y(to)).toFixed(1)}"/>`;
  };
  const bars = steps.map(({ requests, failures }, index) => {
    if (requests === 0) return '';
    const good = bar('good', index, { from: failures, to: requests });
    return failures === 0 ? good : good + bar('bad', index, { from: 0, to: failures });
  });
  return chart(label, bars.join(''));
}

/** Returns a line chart of the median and the 99th percentile, with gaps where there were no requests. */
export function latencyChart(steps: readonly ActivityStep[]): Html {
  const most = Math.max(...steps.map(({ p99 = 0 }) => p99));
  const label = `Median and 99th percentile in the last ten minutes, at most ${formatMs(most)}`;
  const line = (which: 'p50' | 'p99') => {
    let path = '';
    let isOpen = false;
    steps.forEach((step, index) => {
      const value = step[which];
      if (value === undefined) return void (isOpen = false);
      const x = ((index + 0.5) * width) / steps.length;
      const y = height - 1 - (value / most) * (height - 2);
      // The extra `h.1` makes a line of one point visible: its stroke has round ends.
      path += isOpen ? `L${x.toFixed(1)} ${y.toFixed(1)}` : `M${x.toFixed(1)} ${y.toFixed(1)}h.1`;
      isOpen = true;
    });
    return `<path class="${which}" d="${path}"/>`;
  };
  return chart(label, most === 0 ? '' : line('p99') + line('p50'));
}

function chart(label: string, drawing: string): Html {
  return html`<svg class="chart" viewBox="0 0 ${width} ${height}" role="img" aria-label="${label}">
    <title>${label}</title>
    <path class="base" d="M0 ${height - 0.5}H${width}" />
    ${new Html(drawing)}
  </svg>`;
}
