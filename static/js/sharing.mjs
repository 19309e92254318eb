// The sharing page: what is changed in the list is shown at once, and what was found is reached by arrow keys.
// Without this file the same buttons post the form.
const main = () => document.getElementById('main');
const press = selector => main().querySelector(selector)?.click();

document.documentElement.classList.add('js');
document.addEventListener('change', event => { if (event.target.closest('#sharing [data-stage]')) press('#review, #sharing [value=review]'); });
document.addEventListener('keydown', event => {
  if (event.key === 'Enter' && event.target.dataset?.enter) { event.preventDefault(); press(`#${event.target.dataset.enter}`); return; }
  const found = document.getElementById('found');
  if (!found || !(event.target.id === 'add' || found.contains(event.target))) return;
  const choices = [...found.querySelectorAll('button')], at = choices.indexOf(document.activeElement);
  if (event.key === 'Escape' && choices.length) { found.replaceChildren(); document.getElementById('add').focus(); }
  else if (event.key === 'ArrowDown' && choices.length) { event.preventDefault(); choices[Math.min(at + 1, choices.length - 1)].focus(); }
  else if (event.key === 'ArrowUp' && at >= 0) { event.preventDefault(); (choices[at - 1] ?? document.getElementById('add')).focus(); }
});
document.addEventListener('htmx:afterSettle', event => {
  if (event.target.id !== 'main') return;
  const dialog = main().querySelector('dialog[data-modal]');
  if (dialog) { dialog.close(); dialog.showModal(); dialog.querySelector('h2')?.focus(); } else main().querySelector('[data-focus]')?.focus();
});
