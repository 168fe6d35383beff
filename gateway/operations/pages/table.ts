// Renders tables for the pages. On a phone, each row becomes a card in which the style sheet shows the `data-label` of
// each cell.

import { type Html, html } from './html.ts';

/**
 * Renders a table.
 * @param kind CSS class of the table
 * @param columns headings of the columns
 * @param rows one `tr` element each
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
