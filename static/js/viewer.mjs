// Source viewer: page and text without a reload, zoom. Links work without it.
const viewer = document.querySelector('.viewer');
if (viewer) {
  const show = mode => {
    viewer.querySelectorAll('[data-pane]').forEach(pane => { pane.hidden = pane.dataset.pane !== mode; });
    viewer.querySelectorAll('[data-show]').forEach(link => link.toggleAttribute('aria-current', link.dataset.show === mode));
    document.getElementById('passage')?.scrollIntoView({ block: 'center' });
  };
  const steps = [100, 150, 200];
  let zoom = 0;
  viewer.addEventListener('click', event => {
    const link = event.target.closest('[data-show]');
    if (link) { event.preventDefault(); show(link.dataset.show); }
    const button = event.target.closest('[data-zoom]');
    if (button) {
      zoom = Math.max(0, Math.min(steps.length - 1, zoom + Number(button.dataset.zoom)));
      const page = viewer.querySelector('.pg');
      page.classList.toggle('z1', zoom === 1);
      page.classList.toggle('z2', zoom === 2);
      viewer.querySelector('[data-zoomv]').textContent = `${steps[zoom]}%`;
    }
  });
  viewer.querySelector('[data-zoom-tools]')?.removeAttribute('hidden');
  const phone = matchMedia('(max-width:760px)').matches;   // a whole page is unreadable there; start with the text
  if (phone && viewer.querySelector('[data-pane=page]')) show('text');
  else document.querySelector('.hlg .hl')?.scrollIntoView({ block: 'center' });
}
