// Starts Swagger UI on the page.

/** Changes what Swagger UI reads from the document. */
function shorten() {
  return {
    statePlugins: {
      // Every route accepts the first security scheme. The dialog for all operations offers only that scheme, because
      // Swagger UI would otherwise select the last one. The lock icon of an operation still offers every scheme that
      // the operation accepts.
      auth: { wrapSelectors: { definitionsToAuthorize: changeResult((schemes) => schemes && schemes.take(1)) } },
      // Shows one row for all undescribed operations of an endpoint.
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
  // Swagger UI's default validator would send the document to a third-party server.
  validatorUrl: null,
});
