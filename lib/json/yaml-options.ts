// Options for parsing an operator's YAML files.

/**
 * Options of `parse` and `toJS` of the `yaml` package. `maxAliasCount` limits the number of aliases of each anchor. An
 * alias within an aliased value counts once for each use of that value, so the limit also bounds the size of the
 * result. The default of 100 is too small for anchors that many routes use.
 */
export const yamlOptions = { merge: true, maxAliasCount: 10_000 } as const;
