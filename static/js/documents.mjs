// List of documents and page of one document. Everything here works without it, by forms and links.

// --- selection and the bulk bar; the list may be swapped by htmx, so everything is looked up anew
const boxes = () => [...document.querySelectorAll('input[name=ids][form=bulk]')];
const sync = () => {
  const bar = document.querySelector('[data-bulk-bar]');
  if (!bar) return;
  const all = bar.querySelector('[data-all]'), page = document.querySelector('[data-page-box]'), own = boxes();
  const everything = Boolean(all?.checked), chosen = own.filter(box => box.checked).length;
  own.forEach(box => { box.disabled = everything; box.closest('tr').setAttribute('aria-selected', everything || box.checked); });
  bar.querySelector('[data-n]').textContent = (everything ? Number(all.dataset.all) : chosen).toLocaleString('en');
  bar.classList.toggle('bulk-idle', !chosen && !everything);
  if (page) {
    page.checked = everything || (own.length > 0 && chosen === own.length);
    page.indeterminate = !everything && chosen > 0 && chosen < own.length;
  }
};
document.addEventListener('change', event => {
  const { target } = event;
  if (target.matches('[data-page-box]')) {
    boxes().forEach(box => { box.checked = target.checked; });
    const all = document.querySelector('[data-all]');
    if (all && !target.checked) all.checked = false;
  }
  if (target.matches('[data-page-box],[data-all],input[name=ids][form=bulk]')) sync();
});
// a list that is being worked on is not swapped away under the hand
document.addEventListener('htmx:beforeSwap', event => {
  if (event.detail.target?.id === 'document-list' && (boxes().some(box => box.checked) || document.querySelector('[data-all]')?.checked)) event.detail.shouldSwap = false;
});
document.addEventListener('htmx:afterSettle', sync);
sync();

// --- filters: empty fields do not belong into the address
document.querySelector('[data-filters]')?.addEventListener('formdata', event => {
  for (const [name, value] of [...event.formData]) if (!value) event.formData.delete(name);
});

// --- chunk and box: choosing one marks the other; the address names the chosen chunk
const linked = document.querySelector('[data-linked]');
if (linked) {
  // shows what belongs to a chunk; `near` for what the pointer or the focus is on, which goes when they do
  const show = (number, near) => {
    linked.querySelectorAll('a[data-chunk] rect').forEach(box => box.classList.toggle('el-on', [number, near].includes(box.parentNode.dataset.chunk)));
    linked.querySelectorAll('[data-label] .el-n').forEach(label => label.classList.toggle('el-n-on', [number, near].includes(label.parentNode.dataset.label)));
    linked.querySelectorAll('.elt').forEach(part => part.classList.toggle('on', part.dataset.chunk !== undefined && [number, near].includes(part.dataset.chunk)));
    linked.querySelectorAll('li.chunk').forEach(chunk => chunk.classList.toggle('near', chunk.dataset.chunk === near));
  };
  const chosen = () => linked.querySelector('li.chunk[aria-current]')?.dataset.chunk ?? new URL(location).searchParams.get('chunk');
  const hint = event => show(chosen(), event.target.closest('[data-chunk]')?.dataset.chunk);
  for (const name of ['pointerover', 'focusin']) linked.addEventListener(name, hint);
  for (const name of ['pointerleave', 'focusout']) linked.addEventListener(name, () => show(chosen()));
  const mark = (number, from) => {
    linked.querySelectorAll('li.chunk').forEach(chunk => {
      if (chunk.dataset.chunk === number) chunk.setAttribute('aria-current', 'true'); else chunk.removeAttribute('aria-current');
    });
    show(number);
    const address = new URL(location);
    address.searchParams.set('chunk', number);
    address.hash = '';
    history.replaceState(null, '', address);
    const other = from === 'list' ? linked.querySelector(`.elt[data-chunk="${number}"]`) : document.getElementById(`c${number}`);
    other?.scrollIntoView({ block: 'nearest' });
  };
  linked.querySelector('.elt.on')?.scrollIntoView({ block: 'nearest' });
  linked.addEventListener('click', event => {
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.button) return;
    const box = event.target.closest('.stick [data-chunk]');
    const chunk = event.target.closest('li.chunk');
    if (box) { event.preventDefault(); mark(box.dataset.chunk, 'page'); }
    else if (chunk && (event.target.closest('[data-pick]') || !event.target.closest('a,button,summary,details'))) {
      if (String(getSelection())) return;   // someone copies text
      event.preventDefault();
      const drawn = linked.querySelector(`.stick [data-chunk="${chunk.dataset.chunk}"]`);
      if (!drawn && event.target.closest('[data-pick]')) location.assign(event.target.closest('[data-pick]').href);
      else mark(chunk.dataset.chunk, 'list');
    }
  });
}
