// Writes the files of a new gateway from the template.

import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const template = fileURLToPath(new URL('./template', import.meta.url));

/** Name of the gateway in the template, which is itself a working gateway. */
const templateName = 'my-gateway';

/** npm leaves files with these names out of packages, so the template contains them without the leading dot. */
const dotFiles: Readonly<Record<string, string>> = { gitignore: '.gitignore' };

/**
 * Writes the files, which must not exist yet.
 * @param dependency value of `service-router` in the dependencies of package.json
 * @returns the written files, relative to the folder
 */
export function writeGateway(folder: string, name: string, dependency: string): string[] {
  const files = readdirSync(template, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(template, join(entry.parentPath, entry.name)));
  return files.toSorted().map((file) => {
    const text = readFileSync(join(template, file), 'utf8').replaceAll(templateName, name);
    const target = dotFiles[file] ?? file;
    mkdirSync(dirname(join(folder, target)), { recursive: true });
    writeFileSync(join(folder, target), file === 'package.json' ? withDependency(text, dependency) : text, {
      flag: 'wx',
    });
    return target;
  });
}

function withDependency(packageJson: string, dependency: string): string {
  const content = JSON.parse(packageJson) as Record<string, unknown>;
  return `${JSON.stringify({ ...content, dependencies: { 'service-router': dependency } }, null, 2)}\n`;
}
