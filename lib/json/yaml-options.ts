// The options with which the YAML files of an operator are parsed.

/**
 * Options of `parse` and `toJS` of the package `yaml`. The limit on aliases is that of each anchor, and an alias within an
 * aliased value counts once for each use of that value: it bounds the size of the result, while the default of 100 is
 * too small for anchors that many routes use.
 */
export const yamlOptions = { merge: true, maxAliasCount: 10_000 } as const;
