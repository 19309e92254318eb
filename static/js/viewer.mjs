// Source viewer: page and text without a reload, zoom, [ and ] from citation to citation. Links work without it.
const STEPS = [100, 150, 200];
const phone = matchMedia('(max-width:760px)').matches;   // a whole page is unreadable there; start with the text
let zoom = 0, mode = phone ? 'text' : null;   // kept from one source to the next

export function prepare(viewer) {
  const show = wanted => {
    viewer.querySelectorAll('[data-pane]').forEach(pane => { pane.hidden = pane.dataset.pane !== wanted; });
    viewer.querySelectorAll('[data-show]').forEach(link => link.toggleAttribute('aria-current', link.dataset.show === wanted));
    toPassage();
  };
  const toPassage = () => {
    const pane = viewer.querySelector('[data-pane]:not([hidden])');
    const passage = pane?.querySelector('#passage, .hlg.on');
    passage?.scrollIntoView({ block: passage.getBoundingClientRect().height > pane.clientHeight * .8 ? 'start' : 'center' });
  };
  const scale = () => {
    viewer.querySelectorAll('.pg').forEach(page => { page.classList.toggle('z1', zoom === 1); page.classList.toggle('z2', zoom === 2); });
    viewer.querySelectorAll('[data-zoomv]').forEach(value => { value.textContent = `${STEPS[zoom]}%`; });
  };
  viewer.addEventListener('click', event => {
    const link = event.target.closest('[data-show]'), button = event.target.closest('[data-zoom]');
    if (link) { event.preventDefault(); mode = link.dataset.show; show(mode); }
    if (button) { zoom = Math.max(0, Math.min(STEPS.length - 1, zoom + Number(button.dataset.zoom))); scale(); }
  });
  viewer.querySelector('[data-zoom-tools]')?.removeAttribute('hidden');
  scale();
  if (mode && viewer.querySelector('[data-pane=page]')) show(mode); else toPassage();
  if (viewer.dataset.next) new Image().src = viewer.dataset.next;
}

document.addEventListener('keydown', event => {
  const step = { '[': -1, ']': 1 }[event.key];
  if (!step || event.ctrlKey || event.metaKey || event.altKey || /INPUT|TEXTAREA|SELECT/.test(document.activeElement?.tagName)) return;
  if (document.querySelector('dialog[open]') || document.documentElement.dataset.keys === 'off') return;
  document.querySelector(`[data-viewer] [data-step="${step}"]`)?.click();
});

const page = document.querySelector('.viewer');
if (page) prepare(page);
