// Renders a problem type, or the list of all problem types, as HTML, JSON and plain text.

import { createHash } from 'node:crypto';
import { type ProblemCode, type ProblemKind, problemKinds } from '#lib/problem/catalogue.ts';
import { type ProblemExplanation, problemExplanations } from '#lib/problem/explanations.ts';
import { problemType } from '#lib/problem/problem.ts';
import { StaticResponse, type StaticContent } from './static-response.ts';

/** A page in each format that a client may request, by media type. */
export type ProblemPage = Readonly<Record<'text/html' | 'application/json' | 'text/plain', StaticResponse>>;

const maxAgeSeconds = 60;

const style =
  'body{max-width:42rem;margin:3rem auto;padding:0 1rem;font:1rem/1.5 system-ui,sans-serif;color:#1f2933}' +
  'h1{font-size:1.5rem;line-height:1.25}h2{font-size:1.1rem;margin-top:2rem}code{background:#eef1f4;padding:.1em .3em;border-radius:3px}' +
  'dt{margin-top:.75rem}dd{margin:0}.status{color:#52606d}@media(prefers-color-scheme:dark){body{background:#14181d;color:#e4e7eb}' +
  'code{background:#2a3038}.status{color:#9aa5b1}a{color:#8ab4f8}}';

const contentSecurityPolicy = `default-src 'none'; style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;

/** Every problem code of the router. The code is the last segment of a problem's `type` (RFC 9457 section 3.1.1). */
export const problemCodes = Object.keys(problemKinds) as ProblemCode[];

/** A problem with the texts of its page. */
interface ProblemDescription extends ProblemKind, ProblemExplanation {
  readonly type: string;
  readonly code: ProblemCode;
  readonly meaning: string;
}

/**
 * Returns the content of a problem's page: `type`, `title` and `status` (RFC 9457 section 3.1), what happened, and what
 * to do.
 */
export function describeProblem(code: ProblemCode): ProblemDescription {
  return {
    type: problemType(code),
    code,
    ...problemKinds[code],
    ...problemExplanations[code],
    meaning: meaningOf(code),
  };
}

/** Renders the page of one problem. The `type` of its problem documents links to it (RFC 9457 section 3.1.1). */
export function createProblemPage(code: ProblemCode): ProblemPage {
  const { title, status, happened, advice, meaning } = describeProblem(code);
  const sentence = `${advice[0]?.toUpperCase()}${advice.slice(1)}.`;
  const html = [
    `<p class="status">${status} · <code>${code}</code></p>`,
    `<h1>${escape(title)}</h1>`,
    `<h2>What happened</h2><p>${escape(happened)}</p>`,
    `<h2>What to do</h2><p>${withCode(sentence)}</p><p>${escape(meaning)}</p>`,
    `<p><a href="/problems">All problems</a></p>`,
  ].join('\n');
  const text = [`${title} (${status}, ${code})`, `What happened: ${happened}`, `What to do: ${sentence}`, meaning].join(
    '\n\n',
  );
  return createPage(title, { html, text, json: describeProblem(code) });
}

/** Renders the list of all problems, ordered by status. */
export function createProblemList(): ProblemPage {
  const all = problemCodes.map(describeProblem).sort((one, other) => one.status - other.status);
  const items = all.map(
    ({ type, code, status, title }) =>
      `<dt><a href="${type}"><code>${code}</code></a> <span class="status">${status}</span></dt><dd>${escape(title)}</dd>`,
  );
  const html = `<h1>Problems</h1>\n<p>The types of the problem documents (RFC 9457) that the router itself sends. For errors that have a code in RFC 6749, section 5.2, the OAuth token endpoint sends that code instead.</p>\n<dl>\n${items.join('\n')}\n</dl>`;
  const text = all.map(({ type, status, title }) => `${status}  ${type}  ${title}`).join('\n');
  return createPage('Problems', { html, text, json: { problems: all } });
}

/** Explains what the status of a problem guarantees; all problems with the same status have the same text. */
function meaningOf(code: ProblemCode): string {
  const { status } = problemKinds[code];
  if (status === 503) return '503 means that no write was started: the same request may be sent again.';
  if (status === 504)
    return '504 means that the outcome is not known, unless the problem says otherwise: check it before you repeat a write.';
  return status < 500
    ? 'The request that got this response was not carried out.'
    : 'Unless the problem says otherwise, check whether a write was applied before you repeat it.';
}

function createPage(title: string, { html, text, json }: { html: string; text: string; json: object }): ProblemPage {
  const document = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escape(title)} · Service Router</title>
<style>${style}</style>
</head>
<body>
${html}
</body>
</html>
`;
  const create = (content: Omit<StaticContent, 'maxAgeSeconds'>) =>
    new StaticResponse({ ...content, maxAgeSeconds, headers: { vary: 'accept', ...content.headers } });
  return {
    'text/html': create({
      contentType: 'text/html; charset=utf-8',
      body: document,
      headers: { 'content-security-policy': contentSecurityPolicy },
    }),
    'application/json': create({ contentType: 'application/json', body: JSON.stringify(json) }),
    'text/plain': create({ contentType: 'text/plain; charset=utf-8', body: `${text}\n` }),
  };
}

function escape(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

/** Escapes text for HTML and renders the parts between backquotes as code. */
function withCode(text: string): string {
  return escape(text).replace(/`([^`]+)`/g, '<code>$1</code>');
}
