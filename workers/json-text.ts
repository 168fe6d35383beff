// Holds JSON that is serialised when a worker returns, and sent later. An output can be as large as a response, so it
// is serialised only once.

/** The JSON text of a value. */
export class JsonText {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  /** Omits the value, because the SDK's task runner serialises every output just to measure its size. */
  toJSON(): undefined {
    return undefined;
  }
}

/** Serialises each field of an object. @throws TypeError for a value that JSON cannot represent, such as a BigInt */
export function serialiseFields(fields: Record<string, unknown>): Record<string, JsonText> {
  return Object.fromEntries(textsOf(fields).map(([name, text]) => [name, new JsonText(text)]));
}

/** Returns an object as JSON. The values of its fields may come from {@link serialiseFields}. */
export function joinFields(fields: Record<string, unknown>): string {
  return `{${textsOf(fields)
    .map(([name, text]) => `${JSON.stringify(name)}:${text}`)
    .join(',')}}`;
}

/** Returns the JSON text of each field. Leaves out fields that JSON cannot represent: `undefined` and functions. */
function textsOf(fields: Record<string, unknown>): [string, string][] {
  return Object.entries(fields).flatMap(([name, value]) => {
    const text = value instanceof JsonText ? value.text : (JSON.stringify(value) as string | undefined);
    return text === undefined ? [] : [[name, text]];
  });
}
