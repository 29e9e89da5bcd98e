// The page /verify: hands a bundle to a worker that recomputes its closes, and shows the verdict.
const result = document.getElementById('result');
const byId = (id) => document.getElementById(id);

function element(name, text) {
  const made = document.createElement(name);
  made.textContent = text;
  return made;
}

function show(state, title, parts = []) {
  result.dataset.state = state;
  result.replaceChildren(element('h2', title), ...parts);
}

let running;

/** The worker has a policy of its own: it can connect to nothing. */
function verify(bytes) {
  running?.terminate();
  const worker = (running = new Worker('/verify/worker.js', { type: 'module' }));
  show('running', 'Recomputing every close …');
  worker.onmessage = ({ data }) => {
    worker.terminate();
    showVerdict(data);
  };
  worker.onerror = (event) => show('faulty', 'The bundle could not be verified', [element('p', event.message)]);
  worker.postMessage(bytes, [bytes.buffer]);
}

function showVerdict(verdict) {
  const { ok, closes, faults, ms } = verdict;
  const isSigned = verdict.signatures === 'verified';
  const title = ok
    ? `${verdict.index_id}: ${closes} closes recomputed bit for bit`
    : `${verdict.index_id ?? 'The file'}: ${faults.length} ${faults.length === 1 ? 'fault' : 'faults'}`;
  const list = document.createElement('ol');
  list.append(...faults.map(({ message }) => element('li', message)));
  const facts = document.createElement('dl');
  const rows = [
    ['Dates', verdict.first === null ? 'none' : `${verdict.first} to ${verdict.last}`],
    ['Last entry of the log', verdict.head],
    ['Keys', verdict.key_ids.join(', ')],
    ['Signatures', isSigned ? 'verified' : 'not verified: open this page by HTTPS, or from this machine'],
    ['Engine', `${verdict.engine}; published by ${verdict.published_by}`],
    ['Time', `${(ms / 1000).toFixed(1)} s`],
  ];
  for (const [name, value] of rows) facts.append(element('dt', name), element('dd', value ?? 'unknown'));
  const note = 'Compare the last entry and the keys with those that the publisher states elsewhere.';
  show(ok ? 'sound' : 'faulty', title, [list, facts, element('p', note)]);
}

byId('file').addEventListener('change', async ({ target }) => {
  const [file] = target.files;
  if (file !== undefined) verify(new Uint8Array(await file.arrayBuffer()));
});

byId('from-service').addEventListener('submit', async (event) => {
  event.preventDefault();
  const [index, key] = [byId('index').value.trim(), byId('key').value];
  show('running', 'Loading the bundle …');
  const headers = { accept: 'application/x-tar', ...(key !== '' && { 'x-api-key': key }) };
  try {
    const answer = await fetch(`/analytics/${encodeURIComponent(index)}/published/bundle`, { headers });
    if (answer.ok) return verify(new Uint8Array(await answer.arrayBuffer()));
    const { error } = await answer.json();
    show('faulty', 'The service has no such bundle', [element('p', error.message)]);
  } catch (failure) {
    show('faulty', 'The bundle could not be loaded', [element('p', String(failure))]);
  }
});
