// Starts Swagger UI on the page.

window.SwaggerUIBundle({
  url: document.getElementById('contract').dataset.document,
  dom_id: '#contract',
  deepLinking: true,
  displayRequestDuration: true,
  defaultModelsExpandDepth: 0,
  tryItOutEnabled: true,
  // It would send the document to a server of somebody else.
  validatorUrl: null,
});
