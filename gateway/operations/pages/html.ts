// A template literal tag for HTML that escapes all values except nested templates.

/** An HTML fragment that is safe to insert into a page. */
export class Html {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

type TemplateValue = string | number | Html | readonly Html[] | undefined;

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Template literal tag: escapes all values except {@link Html}. */
export function html(strings: TemplateStringsArray, ...values: readonly TemplateValue[]): Html {
  return new Html(strings.reduce((text, string, index) => `${text}${toText(values[index - 1])}${string}`));
}

function toText(value: TemplateValue): string {
  if (value === undefined) return '';
  if (value instanceof Html) return value.text;
  if (Array.isArray(value)) return value.map((one: Html) => one.text).join('');
  return String(value).replace(/[&<>"']/g, (character) => entities[character] as string);
}
