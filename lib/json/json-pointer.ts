// Splits JSON pointers (RFC 6901).

/** Returns the unescaped steps of a JSON pointer: `['a/b', '0']` for `/a~1b/0`, and none for an empty pointer. */
export function stepsOfPointer(pointer: string): string[] {
  const steps = pointer.split('/').slice(1);
  return steps.map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
}
