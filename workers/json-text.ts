// JSON that is serialised when a worker returns and sent later. An output can be as large as a response, so it is
// serialised only once.

/** The JSON text of a value. */
export class JsonText {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  /** Omits the value: the SDK's task runner serialises every output only to measure it. */
  toJSON(): undefined {
    return undefined;
  }
}

/** Serialises each field of an object. @throws TypeError for a value that JSON does not have, such as a BigInt */
export function serialiseFields(fields: Record<string, unknown>): Record<string, JsonText> {
  return Object.fromEntries(textsOf(fields).map(([name, text]) => [name, new JsonText(text)]));
}

/** Returns an object as JSON. Its fields may be texts of {@link serialiseFields}. */
export function joinFields(fields: Record<string, unknown>): string {
  return `{${textsOf(fields)
    .map(([name, text]) => `${JSON.stringify(name)}:${text}`)
    .join(',')}}`;
}

/** Returns the fields that JSON has; it has no `undefined` and no functions. */
function textsOf(fields: Record<string, unknown>): [string, string][] {
  return Object.entries(fields).flatMap(([name, value]) => {
    const text = value instanceof JsonText ? value.text : (JSON.stringify(value) as string | undefined);
    return text === undefined ? [] : [[name, text]];
  });
}
