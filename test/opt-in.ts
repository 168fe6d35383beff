// Suites that fetch or need what not every machine has: skipped unless asked for, and never in silence.

/**
 * Whether such a suite is to run; when it is not, one line on standard error says how to enable it.
 * @param variable environment variable that must be `1`
 * @param what the suite, for people
 * @param how the command that runs it
 */
export function isAskedFor(variable: string, what: string, how: string): boolean {
  const asked = process.env[variable] === '1';
  if (!asked) process.stderr.write(`skipped: ${what}. Run it with: ${how}\n`);
  return asked;
}
