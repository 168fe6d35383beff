// Tables of the pages. On a phone each row becomes a card: the style sheet shows the `data-label` of its cells.

import { type Html, html } from './html.ts';

/**
 * Renders a table.
 * @param kind class of the table
 * @param columns headings
 * @param rows each a `tr`
 */
export function table(kind: string, columns: readonly string[], rows: readonly Html[]): Html {
  return html`<table class="${kind}">
    <thead>
      <tr>
        ${columns.map((column) => html`<th scope="col">${column}</th>`)}
      </tr>
    </thead>
    <tbody>
      ${rows}
    </tbody>
  </table>`;
}
