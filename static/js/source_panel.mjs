// Beside the conversation: a chip or a card opens its source in a panel, below 1080 px in a sheet. Esc gives the focus back.
import { prepare } from './viewer.mjs';

const chat = document.querySelector('.chat'), panel = chat.querySelector('.srcp');
const rest = [chat.querySelector('.conv'), document.querySelector('.rail')], sheet = matchMedia('(max-width:1080px)');
const LONGEST_MS = 15000;
let opener = null, loading = null;

const isSource = link => link && link.origin === location.origin && link.pathname.startsWith('/d/') && !('asPage' in link.dataset);

async function open(link) {
  loading?.abort();
  const own = loading = new AbortController(), isInside = panel.contains(link), step = link.dataset.step;
  if (!isInside) opener = link;
  const deadline = setTimeout(() => own.abort(), LONGEST_MS);
  try {
    const response = await fetch(link.href, { headers: { 'X-Part': 'panel' }, signal: own.signal });
    if (response.redirected) { location.assign(link.href); return; }   // the session ended: the page itself asks to sign in
    const holder = document.createElement('template');
    holder.innerHTML = await response.text();   // drawn and escaped by the server
    const view = holder.content.querySelector('[data-viewer]');
    if (!view) { location.assign(link.href); return; }   // not open any more: the page says so
    panel.replaceChildren(view);
    show(view, link.href, step);
  } catch {
    if (loading !== own) return;   // another source was asked for meanwhile, or the panel closed
    const text = document.getElementById('source-failed').content.textContent.trim();
    document.dispatchEvent(new CustomEvent('kb:toast', { detail: { text, bad: true } }));
  } finally { clearTimeout(deadline); }
}

function show(view, address, step) {
  panel.hidden = false;
  chat.dataset.src = 'open';
  cover();
  prepare(view);
  const same = link => link.href === address;
  chat.querySelectorAll('.a :is(.cite, .src)').forEach(link => link.toggleAttribute('aria-current', same(link)));
  chat.querySelectorAll('.a [aria-current]').forEach(link => link.setAttribute('aria-current', 'true'));
  (step && view.querySelector(`[data-step="${step}"]`) || view.querySelector('h2')).focus({ preventScroll: true });
}

function close() {
  if (panel.hidden) return;
  loading?.abort();
  loading = null;
  panel.hidden = true;
  panel.replaceChildren();
  delete chat.dataset.src;
  cover();
  chat.querySelectorAll('.a [aria-current]').forEach(link => link.removeAttribute('aria-current'));
  (opener?.isConnected ? opener : document.querySelector('.msgs')).focus();
}

function cover() { rest.forEach(part => { part.inert = sheet.matches && !panel.hidden; }); }   // a sheet lies over the rest
sheet.addEventListener('change', cover);

document.addEventListener('click', event => {
  const link = event.target.closest('a[href]');
  if (event.target.closest('[data-close-source]')) close();
  if (!link || event.defaultPrevented || event.metaKey || event.ctrlKey || event.shiftKey || event.button) return;
  if (isSource(link) && !link.dataset.show && (panel.contains(link) || link.closest('.msgs'))) { event.preventDefault(); open(link); }
});
document.addEventListener('keydown', event => {
  if (event.key === 'Escape' && !event.isComposing && !document.querySelector('dialog[open], details.menu[open]')) close();
});
