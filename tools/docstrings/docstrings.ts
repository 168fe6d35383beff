// Finds files without an opening comment, and exported declarations whose docstring is missing or only repeats the
// name.

import ts from 'typescript';

/** A source file to check. */
export interface SourceText {
  /** Path that findings name. */
  readonly path: string;
  readonly text: string;
}

/** A file without an opening comment, or a declaration whose docstring is missing or only repeats its name. */
export interface Finding {
  readonly path: string;
  /** Line in the file, from 1. */
  readonly line: number;
  /** Name of the declaration; `Class.method` for a method, `file` for the whole file. */
  readonly name: string;
  readonly problem: Problem;
}

type Problem = 'has no opening comment' | 'has no docstring' | 'has a docstring that only repeats its name';

interface Declaration {
  readonly name: string;
  readonly node: ts.Node;
}

/** Words that add nothing to a name. */
const filler = new Set(
  'a an and are as at be by for from get in is it its of on or return set that the this to with'.split(' '),
);

/**
 * Returns every file that does not open with a comment, and every declaration that lacks a docstring: exported
 * functions, classes, interfaces, types and constants, and the public methods and accessors of exported classes. The
 * docstring of a method may instead be in the base class or in an implemented interface. An interface that is in none
 * of the files belongs to a package, which documents it. Declarations that are exported by a list (`export { … }`) are
 * not found.
 */
export function findUndocumented(files: readonly SourceText[]): Finding[] {
  const sources = files.map(({ path, text }) => ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true));
  const interfaces = new Map(
    sources.flatMap((source) =>
      source.statements.filter(ts.isInterfaceDeclaration).map((node) => [node.name.text, node]),
    ),
  );
  return sources.flatMap((source) => {
    const declarations = source.statements.filter(isExported).flatMap((node) => declarationsOf(node, interfaces));
    const documented = new Set(declarations.filter(({ node }) => docstring(node) !== '').map(({ name }) => name));
    const opening: Finding[] = /^(?:\/\/|\/\*) ?\S/.test(source.text)
      ? []
      : [{ path: source.fileName, line: 1, name: 'file', problem: 'has no opening comment' }];
    const undocumented = declarations.flatMap(({ name, node }): Finding[] => {
      const text = docstring(node);
      // One docstring is enough for all overloads of a function.
      if (text === '' && documented.has(name)) return [];
      if (text !== '' && !repeatsName(text, name)) return [];
      const line = source.getLineAndCharacterOfPosition(node.getStart()).line + 1;
      const problem = text === '' ? 'has no docstring' : 'has a docstring that only repeats its name';
      return [{ path: source.fileName, line, name, problem }];
    });
    return [...opening, ...undocumented];
  });
}

function isExported(node: ts.Statement): boolean {
  return hasModifier(node, ts.SyntaxKind.ExportKeyword);
}

function hasModifier(node: ts.Node, kind: ts.SyntaxKind): boolean {
  return ts.canHaveModifiers(node) && (ts.getModifiers(node) ?? []).some((modifier) => modifier.kind === kind);
}

function declarationsOf(node: ts.Statement, interfaces: ReadonlyMap<string, ts.InterfaceDeclaration>): Declaration[] {
  if (ts.isVariableStatement(node)) {
    return node.declarationList.declarations.map((declared) => ({ name: declared.name.getText(), node: declared }));
  }
  if (ts.isClassDeclaration(node)) {
    const name = node.name?.text ?? 'default';
    const members = node.members.filter(
      (member) => isPublicMethod(member) && !isDocumentedAbove(member, node, interfaces),
    );
    return [{ name, node }, ...members.map((member) => ({ name: `${name}.${memberName(member)}`, node: member }))];
  }
  if (ts.isFunctionDeclaration(node) || ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node)) {
    return [{ name: node.name?.text ?? 'default', node }];
  }
  return [];
}

function isPublicMethod(member: ts.ClassElement): boolean {
  return (
    (ts.isMethodDeclaration(member) || ts.isAccessor(member)) &&
    !ts.isPrivateIdentifier(member.name) &&
    !hasModifier(member, ts.SyntaxKind.PrivateKeyword) &&
    !hasModifier(member, ts.SyntaxKind.ProtectedKeyword)
  );
}

/**
 * Returns true when the member overrides another member, or an implemented interface has a docstring for the member.
 */
function isDocumentedAbove(
  member: ts.ClassElement,
  node: ts.ClassDeclaration,
  interfaces: ReadonlyMap<string, ts.InterfaceDeclaration>,
): boolean {
  if (hasModifier(member, ts.SyntaxKind.OverrideKeyword)) return true;
  const clause = node.heritageClauses?.find(({ token }) => token === ts.SyntaxKind.ImplementsKeyword);
  return (clause?.types ?? []).some(({ expression }) => {
    const declared = interfaces.get(expression.getText());
    if (declared === undefined) return true;
    return declared.members.some((other) => memberName(other) === memberName(member) && docstring(other) !== '');
  });
}

function memberName(member: ts.ClassElement | ts.TypeElement): string {
  return member.name?.getText() ?? '';
}

/** Returns the text and tags of the docstring; empty when there is none. */
function docstring(node: ts.Node): string {
  return ts
    .getJSDocCommentsAndTags(node)
    .filter(ts.isJSDoc)
    .map((comment) =>
      comment
        .getText()
        .replace(/^\/\*\*|\*\/$/g, '')
        .replace(/^\s*\*/gm, ''),
    )
    .join('\n')
    .trim();
}

function repeatsName(text: string, name: string): boolean {
  const named = new Set(words(name.replace(/([a-z\d])([A-Z])/g, '$1 $2')));
  return words(text).every((word) => named.has(word) || filler.has(word));
}

/** Returns the words of a string in lower case, without a final `s`: `reads` repeats `read`. */
function words(text: string): string[] {
  return (text.toLowerCase().match(/[a-z\d]+/g) ?? []).map((word) => word.replace(/s$/, '') || word);
}
