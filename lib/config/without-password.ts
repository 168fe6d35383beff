// Hides the credentials of a URL.

/** Masks credentials in URLs such as `https://user:password@host`. */
export function withoutPassword(value: string): string {
  // Everything up to the last @ is masked: a password may contain an @ or a comma (URL Standard) and, in a malformed
  // URL, any character.
  return value.replace(/\/\/\S*@/g, '//********@');
}
