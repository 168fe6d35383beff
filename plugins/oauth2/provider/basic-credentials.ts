// HTTP Basic as OAuth clients use it: id and secret are form-encoded before they are joined (RFC 6749 section 2.3.1).

/** Returns the value of an `Authorization` header. */
export function basicCredentials(clientId: string, clientSecret: string): string {
  return `Basic ${Buffer.from(`${formEncode(clientId)}:${formEncode(clientSecret)}`).toString('base64')}`;
}

/** Encodes one value as application/x-www-form-urlencoded. */
function formEncode(value: string): string {
  return new URLSearchParams([['', value]]).toString().slice(1);
}
