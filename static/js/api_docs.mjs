// The API reference: Swagger UI over the site's own schema, with the reader's session.
const place = document.getElementById('swagger-ui');
window.SwaggerUIBundle({
  url: place.dataset.schema,
  domNode: place,
  presets: [window.SwaggerUIBundle.presets.apis],
  layout: 'BaseLayout',
  deepLinking: false,
  requestInterceptor: request => {
    if (request.method && request.method !== 'GET') request.headers[place.dataset.csrfHeader] = place.dataset.csrf;
    return request;
  },
});
