// A second try for a server whose set-up failed, such as one whose free port was taken meanwhile. Tests have none.

/** Returns what `start` returns; a first failure is printed, a second one thrown. */
export async function withSecondTry<T>(server: string, start: () => Promise<T>): Promise<T> {
  try {
    return await start();
  } catch (error) {
    process.stderr.write(`set-up of ${server} failed, second try: ${String(error)}\n`);
    return start();
  }
}
