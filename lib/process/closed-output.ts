// Keeps a program running after its output has been closed.

/**
 * Discards output that is written after the pipe or terminal of this process was closed, as in `service-router … |
 * head`. By default, the write error would end the process midway.
 */
export function ignoreClosedOutput(): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE' && error.code !== 'EIO') throw error;
    });
  }
}
