// Keyboard shortcuts. Single letters work outside of fields and only while the account has them on (WCAG 2.1.4).
// A list marks itself with data-list: its rows are the table rows or list items inside, each led by its first link.
const letters = document.documentElement.dataset.letters !== 'off';
const mac = /Mac|iP(hone|ad)/.test(navigator.platform);
if (mac) document.querySelectorAll('[data-mod]').forEach(key => { key.textContent = '⌘'; });

const typing = () => document.activeElement?.matches('input:not([type=checkbox],[type=radio],[type=button],[type=submit]),textarea,select,[contenteditable]');
const rows = () => [...document.querySelectorAll('[data-list] tbody tr, [data-list] > li, [data-list] > article')].filter(row => row.offsetParent && row.querySelector('a[href],summary'));
const lead = row => row.querySelector('[data-lead]') ?? row.querySelector('a[href],summary');
const current = () => rows().find(row => row.contains(document.activeElement));

function step(by) {
  const all = rows();
  const at = all.indexOf(current());
  const next = all[at < 0 ? (by > 0 ? 0 : all.length - 1) : Math.min(Math.max(at + by, 0), all.length - 1)];
  if (!next) return false;
  lead(next).focus();
  next.scrollIntoView({ block: 'nearest' });
  return true;
}

const act = {
  '/': () => { const field = document.querySelector('[data-focus-key="/"]'); field?.focus(); return field; },
  '?': () => { const list = document.getElementById('keys'); if (list && !list.open) list.showModal(); return list; },
  j: () => step(1),
  k: () => step(-1),
  x: () => { const box = current()?.querySelector('input[type=checkbox]'); box?.click(); return box; },
  o: () => { const row = current(); if (row) lead(row).click(); return row; },
};

document.addEventListener('keydown', event => {
  if (event.key.toLowerCase() === 'k' && (event.metaKey || event.ctrlKey) && !event.shiftKey && !event.altKey) {
    const jump = document.querySelector('.jump');
    if (jump) { event.preventDefault(); jump.click(); }
    return;
  }
  if (!letters || event.metaKey || event.ctrlKey || event.altKey || event.isComposing || typing() || document.querySelector('dialog:modal')) return;
  const action = act[event.key.length === 1 ? event.key.toLowerCase() : ''];
  if (action?.()) event.preventDefault();
});
