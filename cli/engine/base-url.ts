// Parses the base URLs of an engine's servers, or of the router in front of them.

import { CommandError } from '../outcome.ts';

/** The servers of one engine. */
export interface BaseUrls {
  readonly origins: string[];
  /** Path that is put before the path of each call. */
  readonly prefix: string;
  /** The URLs without credentials, for messages. */
  readonly addresses: readonly string[];
}

/**
 * Parses the base URLs of one engine's servers.
 * @param suffix path to append to the prefix
 * @throws CommandError unless all of them are http or https URLs with the same path
 */
export function parseBaseUrls(urls: readonly string[], suffix: string): BaseUrls {
  const bases = urls.map((url) => parseBaseUrl(url.trim()));
  const [{ path }, ...others] = bases as [BaseUrl, ...BaseUrl[]];
  if (others.some((other) => other.path !== path))
    throw new CommandError([`${urls.join(',')}: all addresses of the engine must have the same path`]);
  return {
    origins: bases.map(({ origin }) => origin),
    prefix: `${path}${suffix}`,
    addresses: bases.map(({ origin }) => `${origin}${path}`),
  };
}

interface BaseUrl {
  readonly origin: string;
  readonly path: string;
}

function parseBaseUrl(url: string): BaseUrl {
  if (!/^https?:\/\//.test(url) || !URL.canParse(url)) throw new CommandError([`${url} is not an http or https URL`]);
  const { origin, pathname } = new URL(url);
  return { origin, path: pathname.replace(/\/+$/, '') };
}
