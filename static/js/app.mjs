// Shared behaviour. Progressive: every page works without this file.
const root = document.documentElement;

// appearance: at once in the page, and kept in the profile by the form's own POST
document.querySelector('[data-theme-form]')?.addEventListener('submit', async event => {
  const wanted = event.submitter?.value;
  if (!wanted) return;
  event.preventDefault();
  root.dataset.theme = wanted;
  event.target.querySelectorAll('button').forEach(button => button.setAttribute('aria-pressed', button === event.submitter));
  const body = new URLSearchParams(new FormData(event.target));
  body.set('theme', wanted);
  try { await fetch(event.target.action, { method: 'POST', body, redirect: 'manual' }); } catch { /* the page keeps the look until the next visit */ }
});

const closeMenus = except => document.querySelectorAll('details.menu[open]').forEach(menu => { if (!menu.contains(except)) menu.open = false; });
document.addEventListener('click', async event => {
  closeMenus(event.target);
  const opener = event.target.closest('[data-dialog]');
  if (opener) { event.preventDefault(); document.getElementById(opener.dataset.dialog)?.showModal(); }
  if (event.target.closest('[data-close]')) event.target.closest('dialog')?.close();
  const copier = event.target.closest('[data-copy-from]');
  if (copier) {
    const source = document.getElementById(copier.dataset.copyFrom);
    try {
      await navigator.clipboard.writeText(source.value ?? source.innerText);
      copier.lastChild.textContent = copier.dataset.done;
    } catch { source.select ? source.select() : getSelection().selectAllChildren(source); }
  }
});
document.addEventListener('keydown', event => {
  if (event.key === 'Escape') document.querySelectorAll('details.menu[open]').forEach(menu => { menu.open = false; menu.querySelector('summary').focus(); });
});

// a select that applies at once; without this file the form's button does it
document.querySelectorAll('[data-autosubmit]').forEach(field => field.addEventListener('change', () => field.form.requestSubmit()));
document.querySelectorAll('details[data-open-from]').forEach(part => { part.open = matchMedia(`(min-width:${part.dataset.openFrom}px)`).matches; });
document.querySelectorAll('dialog[data-modal]').forEach(dialog => { dialog.close(); dialog.showModal(); dialog.querySelector('h2')?.focus(); });
document.querySelector('[data-focus]')?.focus();
document.getElementById('passage')?.scrollIntoView({ block: 'center' });

// controls that only this file makes work, and a language switch that keeps the place in the page
document.querySelectorAll('[data-needs-script]').forEach(part => { part.hidden = false; });
document.querySelectorAll('form[data-keep-place]').forEach(form => form.addEventListener('submit', () => { const next = form.elements.next; if (!next.value.includes('#')) next.value += location.hash; }));

// a form with something unsaved: a bar that stays in view names the fields; leaving asks first
document.querySelectorAll('form[data-savebar]').forEach(form => {
  const bar = form.querySelector('.savebar'), names = bar.querySelector('[data-changed]'), count = bar.querySelector('[data-count]');
  const fields = () => [...form.querySelectorAll('.set')];
  const initial = new Map();
  const value = row => [...row.querySelectorAll('input,select,textarea')].filter(field => field.name && field.type !== 'submit').map(field => /checkbox|radio/.test(field.type) ? `${field.value}:${field.checked}` : field.value).join('\n');
  fields().forEach(row => initial.set(row, row.hasAttribute('data-refused') ? null : value(row)));
  const sync = () => {
    const changed = fields().filter(row => value(row) !== initial.get(row));
    fields().forEach(row => row.classList.toggle('set-ch', changed.includes(row)));
    bar.hidden = !changed.length;
    count.textContent = changed.length;
    names.textContent = changed.map(row => row.dataset.name).join(' · ');
  };
  form.addEventListener('input', sync);
  form.addEventListener('reset', () => setTimeout(sync));
  let sent = false;
  form.addEventListener('submit', () => { sent = true; });
  window.addEventListener('beforeunload', event => { if (!bar.hidden && !sent) event.preventDefault(); });
  sync();
});

// on a narrow page the tab that is open may stand outside of its row
for (const tab of document.querySelectorAll('.tabs > [aria-current]')) {
  const row = tab.parentElement, at = tab.getBoundingClientRect(), box = row.getBoundingClientRect();
  if (at.right > box.right) row.scrollLeft += at.right - box.right;
}
