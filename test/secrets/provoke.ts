// Requests that the router rejects before an execution exists, with marked credentials and personal values.

import { encode } from '../plugins/oauth2/forge.ts';
import { call, type CallOptions, type RouterAnswer } from '../stack/client.ts';
import { sendRaw } from '../wire/raw-client.ts';
import type { Markers } from './markers.ts';

/** A response and its request. */
export interface Exchange {
  readonly what: string;
  readonly answer: Pick<RouterAnswer, 'status' | 'headers' | 'text'>;
}

const form = { 'content-type': 'application/x-www-form-urlencoded' };
const json = { 'content-type': 'application/json' };

/**
 * Sends every kind of request that is rejected before an execution exists.
 * @param token a valid token, which must not leak
 */
export async function provokeRefusals(url: string, token: string, markers: Markers): Promise<Exchange[]> {
  const { credential, personal } = markers;
  const path = `/movies/${personal('title')}`;
  const bearer = `Bearer ${token}`;
  const header = { alg: 'RS256', typ: 'at+jwt', kid: 'x' };
  const forged = [header, { sub: personal('sub') }, credential('signature')].map(encode).join('.');
  const basic = Buffer.from(`demo:${credential('basic')}`).toString('base64');
  const requests: [what: string, path: string, options: CallOptions][] = [
    ['a text that is no token', path, { headers: { authorization: `Bearer ${credential('token')}` } }],
    ['a forged token', path, { headers: { authorization: `Bearer ${forged}` } }],
    ['a token with a tail', path, { headers: { authorization: `${bearer}.${credential('tail')}` } }],
    ['another scheme', path, { headers: { authorization: `Digest ${credential('digest')}` } }],
    ['a token in the query', `${path}?access_token=${credential('query')}`, {}],
    ['two tokens', path, { headers: { authorization: [bearer, `Bearer ${credential('second')}`] } }],
    ['no token', `${path}?q=${personal('query')}`, { headers: { cookie: `sid=${credential('cookie')}` } }],
    ['an unknown path', `/nowhere/${personal('path')}`, { headers: { authorization: bearer } }],
    ['a wrong method', path, { method: 'PUT', headers: { authorization: bearer }, body: personal('body') }],
    ['an unknown college', `/adaptor/${personal('mis')}/x`, { headers: { authorization: bearer } }],
    ['dot segments', `/movies/..%2f${personal('dots')}`, { headers: { authorization: bearer } }],
    ['a broken escape', `/movies/${personal('escape')}%zz`, { headers: { authorization: bearer } }],
    [
      'a body that is too large',
      `/adaptor/001/mock/echo/${personal('large')}`,
      {
        method: 'POST',
        headers: { ...json, authorization: bearer },
        body: Buffer.alloc(300_000, `${personal('large')} `),
      },
    ],
    ['a wrong secret', '/token/v1/token', grant('demo', credential('secret'))],
    ['an unknown client', '/token/v1/token', grant('nobody', credential('nobody'))],
    ['a wrong Basic secret', '/token/v1/token', grantWith({ ...form, authorization: `Basic ${basic}` })],
    ['a secret twice', '/token/v1/token', grant('demo', `${credential('a')}&client_secret=${credential('b')}`)],
    ['a secret in the URL', `/token/v1/token?client_secret=${credential('url')}`, grant('demo', credential('form'))],
    [
      'a password',
      '/token/v1/token',
      {
        method: 'POST',
        headers: form,
        body: `grant_type=password&username=${personal('user')}&password=${credential('password')}`,
      },
    ],
    [
      'a wrong worker secret',
      '/conductor/api/token',
      { method: 'POST', headers: json, body: `{"keyId":"worker","keySecret":"${credential('key')}"}` },
    ],
    [
      'a wrong worker token',
      '/conductor/api/tasks/poll/batch/movies_intake',
      { headers: { 'x-authorization': credential('worker') } },
    ],
  ];
  const exchanges: Exchange[] = [];
  for (const [what, target, options] of requests)
    exchanges.push({ what, answer: await call(`${url}${target}`, options) });
  const raw = `GET ${path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${credential('raw')}\r\n`;
  exchanges.push(
    { what: 'two hosts', answer: await rawCall(url, `${raw}Host: b\r\n\r\n`) },
    { what: 'a malformed header', answer: await rawCall(url, `${raw}${personal('header')}\r\n\r\n`) },
    {
      what: 'headers that are too large',
      answer: await rawCall(url, `${raw}X: ${personal('header').repeat(2_000)}\r\n\r\n`),
    },
    {
      what: 'an absolute target',
      answer: await rawCall(url, raw.replace('GET ', `GET http://${personal('host')}/`) + '\r\n'),
    },
  );
  return exchanges;
}

const grantWith = (headers: Record<string, string>): CallOptions => ({
  method: 'POST',
  headers,
  body: 'grant_type=client_credentials',
});

const grant = (client: string, secret: string): CallOptions => ({
  method: 'POST',
  headers: form,
  body: `grant_type=client_credentials&client_id=${client}&client_secret=${secret}`,
});

/** Sends a request that no HTTP client would send. */
async function rawCall(url: string, request: string): Promise<Exchange['answer']> {
  const { status, headers, body: text } = await sendRaw(url, request);
  return { status, headers, text };
}
