// Hides the credentials of a URL.

/** Masks credentials in URLs such as `https://user:password@host`. */
export function withoutPassword(value: string): string {
  // A password may contain an @ (the last one ends it, URL Standard) or a comma.
  return value.replace(/\/\/[^/?#\s"]*@/g, '//********@');
}
