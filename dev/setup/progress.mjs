// A line on the terminal that moves while something takes long; off a terminal, a new line at most every ten seconds. Plain JavaScript, for it runs before anything is installed.

/** Off a terminal, a moving line would fill the log. */
const quietMs = 10_000;

/**
 * @param {NodeJS.WriteStream} [stream] where to write; default standard error
 * @returns {{ show(line: string): void, clear(): void }} `show` replaces the line, and off a terminal writes it unless it
 *   is the same as before; `clear` takes it away
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
