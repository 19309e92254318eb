// What the frame of every page tells and does: toasts, polling, failed requests, the end of the session.
// Progressive: toasts are rendered by the server too, and forms post without this file.
const texts = document.getElementById('shell-texts')?.dataset ?? {};

// --- toasts: kb:toast {text, bad, undo: {url, fields}} on any element, or one that the server rendered -------------
const TOAST_MS = 10000;

function expire(toast) {
  let left = TOAST_MS;
  const timer = setInterval(() => {   // waits while somebody reads it or is about to press it, and while the page is hidden
    if (document.hidden || toast.matches(':hover') || toast.contains(document.activeElement)) return;
    left -= 500;
    if (left <= 0) { clearInterval(timer); toast.remove(); }
  }, 500);
}

const csrf = () => document.cookie.match(/(?:^|; )csrftoken=([^;]+)/)?.[1] ?? document.querySelector('[name=csrfmiddlewaretoken]')?.value ?? '';
const hidden = (name, value) => Object.assign(document.createElement('input'), { type: 'hidden', name, value });

function tell({ text, bad = false, undo = null }) {
  document.querySelectorAll('.toast').forEach(old => old.remove());
  const toast = document.createElement('div');
  toast.className = 'toast';
  toast.append(Object.assign(document.createElement('span'), { textContent: text }));
  if (undo) {
    const form = Object.assign(document.createElement('form'), { method: 'post', action: undo.url });
    form.append(hidden('csrfmiddlewaretoken', csrf()), hidden('next', location.pathname + location.search));
    for (const [name, value] of Object.entries(undo.fields ?? {})) for (const one of [].concat(value)) form.append(hidden(name, one));
    form.append(Object.assign(document.createElement('button'), { textContent: texts.undo }));
    toast.append(form);
  }
  const close = Object.assign(document.createElement('button'), { type: 'button', textContent: '×' });
  close.setAttribute('aria-label', texts.close);
  close.addEventListener('click', () => toast.remove());
  toast.append(close);
  document.getElementById(bad ? 'toast-alerts' : 'toasts')?.append(toast);
  expire(toast);
}

document.addEventListener('kb:toast', event => tell(event.detail.value ?? event.detail));
document.querySelectorAll('.toast[data-toast]').forEach(toast => {
  toast.querySelector('[data-dismiss]')?.removeAttribute('hidden');
  expire(toast);
});
document.addEventListener('click', event => { if (event.target.closest('[data-dismiss]')) event.target.closest('.toast')?.remove(); });

// --- polling: data-poll="2" with hx-trigger="poll" asks every 2 s, five times slower while the tab is hidden ---------
const asked = new WeakMap();
const HIDDEN_FACTOR = 5, MOST_S = 60;
let misses = 0;   // while the server does not answer, each round waits twice as long

function poll() {
  const now = Date.now();
  document.querySelectorAll('[data-poll]').forEach(part => {
    if (!asked.has(part)) { asked.set(part, now); return; }
    const wait = Math.min(Number(part.dataset.poll) * (document.hidden ? HIDDEN_FACTOR : 1) * 2 ** misses, MOST_S);
    if (now - asked.get(part) < wait * 1000 || part.classList.contains('htmx-request')) return;
    asked.set(part, now);
    window.htmx?.trigger(part, 'poll');
  });
}
setInterval(poll, 500);
document.addEventListener('visibilitychange', () => { if (!document.hidden) poll(); });

// --- requests that fail are told, a poll's only once -----------------------------------------------------------------
const isPoll = event => event.detail.elt?.hasAttribute?.('data-poll');

function failed(event, text) {
  if (isPoll(event)) { misses = Math.min(misses + 1, 5); if (misses > 1) return; }
  tell({ text, bad: true });
}
document.addEventListener('htmx:sendError', event => failed(event, texts.network));
document.addEventListener('htmx:timeout', event => failed(event, texts.network));
document.addEventListener('htmx:responseError', event => {
  const answer = event.detail.xhr;
  const plain = (answer.getResponseHeader('Content-Type') ?? '').startsWith('text/plain');
  const sentence = plain && answer.responseText.length < 400 ? answer.responseText : answer.status === 403 ? texts.refused : answer.status === 404 ? texts.missing : texts.failed;
  const id = answer.status >= 500 && answer.getResponseHeader('X-Trace-Id');
  failed(event, id ? `${sentence} (${id})` : sentence);
});
document.addEventListener('htmx:afterRequest', event => { if (event.detail.successful && isPoll(event)) misses = 0; });

// --- the session: told two minutes ahead, and when it has ended ------------------------------------------------------
const AHEAD_S = 120, LONGEST_TIMER_S = 2_000_000;
const session = document.getElementById('session-dialog');

function ask(ended) {
  if (!session) return;
  session.querySelectorAll('[data-ended]').forEach(part => { part.hidden = (part.dataset.ended === 'yes') !== ended; });
  if (!session.open) session.showModal();
  session.querySelector(ended ? '[data-ended=yes] h2' : '[data-ended=no] h2')?.focus();
}

let warning, ending;
function watch(left) {
  clearTimeout(warning); clearTimeout(ending);
  if (!session || !(left > 0) || left > LONGEST_TIMER_S) return;
  warning = setTimeout(() => ask(false), Math.max(left - AHEAD_S, 0) * 1000);
  ending = setTimeout(() => ask(true), left * 1000);
}
watch(Number(session?.dataset.left));

session?.querySelector('[data-extend]')?.addEventListener('submit', async event => {
  event.preventDefault();
  try {
    const answer = await fetch(event.target.action, { method: 'POST', body: new URLSearchParams(new FormData(event.target)), headers: { Accept: 'application/json' } });
    if (!answer.ok || answer.redirected) { ask(true); return; }
    watch((await answer.json()).left_s);
    session.close();
  } catch { session.close(); tell({ text: texts.network, bad: true }); }
});
document.addEventListener('htmx:beforeOnLoad', event => {   // a page with something typed in it must not be taken away
  if (event.detail.xhr.getResponseHeader('HX-Redirect')?.startsWith(session?.dataset.signIn ?? '\n')) { event.preventDefault(); ask(true); }
});
document.addEventListener('kb:session-ended', () => ask(true));
window.addEventListener('focus', () => {   // signing in again, in another tab, has made a new token for this page's forms
  if (csrf()) document.querySelectorAll('[name=csrfmiddlewaretoken]').forEach(field => { field.value = csrf(); });
});
