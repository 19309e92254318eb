// Upload: files and whole folders are looked at before they are sent, then sent one by one, two at a time, with the
// bytes that have really left. Without this file the form posts all its files at once.
const form = document.querySelector('[data-upload]');
if (form && typeof FormData === 'function') start(form);

function start(form) {
  const words = form.dataset;
  const part = name => form.querySelector(`[data-${name}]`);
  const zone = form.querySelector('.drop'), list = part('list'), send = part('send');
  const entries = [];
  const [unsupported, media, archives] = ['unsupported', 'media', 'archives'].map(name => new Set(words[name].split(' ')));
  let busy = false;

  part('folder').hidden = false;
  const viewers = part('viewers'), access = part('access');
  const showViewers = () => { if (viewers) viewers.hidden = access.value !== 'own'; };
  access?.addEventListener('change', showViewers);
  showViewers();
  const target = form.querySelector('[name=collection]');
  const showFields = () => form.querySelectorAll('[data-of]').forEach(group => { group.hidden = group.dataset.of !== target.value; });
  target.addEventListener('change', showFields);
  showFields();

  // --- choosing
  const size = bytes => bytes < 1e3 ? `${bytes} B` : bytes < 1e6 ? `${(bytes / 1e3).toFixed(0)} KB` : `${(bytes / 1e6).toFixed(1)} MB`;
  const problemOf = (file, path) => {
    const base = path.split('/').pop();
    if (base.length > Number(words.maxName)) return words.tName;
    if (file.size > Number(words.maxBytes)) return words.tLarge;
    if (!file.size) return words.tEmpty;
    const ending = base.includes('.') ? base.split('.').pop().toLowerCase() : '';
    if (media.has(ending)) return words.tMedia;
    if (archives.has(ending)) return words.tArchive;
    return unsupported.has(ending) ? words.tKind : '';
  };
  const make = (tag, css, text) => {
    const node = document.createElement(tag);
    if (css) node.className = css;
    if (text) node.textContent = text;
    return node;
  };
  const add = (file, path) => {
    if (path.split('/').some(step => step.startsWith('.')) || /^(thumbs\.db|desktop\.ini)$/i.test(file.name)) return;   // what systems leave in folders
    if (entries.some(entry => entry.path === path && entry.file.size === file.size)) return;
    const row = make('li'), name = make('div', 'nmx'), told = make('div', 'stx'), side = make('div', 'ax row');
    const ending = file.name.includes('.') ? file.name.split('.').pop().slice(0, 4) : 'TXT';
    const title = make('div', 'b clip1', path);
    title.title = path;
    name.append(title, make('div', 'xs muted', size(file.size)));
    const bar = make('progress', 'prog'), text = make('div', 'xs muted', words.tWaiting);
    bar.max = 1; bar.value = 0;
    bar.setAttribute('aria-label', path);
    told.append(bar, text);
    const glyph = make('span', 'ft', ending.toUpperCase());
    glyph.setAttribute('aria-hidden', 'true');
    const button = make('button', 'btn btn-q btn-s', words.tRemove);
    button.type = 'button';
    button.setAttribute('aria-label', `${words.tRemove}: ${path}`);
    side.append(button);
    row.append(glyph, name, told, side);
    const entry = { file, path, row, bar, text, button, state: 'ready' };
    button.addEventListener('click', () => {
      if (entry.state === 'failed') { entry.state = 'ready'; run(); return; }
      entries.splice(entries.indexOf(entry), 1);
      row.remove();
      tell();
    });
    const problem = problemOf(file, path);
    if (problem) refuse(entry, problem);
    entries.push(entry);
    list.append(row);
  };
  const refuse = (entry, problem) => {
    entry.state = 'refused';
    entry.bar.hidden = true;
    entry.text.textContent = problem;
    entry.text.className = 'xs bad';
  };
  const tell = () => {
    const ready = entries.filter(entry => entry.state === 'ready').length, refused = entries.filter(entry => entry.state === 'refused').length;
    const sent = entries.filter(entry => entry.state === 'sent').length;
    part('chosen').hidden = !entries.length;
    part('count').textContent = `${words.tChosen} · ${entries.length}`;
    const sentence = [ready || !sent ? `${ready} ${words.tReady}` : '', sent ? `${sent} ${words.tSent}` : '', refused ? `${refused} ${words.tLeft}` : ''].filter(Boolean).join(' · ');
    part('summary').textContent = sentence;
    part('say').textContent = entries.length ? sentence : '';
    send.disabled = busy || !ready;
  };

  for (const type of ['dragenter', 'dragover']) zone.addEventListener(type, event => { event.preventDefault(); event.stopImmediatePropagation(); zone.classList.add('over'); }, true);
  zone.addEventListener('dragleave', event => { event.preventDefault(); zone.classList.remove('over'); }, true);
  zone.addEventListener('drop', async event => {
    event.preventDefault();
    event.stopImmediatePropagation();
    zone.classList.remove('over');
    const roots = [...event.dataTransfer.items].map(item => item.webkitGetAsEntry?.()).filter(Boolean);   // only valid in this turn
    const plain = [...event.dataTransfer.files];
    if (roots.length) for (const root of roots) await walk(root);
    else plain.forEach(file => add(file, file.name));
    tell();
  }, true);
  async function walk(entry) {
    const path = entry.fullPath.replace(/^\//, '');
    if (entry.isFile) {
      try { add(await new Promise((done, fail) => entry.file(done, fail)), path); } catch { /* gone or unreadable since it was dropped */ }
      return;
    }
    const reader = entry.createReader();
    for (;;) {   // a reader gives 100 entries at a time
      const some = await new Promise((done, fail) => reader.readEntries(done, fail)).catch(() => []);
      if (!some.length) return;
      for (const child of some) await walk(child);
    }
  }
  form.querySelectorAll('input[type=file]').forEach(input => input.addEventListener('change', () => {
    [...input.files].forEach(file => add(file, file.webkitRelativePath || file.name));
    input.value = '';
    tell();
  }));
  part('clear').addEventListener('click', () => { entries.length = 0; list.replaceChildren(); tell(); });

  // --- sending
  let batch = null;
  addEventListener('beforeunload', event => { if (busy) event.preventDefault(); });
  form.addEventListener('submit', event => { event.preventDefault(); run(); });

  async function run() {
    if (busy || !entries.some(entry => entry.state === 'ready')) return;
    busy = true;
    complain('');
    tell();
    try {
      batch ??= await open();
      await Promise.all([work(), work()]);
    } catch (error) { complain(error.message); }
    busy = false;
    tell();
    if (batch && !entries.some(entry => ['failed', 'refused', 'ready'].includes(entry.state))) location.assign(batch.page);
    else if (batch) offer();
  }
  async function open() {
    const body = new FormData(form);
    body.delete('files');
    let response;
    try { response = await fetch(form.action, { method: 'POST', body, headers: { Accept: 'application/json' } }); }
    catch { throw new Error(words.tBroken); }
    const answer = await response.json().catch(() => ({}));
    if (!response.ok) throw new Error(answer.problem || answer.error?.message || words.tSession);
    form.querySelectorAll('select,input[name=viewers],[data-meta] input').forEach(field => { field.disabled = true; });   // the batch has them now
    return answer;
  }
  async function work() {
    for (let entry; (entry = entries.find(candidate => candidate.state === 'ready'));) {
      await deliver(entry);
      if (entry.state === 'ready') await new Promise(done => setTimeout(done, 1000 * entry.pause));   // the queue is full
    }
  }
  function deliver(entry) {
    entry.state = 'sending';
    entry.button.hidden = true;
    return new Promise(done => {
      const request = new XMLHttpRequest(), body = new FormData();
      body.set('csrfmiddlewaretoken', form.querySelector('[name=csrfmiddlewaretoken]').value);
      body.set('path', entry.path.includes('/') ? entry.path : '');
      body.set('file', entry.file, entry.file.name);
      request.upload.addEventListener('progress', event => {
        entry.bar.value = event.loaded / event.total;
        entry.text.textContent = `${words.tSending} · ${size(Math.min(event.loaded, entry.file.size))} / ${size(entry.file.size)}`;
      });
      request.addEventListener('loadend', () => {
        let answer = {};
        try { answer = JSON.parse(request.responseText); } catch { /* an error page */ }
        if (request.status === 201) {
          entry.state = 'sent';
          entry.bar.value = 1;
          entry.text.textContent = answer.text;
          entry.text.className = 'xs ok';
        } else if (request.status === 429) {
          entry.state = 'ready';
          entry.pause = Number(request.getResponseHeader('Retry-After')) || 15;
          entry.bar.value = 0;
          entry.text.textContent = `${answer.text} ${words.tLater}`;
        } else if (answer.outcome === 'refused') refuse(entry, answer.text);
        else {
          entry.state = 'failed';
          entry.text.textContent = answer.text || (request.status ? words.tSession : words.tBroken);
          entry.text.className = 'xs bad';
          entry.button.textContent = words.tRetry;
          entry.button.hidden = false;
        }
        done();
      });
      request.open('POST', batch.files);
      request.send(body);
    });
  }
  const complain = text => { part('problem').hidden = !text; part('problem').textContent = text; };
  const offer = () => {
    const summary = part('summary');
    const link = make('a', 'btn btn-s btn-p', form.dataset.tBatch);
    link.href = batch.page;
    summary.append(' ', link);
  };
  tell();
}
