// Replaces the generated parts of a page. Each part lies between two comments; the first comment names it.

const partPattern =
  /(?<begin><!-- generated: (?<name>[^(]+) \(npm run docs:reference\) -->).*?(?<end><!-- end of generated -->)/gs;

/**
 * Returns the text of a page with all its generated parts replaced.
 * @param page `file`: name for messages
 * @param parts the text of each part by its name
 * @throws Error when the page lacks one of the parts, or has one that is not in `parts`
 */
export function replaceGeneratedParts(
  { file, text }: { readonly file: string; readonly text: string },
  parts: Readonly<Record<string, string>>,
): string {
  const names = [...text.matchAll(partPattern)].map(({ groups }) => groups?.['name'] as string);
  const missing = Object.keys(parts).filter((name) => !names.includes(name));
  const unknown = names.filter((name) => !Object.hasOwn(parts, name));
  if (missing.length > 0)
    throw new Error(`${file} has no part "${missing.join('", "')}": add its comments, <!-- generated: … -->`);
  if (unknown.length > 0)
    throw new Error(`${file}: nothing generates the part "${unknown.join('", "')}": remove its comments`);
  return text.replace(partPattern, (...match) => {
    const { begin, name = '', end } = match.at(-1) as Record<string, string>;
    return `${begin}\n\n${parts[name]}\n\n${end}`;
  });
}
