// Filters of the search page apply at once beside the results; on a narrow screen they are a sheet with a button.
// Without this file the sheet is a part that folds out, and "Apply" applies.
const filters = document.querySelector('.filters');
const wide = matchMedia('(min-width:901px)');
const close = () => { filters.open = false; filters.querySelector('summary').focus(); };

document.addEventListener('change', event => { if (event.target.matches('[data-facet]') && wide.matches) event.target.form.requestSubmit(); });
document.addEventListener('click', event => { if (event.target.closest('[data-close-sheet]')) close(); });
document.addEventListener('keydown', event => { if (event.key === 'Escape' && filters.open && !wide.matches) close(); });
// empty fields do not belong into the address
document.getElementById('search-form').addEventListener('formdata', event => { for (const [name, value] of [...event.formData]) if (!value) event.formData.delete(name); });
