// The API reference: Swagger UI over the site's own schema, with the reader's session, in the look of the page.
const root = document.documentElement, device = matchMedia('(prefers-color-scheme:dark)');
const look = () => root.classList.toggle('dark-mode', root.dataset.theme === 'dark' || (root.dataset.theme !== 'light' && device.matches));
look();
device.addEventListener('change', look);
new MutationObserver(look).observe(root, { attributeFilter: ['data-theme'] });

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
