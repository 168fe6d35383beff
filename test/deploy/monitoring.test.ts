// Tests of monitoring: the dashboard and the alert rules name only metrics and labels that a router has, and every
// alert has a runbook.

import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { anchorsOf, readPage, rootDir, sectionOf } from '../docs/pages.ts';
import { textOf } from './deployment-files.ts';
import { namedIn } from './promql.ts';
import { readRouterMetrics, type RouterMetric } from '../../tools/reference/metrics.ts';
import { requires } from '../run/requirements.ts';

interface Panel {
  title: string;
  type: string;
  gridPos: { x: number; y: number; w: number; h: number };
  targets?: { expr: string; legendFormat: string }[];
}

interface Rule {
  alert: string;
  expr: string;
  for: string;
  labels: Record<string, string>;
  annotations: { summary: string; runbook: string };
}

interface Pipeline {
  apiEndpoints: string[];
  policies: Record<string, unknown>[];
}

const dashboard = JSON.parse(textOf('deploy/grafana/service-router.json')) as {
  panels: Panel[];
  templating: { list: { name: string; definition?: string }[] };
};
const { groups } = parse(textOf('deploy/prometheus/alerts.yml')) as { groups: { name: string; rules: Rule[] }[] };
const rules = groups.flatMap((group) => group.rules);
const page = readPage('docs/how-to/alerts.md');

/** Labels that Prometheus adds to every series that it scrapes. */
const scrapeLabels = ['job', 'instance'];

let metrics: RouterMetric[];
let known: Map<string, ReadonlySet<string>>;
beforeAll(async () => {
  metrics = await readRouterMetrics();
  // Prometheus itself adds the series `up` for each scrape.
  known = new Map([...seriesOf(metrics), ['up', new Set<string>()]]);
});

/** Returns the labels of every series by its name, as Prometheus stores them. */
function seriesOf(metrics: readonly RouterMetric[]): Map<string, ReadonlySet<string>> {
  return new Map(
    metrics.flatMap(({ name, type, labels }) =>
      type === 'histogram'
        ? [
            [`${name}_bucket`, new Set([...labels, 'le'])] as const,
            [`${name}_sum`, new Set(labels)] as const,
            [`${name}_count`, new Set(labels)] as const,
          ]
        : [[name, new Set(labels)] as const],
    ),
  );
}

/** Returns the metrics and labels that an expression names but no program exports. */
function unknownIn(expression: string): string[] {
  const { series, grouping } = namedIn(expression);
  const all = new Set(scrapeLabels);
  const unknown: string[] = [];
  for (const { metric, labels } of series) {
    const own = known.get(metric);
    if (own === undefined) unknown.push(metric);
    for (const label of own ?? []) all.add(label);
    unknown.push(
      ...labels
        .filter((label) => !own?.has(label) && !scrapeLabels.includes(label))
        .map((label) => `${metric}{${label}}`),
    );
  }
  return [...unknown, ...grouping.filter((label) => !all.has(label))];
}

/** Replaces variables as Grafana does before it sends an expression to Prometheus. */
const withoutVariables = (expression: string) =>
  expression.replaceAll('$__rate_interval', '1m').replace(/\$\{?(\w+)\}?/g, 'x');

/** Returns the matchers of the label `route` in an expression. */
const routeMatchersOf = (expression: string) => expression.match(/\broute(?:=|!=|=~|!~)"[^"]*"/g) ?? [];

describe('the check of expressions', () => {
  it.each([
    ['sum by (route) (rate(router_http_requests_total{status="200"}[5m]))', []],
    ['router_no_such_metric', ['router_no_such_metric']],
    ['router_http_requests_total{stage="x"}', ['router_http_requests_total{stage}']],
    ['sum by (stage) (router_http_requests_total)', ['stage']],
    ['rate(router_http_request_duration_seconds_bucket{le="1"}[5m])', []],
    ['router_http_request_duration_seconds', ['router_http_request_duration_seconds']],
  ])('%s → %j', (expression, expected) => {
    expect(unknownIn(expression)).toEqual(expected);
  });

  it('text that is not PromQL is rejected', () => {
    expect(() => namedIn('sum(rate(x[5m])')).toThrow('not PromQL');
  });
});

describe('the dashboard', () => {
  const panels = dashboard.panels.filter(({ type }) => type !== 'row');

  it.each(panels.map((panel) => [panel.title, panel] as const))(
    '%s: names only metrics and labels that exist',
    (_title, { targets = [] }) => {
      expect(targets.length).toBeGreaterThan(0);
      for (const { expr } of targets) expect([expr, unknownIn(withoutVariables(expr))]).toEqual([expr, []]);
    },
  );

  it('every legend names a label that the result of its expression has', () => {
    for (const { targets = [] } of panels) {
      for (const { expr, legendFormat } of targets) {
        const kept = [...namedIn(withoutVariables(expr)).grouping, ...scrapeLabels];
        const named = [...legendFormat.matchAll(/\{\{(\w+)\}\}/g)].map(([, label]) => label);
        expect([expr, named.filter((label) => !kept.includes(String(label)))]).toEqual([expr, []]);
      }
    }
  });

  it('every variable that is used is defined, and queries a metric and a label that exist', () => {
    const defined = dashboard.templating.list.map(({ name }) => name);
    const used = new Set(
      [...JSON.stringify(dashboard.panels).matchAll(/\$\{?(?!__)(\w+)\}?/g)].map(([, name]) => name),
    );
    expect([...used].toSorted()).toEqual(defined.toSorted());
    for (const { definition } of dashboard.templating.list) {
      if (definition === undefined) continue;
      const [, selector = '', label = ''] = /^label_values\((.+), (\w+)\)$/.exec(definition) ?? [];
      const { series } = namedIn(withoutVariables(selector));
      expect([definition, unknownIn(withoutVariables(selector))]).toEqual([definition, []]);
      expect([...scrapeLabels, ...(known.get(series[0]?.metric ?? '') ?? [])]).toContain(label);
    }
  });

  it('both sides of a division count the same routes', () => {
    const divisions = panels
      .flatMap(({ targets = [] }) => targets.map(({ expr }) => expr.split(' / ')))
      .filter((sides) => sides.length > 1);
    expect(divisions.length).toBeGreaterThan(0);
    for (const [dividend = '', ...divisors] of divisions)
      for (const divisor of divisors)
        expect([divisor, routeMatchersOf(divisor)]).toEqual([divisor, routeMatchersOf(dividend)]);
  });

  it('no panels overlap', () => {
    const cells = dashboard.panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, cell) => `${x + (cell % w)},${y + Math.floor(cell / w)}`),
    );
    expect(new Set(cells).size).toBe(cells.length);
    expect(Math.max(...dashboard.panels.map(({ gridPos: { x, w } }) => x + w))).toBeLessThanOrEqual(24);
  });

  it('shows every metric of the router except redundant metrics', () => {
    const shown = new Set(
      panels.flatMap(({ targets = [] }) =>
        targets.flatMap(({ expr }) => namedIn(withoutVariables(expr)).series.map(({ metric }) => metric)),
      ),
    );
    const own = metrics.filter(({ name }) => name.startsWith('router_'));
    const hidden = own.filter(({ name, type }) => !shown.has(type === 'histogram' ? `${name}_bucket` : name));
    // Both are covered by other metrics: calls by a histogram, breaker states by a gauge.
    expect(hidden.map(({ name }) => name).toSorted()).toEqual([
      'router_breaker_transitions_total',
      'router_engine_calls_total',
    ]);
  });
});

describe('the alert rules', () => {
  it.each(rules.map((rule) => [rule.alert, rule] as const))(
    '%s names only metrics and labels that exist, and has a severity',
    (alert, rule) => {
      expect(unknownIn(rule.expr)).toEqual([]);
      expect(rule.for).toMatch(/^\d+m$/);
      expect(['page', 'ticket']).toContain(rule.labels['severity']);
      expect(rule.annotations.summary.length).toBeGreaterThan(20);
      expect(rule.annotations.runbook).toBe(`docs/how-to/alerts.md#${alert.toLowerCase()}`);
      expect(anchorsOf(page)).toContain(alert.toLowerCase());
    },
  );

  it.each(rules.map((rule) => [rule.alert, rule] as const))(
    '%s: its summary names only labels that its expression keeps',
    (_alert, rule) => {
      const kept = [...namedIn(rule.expr).grouping, ...(/\bby\b/.test(rule.expr) ? [] : scrapeLabels)];
      const named = [...rule.annotations.summary.matchAll(/\$labels\.(\w+)/g)].map(([, label]) => label);
      expect(named.filter((label) => !kept.includes(String(label)))).toEqual([]);
    },
  );

  it('RouterSlow ignores the routes on which a client may wait with a long poll', () => {
    const rule = rules.find(({ alert }) => alert === 'RouterSlow');
    const [, ignored] = /route!~"([^"]*)"/.exec(rule?.expr ?? '') ?? [];
    const { pipelines } = parse(textOf('gateway.config.yml')) as { pipelines: Record<string, Pipeline> };
    const followed = Object.values(pipelines).filter(({ policies }) => policies.some((step) => 'executions' in step));
    const routes = followed.flatMap(({ apiEndpoints }) => apiEndpoints);
    expect(routes).not.toEqual([]);
    expect(routes.filter((route) => !new RegExp(`^(?:${ignored})$`).test(route))).toEqual([]);
  });

  it('alerts.md has a runbook for each alert, and no other runbook', () => {
    const headings = [...page.text.matchAll(/^## (\w+)$/gm)].map(([, name]) => name);
    expect(headings.toSorted()).toEqual(rules.map(({ alert }) => alert).toSorted());
    for (const { alert } of rules)
      expect([alert, sectionOf(page, alert).text.trim().length > 150]).toEqual([alert, true]);
  });
});

describe('promtool', requires('promtool'), () => {
  const promtool = (...args: string[]) => spawnSync('promtool', args, { cwd: rootDir, encoding: 'utf8' });

  it('accepts the scrape configuration and the rules', () => {
    expect(promtool('check', 'config', 'deploy/prometheus/prometheus.yml')).toMatchObject({ status: 0, stderr: '' });
  });

  it('the rules fire when they should, and only then', () => {
    const { status, stdout, stderr } = promtool('test', 'rules', join('test', 'deploy', 'alerts.promtool.yml'));
    expect([status, stdout, stderr]).toEqual([0, expect.any(String), expect.any(String)]);
  });
});
