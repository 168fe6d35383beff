// Keeps a program running after its output was closed.

/**
 * Discards what is written after the pipe or the terminal of this process was closed, as in `service-router … | head`. By
 * default, the error would end the process midway.
 */
export function ignoreClosedOutput(): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE' && error.code !== 'EIO') throw error;
    });
  }
}
