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
  const typing = /INPUT|TEXTAREA|SELECT/.test(document.activeElement?.tagName);
  if ((event.metaKey || event.ctrlKey) && event.key === 'k') { event.preventDefault(); document.querySelector('.jump')?.click(); }
  else if (event.key === '/' && !typing) {
    const field = document.querySelector('[data-focus-key="/"]');
    if (field) { event.preventDefault(); field.focus(); }
  }
});

// drop zone: dropped files go into its file input, and the form says how many were chosen
const zone = document.querySelector('.drop');
if (zone) {
  const input = zone.querySelector('input[type=file]'), chosen = zone.querySelector('[data-chosen]'), send = zone.querySelector('[data-send]');
  const tell = () => {
    const names = [...input.files].map(file => file.name);
    chosen.textContent = names.length > 3 ? `${names.slice(0, 3).join(', ')} … (${names.length})` : names.join(', ');
    send.hidden = !names.length;
  };
  for (const type of ['dragenter', 'dragover']) zone.addEventListener(type, event => { event.preventDefault(); zone.classList.add('over'); });
  for (const type of ['dragleave', 'drop']) zone.addEventListener(type, event => { event.preventDefault(); zone.classList.remove('over'); });
  zone.addEventListener('drop', event => { if (event.dataTransfer.files.length) { input.files = event.dataTransfer.files; tell(); } });
  input.addEventListener('change', tell);
  tell();
}

// a select that applies at once; without this file the form's button does it
document.querySelectorAll('[data-autosubmit]').forEach(field => field.addEventListener('change', () => field.form.requestSubmit()));
document.querySelectorAll('details[data-open-from]').forEach(part => { part.open = matchMedia(`(min-width:${part.dataset.openFrom}px)`).matches; });
document.querySelectorAll('dialog[data-modal]').forEach(dialog => { dialog.close(); dialog.showModal(); dialog.querySelector('h2')?.focus(); });
document.querySelector('[data-focus]')?.focus();
document.getElementById('passage')?.scrollIntoView({ block: 'center' });
