// Verifies large files in the user's cache by digest, and records the result so that later checks are cheap.

import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readFile, rm, stat, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';

/** A file in the cache with its expected size and digest. */
export interface CachedFile {
  readonly fileName: string;
  readonly bytes: number;
  readonly sha256: string;
}

/** Returns this product's cache folder: below XDG_CACHE_HOME, else `~/.cache` or, on macOS, `~/Library/Caches`. */
export function cacheFolder(
  env: NodeJS.ProcessEnv = process.env,
  platform: NodeJS.Platform = process.platform,
): string {
  const home = env['HOME'] ?? homedir();
  const usual = platform === 'darwin' ? join(home, 'Library/Caches') : join(home, '.cache');
  return join(env['XDG_CACHE_HOME'] || usual, 'service-router');
}

/** Returns true when the file was verified before and its size and modification time have not changed since. */
export async function isStamped(path: string, file: CachedFile): Promise<boolean> {
  try {
    const stamp = await readFile(`${path}.stamp`, 'utf8');
    return stamp === stampOf(await stat(path), file);
  } catch {
    return false;
  }
}

/**
 * Verifies the digest of a file and writes a stamp beside it.
 * @throws Error that names both digests when they differ; the file is removed, so that the next start downloads it
 */
export async function verifyAndStamp(path: string, file: CachedFile): Promise<void> {
  const digest = await digestOf(path);
  if (digest !== file.sha256) {
    const { size } = await stat(path);
    await rm(path);
    throw new Error(
      `${file.fileName} has the wrong content and was removed: start again to download it again.\n` +
        `  expected ${file.bytes} bytes, sha256 ${file.sha256}\n  got      ${size} bytes, sha256 ${digest}`,
    );
  }
  await writeFile(`${path}.stamp`, stampOf(await stat(path), file));
}

/** Returns the SHA-256 digest of a file in hexadecimal. */
export async function digestOf(path: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(path, { highWaterMark: 1024 * 1024 })) hash.update(chunk as Buffer);
  return hash.digest('hex');
}

function stampOf({ size, mtimeMs }: { size: number; mtimeMs: number }, { sha256 }: CachedFile): string {
  return `${sha256} ${size} ${mtimeMs}\n`;
}
