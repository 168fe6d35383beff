// Renders the message that a page shows when the engine does not respond or rejects a call.

import { EngineError } from '#lib/conductor/engine-error.ts';
import { type Html, html } from '../pages/html.ts';

/** Renders an explanation of an EngineError. @throws any other error */
export function engineAwayView(error: unknown): Html {
  if (!(error instanceof EngineError)) throw error;
  const what = error.kind === 'refused' ? 'The engine refused the call' : 'The engine does not respond';
  return html`<div class="notice bad" role="alert">
    <p>
      <strong>${what}.</strong> Executions cannot be shown. This router’s own figures are on the
      <a href="/">overview</a>.
    </p>
    <p><code>${error.message}</code></p>
  </div>`;
}
