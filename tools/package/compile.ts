// Compiles the product for the package, because Node does not strip types below node_modules.

import { execFileSync } from 'node:child_process';
import { copyFileSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';

/**
 * Folders of the product that are compiled. Folders that only this repository needs (bench, deploy, test, tools) are
 * not in the package; `docs` is packed as it is.
 */
const folders = ['cli', 'dev', 'gateway', 'jobs', 'lib', 'plugins', 'workers'];

/** Files that the package leaves out: pages for readers of the repository, and stubs that are bundled as packages. */
const left = /\.md$|^gateway\/overrides\//;

/** The files of a new gateway are copied unchanged: they run in the gateway's own folder. */
const template = 'cli/commands/init/template/';

/**
 * Compiles the product into `dist/` below a checkout, with type declarations, and copies all other files. Paths in
 * `dist/` are those of the checkout, with `.js` in place of `.ts`.
 * @throws Error with the compiler's output when the types are wrong
 */
export function compilePackage(root: string): void {
  const [sources, dist] = [join(root, '.run/package'), join(root, 'dist')];
  for (const folder of [sources, dist]) rmSync(folder, { recursive: true, force: true });
  const files = globSync(`{${folders.join(',')}}/**/*`, { cwd: root, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(root, join(entry.parentPath, entry.name)));
  for (const file of files.filter((name) => name.startsWith(template) || !left.test(name))) {
    const isSource = file.endsWith('ts') && !file.startsWith(template);
    const target = join(isSource ? sources : dist, file);
    mkdirSync(dirname(target), { recursive: true });
    if (isSource) writeFileSync(target, withRelativeImports(readFileSync(join(root, file), 'utf8'), file));
    else copyFileSync(join(root, file), target);
  }
  compile(root, sources);
}

/** Returns the source with relative paths in place of `#lib/…`: the compiler rewrites only relative imports. */
function withRelativeImports(source: string, file: string): string {
  return source.replaceAll(/'#(lib\/[^']+)'/g, (_match, path: string) => {
    const target = relative(dirname(file), path);
    return `'${target.startsWith('.') ? target : `./${target}`}'`;
  });
}

function compile(root: string, sources: string): void {
  const project = join(sources, 'tsconfig.json');
  const compilerOptions = {
    noEmit: false,
    declaration: true,
    rewriteRelativeImportExtensions: true,
    rootDir: '.',
    outDir: join(root, 'dist'),
  };
  writeFileSync(
    project,
    JSON.stringify({ extends: '../../tsconfig.json', compilerOptions, include: ['.'], exclude: [] }),
  );
  const compiler = join(root, 'node_modules/@typescript/native/bin/tsc');
  try {
    execFileSync(process.execPath, [compiler, '-p', project], { encoding: 'utf8' });
  } catch (error) {
    throw new Error(`the package does not compile:\n${String((error as { stdout?: string }).stdout)}`, {
      cause: error,
    });
  }
}
