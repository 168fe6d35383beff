// A progress line with a spinner. Plain JavaScript, since it runs before the installation.

/** Shortest time between two lines when the stream is not a terminal, in milliseconds. */
const quietMs = 10_000;

/**
 * @param {NodeJS.WriteStream} [stream] output stream; default standard error
 * @returns {{ show(line: string): void, clear(): void }} `show` replaces the line, or writes a changed line when the
 *   stream is not a terminal; `clear` removes the line
 */
export function createProgress(stream = process.stderr) {
  let shownAt = Date.now();
  if (!stream.isTTY) {
    let shown = '';
    return {
      show(line) {
        if (line === shown || Date.now() - shownAt < quietMs) return;
        shown = line;
        shownAt = Date.now();
        stream.write(`${line}\n`);
      },
      clear() {},
    };
  }
  const frames = '|/-\\';
  let frame = 0;
  return {
    show(line) {
      const text = `${line} ${frames[frame++ % frames.length]}`.slice(0, (stream.columns ?? 80) - 1);
      stream.write(`\r\u001b[2K${text}`);
    },
    clear() {
      stream.write('\r\u001b[2K');
    },
  };
}
