// Starts Swagger UI on the page.

/** Changes what Swagger UI reads of the document. */
function shorten() {
  return {
    statePlugins: {
      // The first scheme is the one that every route takes. Only it is offered for all of them: Swagger UI would open
      // its dialog at the last one. The lock of an operation still offers each that the operation takes.
      auth: { wrapSelectors: { definitionsToAuthorize: changeResult((schemes) => schemes && schemes.take(1)) } },
      // One row for all that an endpoint routes and nobody has described.
      spec: { wrapSelectors: { taggedOperations: changeResult((tags) => tags.map(withoutListedElsewhere)) } },
    },
  };
}

function withoutListedElsewhere(tag) {
  return tag.update('operations', (operations) =>
    operations.filter((operation) => !operation.hasIn(['operation', 'x-listed-under'])),
  );
}

function changeResult(change) {
  return (select) =>
    (...values) =>
      change(select(...values));
}

window.SwaggerUIBundle({
  url: document.getElementById('contract').dataset.document,
  dom_id: '#contract',
  deepLinking: true,
  displayRequestDuration: true,
  defaultModelsExpandDepth: 0,
  tryItOutEnabled: true,
  plugins: [shorten],
  // It would send the document to a server of somebody else.
  validatorUrl: null,
});
