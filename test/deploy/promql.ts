// Finds the metrics and labels that a PromQL expression names, with the grammar of Prometheus itself.

import { parser } from '@prometheus-io/lezer-promql';

export interface NamedSeries {
  readonly metric: string;
  readonly labels: readonly string[];
}

export interface NamedInQuery {
  readonly series: readonly NamedSeries[];
  /** Labels of `by`, `without`, `on` and the like, which may belong to any series of the expression. */
  readonly grouping: readonly string[];
}

/**
 * Returns the metrics and labels that an expression names.
 * @throws Error when the expression is not valid PromQL
 */
export function namedIn(expression: string): NamedInQuery {
  const series: { metric: string; labels: string[] }[] = [];
  const grouping: string[] = [];
  let isGrouping = false;
  parser.parse(expression).iterate({
    enter({ name, from, to, type }) {
      const text = expression.slice(from, to);
      if (type.isError) throw new Error(`not PromQL at ${from}: ${expression}`);
      if (name === 'GroupingLabels') isGrouping = true;
      if (name === 'VectorSelector') series.push({ metric: '', labels: [] });
      const current = series.at(-1);
      if (name === 'Identifier' && current !== undefined) current.metric = text;
      if (name === 'LabelName') (isGrouping ? grouping : (current?.labels ?? [])).push(text);
    },
    leave({ name }) {
      if (name === 'GroupingLabels') isGrouping = false;
    },
  });
  return { series, grouping };
}
