// Hides the credentials of a URL.

/** Masks credentials in URLs such as `https://user:password@host`. */
export function withoutPassword(value: string): string {
  return value.replace(/\/\/[^/@\s]+@/g, '//********@');
}
