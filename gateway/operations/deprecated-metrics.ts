// Exposes metrics under their deprecated names too. A deprecated metric has the samples of the metric that replaced it.

/** The current name of each deprecated metric. */
export const deprecatedMetrics: Readonly<Record<string, string>> = {
  router_config_generations: 'router_config_snapshots',
  router_deferred_executions: 'router_async_executions',
  router_parked_polls: 'router_held_polls',
  router_version_out: 'router_version_removed',
  router_waits: 'router_completion_waiters',
};

/**
 * Appends the deprecated metrics to a scrape as copies of the current ones, so that both names always have the same
 * values.
 * @param text metrics in the Prometheus text format, each of which starts with its HELP line
 */
export function withDeprecatedMetrics(text: string): string {
  const families = text.split(/^(?=# HELP )/m);
  const copies = Object.entries(deprecatedMetrics).flatMap(([name, current]) => {
    const family = families.find((each) => each.startsWith(`# HELP ${current} `));
    return family === undefined ? [] : [renameFamily(family.trimEnd(), current, name)];
  });
  return [text.trimEnd(), ...copies].join('\n\n') + '\n';
}

function renameFamily(family: string, current: string, name: string): string {
  const [, ...lines] = family.split('\n');
  const renamed = lines.map((line) => line.replace(new RegExp(`^(# TYPE )?${current}\\b`), `$1${name}`));
  return [`# HELP ${name} Deprecated: the same as ${current}`, ...renamed].join('\n');
}
