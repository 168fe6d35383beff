// Quotes words of shell commands that the CLI prints.

/** Returns a word for a POSIX shell, in single quotes if it contains characters that have a meaning in the shell. */
export function quote(word: string): string {
  return /^[\w./@%+=:,-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;
}
