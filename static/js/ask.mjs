// Asking without a page load: the question appears at once, the answer replaces the waiting line. Forms post without it.
const box = document.querySelector('.msgs'), template = document.getElementById('turn'), live = document.getElementById('live');
const composer = document.getElementById('composer'), field = composer.elements.question, send = composer.querySelector('[data-send]');
const SLOW_MS = 8000, LIMIT_MS = 60000;
let busy = false;

async function ask(question, action, form) {
  busy = true;
  send.disabled = true;
  const turn = template.content.cloneNode(true).querySelector('.turn');
  turn.querySelector('.q').textContent = question;
  box.querySelector('[data-empty]')?.remove();
  box.querySelectorAll(':scope > .note').forEach(note => note.remove());
  box.append(turn);
  turn.scrollIntoView({ block: 'end' });
  const stage = turn.querySelector('[data-stage]');
  live.textContent = stage.textContent;
  const slow = setTimeout(() => { turn.querySelector('[data-slow]').hidden = false; }, SLOW_MS);
  const body = new URLSearchParams(new FormData(form));
  body.set('question', question);
  if (!body.has('collection')) body.set('collection', composer.elements.collection.value);
  try {
    const response = await fetch(action, { method: 'POST', body, headers: { 'X-Answer-Only': '1' }, signal: AbortSignal.timeout(LIMIT_MS) });
    if (response.redirected) { location.assign(response.url); return; }   // the session ended
    const kind = response.headers.get('Content-Type') || '';
    if (!kind.startsWith('text/html') || response.status >= 500) throw new Error(String(response.status));
    const holder = document.createElement('template');
    holder.innerHTML = await response.text();   // drawn and escaped by the server
    if (response.ok) {
      turn.replaceWith(holder.content);
      box.lastElementChild.scrollIntoView({ block: 'nearest' });
      window.htmx?.process(box.lastElementChild);
      const address = response.headers.get('X-Conversation');
      if (address && location.pathname !== address) { history.pushState({}, '', address); composer.action = address; document.querySelector('.conv-h h1').textContent = question; document.title = question; remember(address, question); }
      live.textContent = document.getElementById('answer-ready').content.textContent;
    } else {
      turn.querySelector('.work').replaceWith(holder.content);
      field.value ||= question;
    }
  } catch {
    turn.querySelector('.work').hidden = true;
    turn.querySelector('[data-failed]').hidden = false;
    turn.querySelector('[data-again]').addEventListener('click', () => { turn.remove(); if (!busy) ask(question, action, form); });
  } finally {
    clearTimeout(slow);
    turn.querySelector('[data-slow]')?.setAttribute('hidden', '');
    busy = false;
    send.disabled = false;
  }
}

function remember(address, title) {   // the rail's list, as the server will draw it next time
  const list = document.querySelector('.hist');
  if (!list) return;
  list.querySelectorAll('[aria-current]').forEach(link => link.removeAttribute('aria-current'));
  const item = document.createElement('li'), link = document.createElement('a'), text = document.createElement('span');
  link.href = address;
  link.title = text.textContent = title;
  link.setAttribute('aria-current', 'true');
  link.append(text);
  item.append(link);
  list.prepend(item);
}

document.addEventListener('submit', event => {
  const form = event.target.closest('[data-ask]');
  if (!form) return;
  event.preventDefault();
  const question = (event.submitter?.name === 'question' ? event.submitter.value : field.value).trim();
  if (busy || !question) return;
  if (form === composer) field.value = '';
  ask(question, form === composer ? composer.action : form.action, form);
});
field.addEventListener('keydown', event => {   // isComposing: never send in the middle of an input method
  if (event.key === 'Enter' && !event.shiftKey && !event.isComposing) { event.preventDefault(); composer.requestSubmit(); }
});
addEventListener('popstate', () => location.reload());
const target = location.hash.startsWith('#m-') && document.getElementById(location.hash.slice(1));
if (target) target.scrollIntoView({ block: 'start' }); else box.scrollTop = box.scrollHeight;
