// Every address is this server's own: the validator that Swagger UI would ask is switched off.
SwaggerUIBundle({
  url: 'openapi.json',
  dom_id: '#api',
  deepLinking: true,
  docExpansion: 'none',
  filter: true,
  displayRequestDuration: true,
  validatorUrl: null,
  persistAuthorization: false,
  tryItOutEnabled: true,
})
