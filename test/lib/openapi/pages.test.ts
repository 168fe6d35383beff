// Tests of the pages that need no token (/openapi.json, /docs and /problems): their content and their use of HTTP.

import { gunzipSync, brotliDecompressSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { problemKinds } from '#lib/problem/catalogue.ts';
import { type DescribedRouter, startDescribedRouter } from '../../gateway/local-router.ts';

let router: DescribedRouter;
beforeAll(async () => {
  router = await startDescribedRouter();
});
afterAll(() => router?.stop());

const codes = Object.keys(problemKinds);

describe('problem pages', () => {
  it.each(codes)('/problems/%s: a page with the title, what happened and what to do', async (code) => {
    const page = await router.ask(`/problems/${code}`, { headers: { accept: 'text/html' } });
    expect(page.status).toBe(200);
    expect(page.headers['content-type']).toBe('text/html; charset=utf-8');
    expect(page.text).toContain(`<h1>${problemKinds[code as keyof typeof problemKinds].title}</h1>`);
    expect(page.text).toContain('What happened');
    expect(page.text).toContain('What to do');
    expect(page.bytes.length).toBeLessThan(4_096);
  });

  it('the list contains exactly the problems that the code defines, sorted by status', async () => {
    const { problems } = (await router.ask('/problems', { headers: { accept: 'application/json' } })).json<{
      problems: { code: string; type: string; status: number }[];
    }>();
    const types = problems.map(({ type }) => type);
    expect(types.toSorted()).toEqual(codes.map((code) => `/problems/${code}`).sort());
    expect(problems.map(({ status }) => status)).toEqual(problems.map(({ status }) => status).sort());
    const html = (await router.ask('/problems')).text;
    expect([...html.matchAll(/href="(\/problems\/[\w-]+)"/g)].map(([, path]) => path)).toEqual(types);
    const text = (await router.ask('/problems', { headers: { accept: 'text/plain' } })).text;
    expect([...text.matchAll(/\/problems\/[\w-]+/g)].map(([path]) => path)).toEqual(types);
  });

  it.each([
    ['text/html', 'text/html; charset=utf-8'],
    ['*/*', 'text/html; charset=utf-8'],
    ['image/png', 'text/html; charset=utf-8'],
    ['application/json', 'application/json'],
    ['application/problem+json', 'application/json'],
    ['text/plain', 'text/plain; charset=utf-8'],
    ['text/plain;q=0.5, application/json', 'application/json'],
  ])('Accept: %s → %s, with Vary', async (accept, type) => {
    const { status, headers } = await router.ask('/problems/overloaded', { headers: { accept } });
    expect(status).toBe(200);
    expect(headers['content-type']).toBe(type);
    expect(headers['vary']).toMatch(/accept/i);
  });

  it('the type of a problem is the address of its page', async () => {
    const { type } = (await router.ask('/movies/x')).json<{ type: string }>();
    expect(new URL(type, `${router.url}/movies/x`).href).toBe(`${router.url}/problems/unauthorized`);
    expect((await router.ask(type)).status).toBe(200);
  });

  it.each(['/problems/nope', '/problems/__proto__', '/problems/overloaded/x', '/docs/package.json', '/docs/page.html'])(
    '%s → 404 not-found',
    async (path) => {
      const answer = await router.ask(path);
      expect(answer.status).toBe(404);
      expect(answer.json()).toMatchObject({ type: '/problems/not-found' });
    },
  );

  it.each(['/', '/openapi.json', '/docs', '/docs/start.js', '/problems', '/problems/overloaded'])(
    'POST and OPTIONS %s → 405 with Allow: GET, HEAD',
    async (path) => {
      for (const method of ['POST', 'OPTIONS']) {
        const answer = await router.ask(path, { method });
        expect(answer.status).toBe(405);
        expect(answer.headers['allow']).toBe('GET, HEAD');
      }
    },
  );
});

describe.each(['/openapi.json', '/docs', '/docs/swagger-ui-bundle.js', '/docs/page.css', '/problems/overloaded'])(
  '%s',
  (path) => {
    it('is served without a token, may be cached for a while, and forbids content sniffing', async () => {
      const { status, headers } = await router.ask(path);
      expect(status).toBe(200);
      expect(headers['cache-control']).toMatch(/^public, max-age=\d+$/);
      expect(headers['x-content-type-options']).toBe('nosniff');
      expect(headers['etag']).toMatch(/^"[\w-]+"$/);
    });

    it('If-None-Match with its ETag → 304 without a body; with another ETag → 200', async () => {
      const first = await router.ask(path);
      const headers = { 'if-none-match': String(first.headers['etag']) };
      const again = await router.ask(path, { headers });
      expect(again.status).toBe(304);
      expect(again.headers).not.toHaveProperty('content-length');
      expect(again.headers['etag']).toBe(first.headers['etag']);
      expect((await router.ask(path, { headers: { 'if-none-match': '"other"' } })).status).toBe(200);
    });

    it('HEAD → the header fields of GET, without a body', async () => {
      const headers = { 'accept-encoding': 'gzip' };
      const [get, head] = [await router.ask(path, { headers }), await router.ask(path, { method: 'HEAD', headers })];
      for (const name of ['etag', 'content-length', 'content-type', 'content-encoding', 'vary', 'cache-control'])
        expect(head.headers[name], name).toBe(get.headers[name]);
      expect(head.bytes).toHaveLength(0);
    });
  },
);

describe('codings', () => {
  it.each([
    ['br', (bytes: Buffer) => brotliDecompressSync(bytes)],
    ['gzip', (bytes: Buffer) => gunzipSync(bytes)],
  ])('%s: the same document, smaller, with its own ETag, which If-None-Match may name', async (coding, decode) => {
    const plain = await router.ask('/openapi.json');
    const answer = await router.ask('/openapi.json', { headers: { 'accept-encoding': coding } });
    expect(answer.headers['content-encoding']).toBe(coding);
    expect(answer.headers['vary']).toMatch(/accept-encoding/i);
    expect(decode(answer.bytes).equals(plain.bytes)).toBe(true);
    expect(answer.bytes.length).toBeLessThan(plain.bytes.length / 4);
    expect(answer.headers['etag']).not.toBe(plain.headers['etag']);
    const headers = { 'accept-encoding': coding, 'if-none-match': String(answer.headers['etag']) };
    expect((await router.ask('/openapi.json', { headers })).status).toBe(304);
  });
});

describe('the documentation page', () => {
  it.each(['GET', 'HEAD'])('%s / redirects to it', async (method) => {
    const answer = await router.ask('/', { method });
    expect([answer.status, answer.headers['location'], answer.bytes.length]).toEqual([302, '/docs', 0]);
    expect(answer.headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/);
  });

  it('has a Content-Security-Policy that allows no inline script or style, no eval and no other origin', async () => {
    const { headers, text } = await router.ask('/docs');
    const policy = String(headers['content-security-policy']);
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("script-src 'self';");
    expect(policy).toContain("style-src 'self';");
    expect(policy).not.toMatch(/unsafe|http|\*/);
    expect(text).not.toMatch(/<script>|<style|style=|https?:/);
  });

  it('router.docs=false → 404, and /openapi.json does not list the page; other pages remain', async () => {
    const silent = await startDescribedRouter({ ROUTER_DOCS: 'false' });
    try {
      expect((await silent.ask('/')).status).toBe(404);
      expect((await silent.ask('/docs')).status).toBe(404);
      expect((await silent.ask('/docs/start.js')).status).toBe(404);
      const { paths } = (await silent.ask('/openapi.json')).json<{ paths: Record<string, unknown> }>();
      expect(Object.keys(paths).filter((path) => path === '/' || path.startsWith('/docs'))).toEqual([]);
      expect((await silent.ask('/problems/overloaded')).status).toBe(200);
    } finally {
      await silent.stop();
    }
  });
});
