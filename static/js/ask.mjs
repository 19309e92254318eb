// Asking without a page load: the question appears at once, the answer streams in below it. Forms post without it.
import { answerEvents } from './answer_events.mjs';
import './source_panel.mjs';

const box = document.querySelector('.msgs'), template = document.getElementById('turn'), live = document.getElementById('live');
const composer = document.getElementById('composer'), field = composer.elements.question;
const send = composer.querySelector('[data-send]'), stopper = composer.querySelector('[data-stop]');
const scope = composer.elements.collection, clearScope = composer.querySelector('[data-scope-clear]');
const SLOW_MS = 8000, NEAR_END_PX = 120;
let current = null;   // the answer that is coming in: { connection, message, isStopped }

const said = id => document.getElementById(id).content.textContent;
const isNearEnd = () => box.scrollHeight - box.scrollTop - box.clientHeight < NEAR_END_PX;
const toEnd = () => { box.scrollTop = box.scrollHeight; };
const tell = (turn, text) => { turn.querySelector('[data-stage]').textContent = live.textContent = text; };

function begin() {
  current = { connection: new AbortController(), message: '', isStopped: false };
  send.hidden = true;
  stopper.hidden = false;
  return current;
}

function end() {
  current = null;
  send.hidden = false;
  stopper.hidden = true;
}

function emptyTurn(question) {
  const turn = template.content.cloneNode(true).querySelector('.turn');
  turn.querySelector('.q').textContent = question;
  return turn;
}

async function ask(question, action, form) {
  const asking = begin(), turn = emptyTurn(question);
  box.querySelector('[data-empty]')?.remove();
  box.querySelectorAll(':scope > .note, .next').forEach(part => part.remove());
  box.append(turn);
  toEnd();
  live.textContent = turn.querySelector('[data-stage]').textContent;
  const body = new URLSearchParams(new FormData(form));
  body.set('question', question);
  if (!body.has('collection')) body.set('collection', scope.value);
  const open = () => fetch(action, { method: 'POST', body, headers: { Accept: 'text/event-stream' }, signal: asking.connection.signal });
  await show(turn, asking, () => ask(question, action, form), await first(turn, asking, question, open));
}

async function first(turn, asking, question, open) {   // the response to the question itself, or null when it is no stream
  try {
    const response = await open();
    const kind = response.headers.get('Content-Type') || '';
    asking.request = response.headers.get('X-Trace-Id') || '';
    if (response.redirected) return ended(turn, question, response.url);
    if (response.status === 403) return ended(turn, question, location.pathname);   // signed in anew elsewhere: this page's token is old
    if (kind.startsWith('text/event-stream')) {
      asking.message = response.headers.get('X-Message');
      settle(response.headers.get('X-Conversation'), question);
      return response;
    }
    if (!kind.startsWith('text/html') || response.status >= 500) throw new Error(String(response.status));
    const holder = document.createElement('template');
    holder.innerHTML = await response.text();   // drawn and escaped by the server
    if (!holder.content.querySelector('[data-problem]')) throw new Error(String(response.status));
    turn.querySelector('.work').replaceWith(holder.content);
    giveBack(question);
    return null;
  } catch { return undefined; }
}

function ended(turn, question, address) {   // the session: what was asked waits in the composer of this page
  const signIn = new URL(address, location.href), link = turn.querySelector('[data-sign-in]'), note = turn.querySelector('[data-ended]');
  if (signIn.pathname !== location.pathname) signIn.searchParams.set('next', location.pathname);
  link.href = signIn.href;
  turn.querySelector('.work').hidden = true;
  note.hidden = false;
  giveBack(question);
  live.textContent = note.textContent.trim();
  link.focus();
  return null;
}

async function show(turn, asking, again, response) {
  const slow = setTimeout(() => { turn.querySelector('[data-slow]').hidden = false; }, SLOW_MS);
  try {
    if (response === null) return;
    let ending = null;
    const resuming = () => tell(turn, said('reconnecting'));
    if (response || asking.message) for await (const event of answerEvents(asking, response, resuming)) {
      const follows = isNearEnd();
      ending = draw(turn, event);
      if (follows) toEnd();
      if (ending) break;
    }
    if (ending?.type === 'done') await finish(turn, asking.message);
    else fail(turn, asking, again, ending?.data);
  } catch { fail(turn, asking, again); } finally {
    clearTimeout(slow);
    turn.querySelector('[data-slow]')?.setAttribute('hidden', '');
    end();
  }
}

function draw(turn, event) {   // the event itself when it is the last one
  const out = turn.querySelector('[data-text]'), tail = out.querySelector('.caret'), { type, data } = event;
  if (type === 'stage') tell(turn, data.text);
  else if (type === 'delta') {
    const pending = tail ?? out.appendChild(Object.assign(document.createElement('p'), { className: 'caret' }));
    pending.append(data.text);   // a text node, never HTML
  } else if (type === 'block') {
    tail?.remove();
    const holder = document.createElement('template');
    holder.innerHTML = data.html;   // drawn and escaped by the server
    out.append(holder.content);
  } else if (type === 'done' || type === 'error') return event;
  return null;
}

async function finish(turn, message) {   // the turn as the server shows it now: sources, votes, notes
  const response = await fetch(`/m/${message}`);
  if (!response.ok || response.redirected) throw new Error(String(response.status));
  const follows = isNearEnd(), holder = document.createElement('template');
  holder.innerHTML = await response.text();
  const drawn = holder.content.querySelector('.turn');
  turn.replaceWith(drawn);
  window.htmx?.process(drawn);
  showCopiers(drawn);
  if (follows) toEnd();
  live.textContent = said('answer-ready');
}

function fail(turn, asking, again, error) {
  const stopped = asking.isStopped || error?.code === 'stopped';
  const note = turn.querySelector(stopped ? '[data-stopped]' : '[data-failed]');
  turn.querySelector('.work').hidden = true;
  turn.querySelector('.caret')?.classList.remove('caret');
  if (!stopped) {
    const reason = error?.text ?? (navigator.onLine ? null : said('offline'));
    if (reason) note.querySelector('[data-reason]').textContent = reason;
    note.querySelector('[data-request]').textContent = asking.request || '';
  }
  note.hidden = false;
  live.textContent = (note.querySelector('[data-reason]') ?? note.firstElementChild.nextElementSibling.firstChild).textContent.trim();
  toEnd();
  note.querySelector('[data-again]').addEventListener('click', () => { if (!current) { turn.remove(); again(); } });
}

function settle(address, question) {   // the page is now the conversation's own
  if (!address || location.pathname === address) return;
  history.pushState({}, '', address);
  composer.action = address;
  document.querySelectorAll('[data-of-conversation]').forEach(link => { link.href = address + link.dataset.ofConversation; link.hidden = false; });
  document.querySelector('.conv-h h1').textContent = question;
  document.title = `${question} · ${document.title.split(' · ').pop()}`;
  remember(address, question);
}

function remember(address, title) {   // the rail's list, as the server will draw it next time
  const list = document.querySelector('.hist');
  if (!list) return;
  list.parentElement.hidden = false;
  list.querySelectorAll('[aria-current]').forEach(link => link.removeAttribute('aria-current'));
  const item = document.createElement('li'), link = document.createElement('a'), text = document.createElement('span');
  link.href = address;
  link.title = text.textContent = title;
  link.setAttribute('aria-current', 'true');
  link.append(text);
  item.append(link);
  list.prepend(item);
}

stopper.addEventListener('click', async () => {
  const stopping = current;
  if (!stopping) return;
  stopping.isStopped = true;
  try {
    const headers = { 'X-CSRFToken': composer.elements.csrfmiddlewaretoken.value };
    const response = stopping.message && await fetch(`/api/v1/messages/${stopping.message}/stop`, { method: 'POST', headers });
    if (!response?.ok) stopping.connection.abort();
  } catch { stopping.connection.abort(); }
});
document.addEventListener('submit', event => {
  const form = event.target.closest('[data-ask]');
  if (!form) return;
  event.preventDefault();
  const question = (event.submitter?.name === 'question' ? event.submitter.value : field.value).trim();
  if (current || !question) return;
  if (form === composer) { field.value = ''; keepDraft(); }
  ask(question, form === composer ? composer.action : form.action, form);
});
field.addEventListener('input', keepDraft);
field.addEventListener('keydown', event => {   // isComposing: never send in the middle of an input method
  if (event.key === 'Enter' && !event.shiftKey && !event.isComposing) { event.preventDefault(); composer.requestSubmit(); }
});
document.addEventListener('click', event => {
  const further = event.target.closest('[data-follow-up]'), copier = event.target.closest('[data-copy]');
  if (further && !current && !isElsewhere(event)) { event.preventDefault(); ask(further.textContent, composer.action, composer); }
  if (copier) copy(copier);
});
const isElsewhere = event => event.metaKey || event.ctrlKey || event.shiftKey;

async function copy(button) {
  const text = button.parentElement.querySelector('[data-copy-text]'), label = button.lastChild, before = label.textContent;
  try { await navigator.clipboard.writeText(text.value); } catch {   // plain HTTP has no clipboard API
    text.hidden = false;
    text.select();
    document.execCommand('copy');
    text.hidden = true;
    button.focus();
  }
  label.textContent = live.textContent = button.dataset.done;
  setTimeout(() => { label.textContent = before; }, 3000);
}

const showCopiers = part => part.querySelectorAll('[data-copy]').forEach(button => { button.hidden = false; });
showCopiers(document);
document.addEventListener('htmx:afterSwap', () => { live.textContent = document.querySelector('.votes [data-told]')?.textContent ?? ''; });

clearScope.addEventListener('click', () => { scope.value = ''; showScope(); scope.focus(); });
scope.addEventListener('change', showScope);
function showScope() { clearScope.hidden = !scope.value; }
showScope();

// what is typed survives a reload and a sign-in, for each conversation apart
function draftKey() { return `draft:${new URL(composer.action).pathname}`; }
function keepDraft() {
  try { if (field.value.trim()) sessionStorage.setItem(draftKey(), field.value); else sessionStorage.removeItem(draftKey()); } catch { /* private mode: nothing is kept */ }
}
function giveBack(question) { field.value ||= question; keepDraft(); }
try { field.value ||= sessionStorage.getItem(draftKey()) ?? ''; } catch { /* as above */ }

addEventListener('popstate', () => location.reload());
const target = location.hash.startsWith('#m-') && document.getElementById(location.hash.slice(1));
if (target) target.scrollIntoView({ block: 'start' }); else toEnd();

const waiting = box.querySelector('.turn:last-of-type [data-resume]');   // left while its answer was coming in
if (waiting) {
  const left = waiting.closest('.turn'), question = left.querySelector('.q').textContent, turn = emptyTurn(question);
  left.replaceWith(turn);
  const asking = Object.assign(begin(), { message: waiting.dataset.resume });
  show(turn, asking, () => ask(question, composer.action, composer));
}
