// Says what to write instead of names that only older gateway configurations use.

const policies: Readonly<Record<string, string>> = {
  admission:
    'admission control is part of the policy "workflow": remove "admission" here; its parameter backEndOf, if it has one, becomes admission: { backEndOf: … } in the action of "workflow"',
  compress:
    'compression is part of the policies "workflow" and "executions": remove "compress" here; its parameter overBytes, if it has one, becomes compress: { overBytes: … } in their action',
};

const packages: Readonly<Record<string, string>> = {
  './plugins/compression/index.ts': 'compression is part of the plugin "conductor": remove this plugin',
};

/** Returns what to write instead of a policy that a plugin used to provide; undefined for any other name. */
export function replacementOfPolicy(name: string): string | undefined {
  return policies[name];
}

/** Returns what to write instead of a plugin that no longer exists; undefined for any other package. */
export function replacementOfPackage(path: string): string | undefined {
  return packages[path];
}
