// Tests that lib/envelope/ produces the results of the examples in docs/reference/envelope.md, except the
// encrypted one.

import { describe, expect, it } from 'vitest';
import { decodeBody, encodeBody } from '#lib/envelope/body.ts';
import { escapeExpressions, unescapeExpressions } from '#lib/envelope/expressions.ts';
import { failureCodes, parseFailure } from '#lib/envelope/failure.ts';
import { pickHeaders, requestHeaderFilter } from '#lib/envelope/headers.ts';
import { createInbound, readInbound, type Inbound } from '#lib/envelope/inbound.ts';
import { createOutbound, readOutbound, type Outbound } from '#lib/envelope/outbound.ts';
import { decodeText, encodeText } from '#lib/envelope/text.ts';
import { codeBlocksOf, type Page, readPage, rowsOf, sectionOf } from './pages.ts';

const page = readPage('docs/reference/envelope.md');
const jsonOf = (section: Page) => {
  const block = codeBlocksOf(section).find(({ language }) => language === 'json');
  return JSON.parse(block?.text ?? '') as unknown;
};

/** Returns the request of the page's first example, as a server reads it. */
function exampleRequest() {
  const { text } = codeBlocksOf(page).find(({ language }) => language === 'http')!;
  const [head = '', body = ''] = text.trimEnd().split('\n\n');
  const [requestLine = '', ...lines] = head.split('\n');
  const [httpMethod = '', target = ''] = requestLine.split(' ');
  const [path = '', query] = target.split('?');
  const headers = Object.fromEntries(lines.map((line) => line.split(': ', 2) as [string, string]));
  return { httpMethod, path, query, headers, body: Buffer.from(body) };
}

describe('envelope.md', () => {
  it('the example request → the example inbound', () => {
    const { path, headers, ...request } = exampleRequest();
    const documented = jsonOf(sectionOf(page, 'Inbound')) as Inbound;
    const { params, requestId, clientId, route } = documented;
    const inbound = createInbound({
      ...request,
      path: path.replace('/adaptor/001', ''),
      headers: pickHeaders(headers, requestHeaderFilter()),
      params,
      requestId,
      clientId,
      route,
    });
    expect(inbound).toEqual(documented);
    expect(readInbound(documented).body).toEqual(request.body);
  });

  it('every field of an inbound has a row', () => {
    const documented = rowsOf(sectionOf(page, 'Inbound')).flatMap(([names = '']) => names.match(/\w+/g) ?? []);
    const fields = [...Object.keys(jsonOf(sectionOf(page, 'Inbound')) as Inbound), 'escaped'];
    expect(documented.toSorted()).toEqual(fields.toSorted());
  });

  it('the example outbound → status, headers and bytes, and back', () => {
    const documented = jsonOf(sectionOf(page, 'Outbound')) as Outbound;
    const answer = readOutbound(documented);
    expect(answer).toMatchObject({ status: 200, headers: { 'content-type': 'application/json' } });
    expect(createOutbound(answer)).toEqual(documented);
  });

  it.each(rowsOf(sectionOf(page, 'Body encodings')).filter(([sent = '']) => sent.startsWith('"')))(
    'body %s: %s %s',
    (sent, bodyEncoding, body) => {
      const bytes = Buffer.from(JSON.parse(sent) as string);
      expect(encodeBody(bytes)).toEqual({ body, bodyEncoding });
      expect(decodeBody(encodeBody(bytes))).toEqual(bytes);
    },
  );

  it.each(rowsOf(sectionOf(page, 'Keys of a person')))('the key %s travels as %s', (sent, travels) => {
    const text = JSON.parse(sent!) as string;
    const encoded = encodeText(text);
    expect(JSON.stringify(encoded)).toBe(travels);
    expect(typeof encoded === 'string' ? encoded : decodeText(encoded.json)).toBe(text);
  });

  it.each(rowsOf(sectionOf(page, 'The escaping rule')))('%s is escaped as %s', (plain, escaped) => {
    expect(escapeExpressions(plain!)).toBe(escaped);
    expect(unescapeExpressions(escaped!)).toBe(plain);
  });

  it('the page lists exactly the failure codes of lib/envelope/, and its example parses to a code and a text', () => {
    const section = sectionOf(page, 'When there is no response');
    expect(rowsOf(section).map(([code]) => code)).toEqual(expect.arrayContaining([...failureCodes]));
    expect(rowsOf(section)).toHaveLength(failureCodes.length);
    const example = /Example: `(.*)`/.exec(section.text)?.[1];
    expect(parseFailure(example)).toEqual({
      code: 'back-end-timeout',
      text: 'no response within 20000 ms; the change may have been applied',
    });
  });
});
