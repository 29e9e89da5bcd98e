// The page with which the engine is tried without an installation. All numbers come from its worker.
import { drawChart } from './chart.js';

const byId = (id) => document.getElementById(id);
const worker = new Worker('worker.js', { type: 'module' });
const waiting = new Map();
let calls = 0;

/** Calls the engine in the worker. @throws the error of the engine, with code and detail */
function call(name, ...words) {
  const id = ++calls;
  worker.postMessage({ id, call: name, words });
  return new Promise((resolve, reject) => waiting.set(id, { resolve, reject }));
}
worker.onmessage = ({ data: { id, result, failure } }) => {
  const { resolve, reject } = waiting.get(id);
  waiting.delete(id);
  if (failure === undefined) resolve(result);
  else reject(failure);
};
worker.onerror = ({ message }) => showState('failed', `The engine could not be loaded: ${message}`);

function element(name, text, attributes = {}) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

function showState(state, text) {
  byId('result').dataset.state = state;
  byId('state').textContent = text;
  byId('state').className = state === 'failed' ? 'wrong' : '';
}

const percent = (value) => (value === null || value === undefined ? 'none' : `${(100 * value).toFixed(2)}%`);
const showFacts = (list, rows) =>
  list.replaceChildren(...rows.flatMap(([name, value]) => [element('dt', name), element('dd', value)]));

let examples;
let securities;
/** The result on the page, and the names of its securities. */
let run;
let names;

/** Parses the text of the editor. Returns the document, or the error with its position. */
function readDocument() {
  const text = byId('document').value;
  try {
    const value = JSON.parse(text);
    if (value !== null && typeof value === 'object' && !Array.isArray(value)) return { value };
    return { error: 'The document is not a JSON object.', position: 0 };
  } catch (failure) {
    const position = Number(/position (\d+)/.exec(failure.message)?.[1] ?? text.length);
    const line = text.slice(0, position).split('\n').length;
    return { error: `Line ${line}: ${failure.message}`, position };
  }
}

/** Returns the range of the value at a path such as `pipeline.selection[0].type`, or of its longest part that exists. */
function findRange(text, path) {
  const steps = path.match(/[^.[\]]+/g) ?? [];
  let range = { from: 0, to: text.length };
  const stack = [{ keys: [], index: 0, isList: false }];
  let found = 0;
  const token = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g;
  let key;
  for (let match = token.exec(text); match !== null; match = token.exec(text)) {
    const top = stack.at(-1);
    const [word] = match;
    const isKey = word.startsWith('"') && /^\s*:/.test(text.slice(token.lastIndex));
    if (isKey) key = JSON.parse(word);
    else if (word === ',') top.index++;
    if (isKey || (top.isList && !/[,\]}:]/.test(word))) {
      const here = [...top.keys, isKey ? key : String(top.index)];
      const isPart = here.every((step, k) => step === steps[k]);
      if (isPart && here.length > found) {
        found = here.length;
        range = { from: match.index, to: token.lastIndex };
      }
    }
    if (word === '{' || word === '[') {
      const keys = stack.length === 1 ? [] : [...top.keys, top.isList ? String(top.index) : key];
      stack.push({ keys, index: 0, isList: word === '[' });
    } else if (word === '}' || word === ']') stack.pop();
  }
  return range;
}

function select({ from, to }) {
  const editor = byId('document');
  editor.focus();
  editor.setSelectionRange(from, to);
}

function showFindings(findings) {
  const text = byId('document').value;
  byId('findings').replaceChildren(
    ...findings.map(({ severity, path, message, position }) => {
      const item = element('li', undefined, { 'data-severity': severity });
      const button = element('button', path ? `${path}: ${message}` : message, { type: 'button' });
      const range = position === undefined ? findRange(text, path ?? '') : { from: position, to: position + 1 };
      button.addEventListener('click', () => select(range));
      item.append(button);
      return item;
    }),
  );
}

let checks = 0;
/** Validates the document. Returns it if it has no errors. */
async function validate() {
  const check = ++checks;
  const { value, error, position } = readDocument();
  const findings =
    error === undefined ? await call('validate', value) : [{ severity: 'error', message: error, position }];
  if (check !== checks) return undefined;
  showFindings(findings);
  const isSound = findings.every(({ severity }) => severity !== 'error');
  byId('run').disabled = !isSound;
  return isSound ? value : undefined;
}

async function compute() {
  const definition = await validate();
  if (definition === undefined) return showState('failed', 'The document has errors: they are listed below it.');
  showState('running', 'Computing …');
  try {
    run = await call('run', definition);
  } catch ({ message, detail }) {
    showFindings(detail?.findings ?? []);
    return showState('failed', message);
  }
  const { dates, levels, metrics, rebalances, variant, findings } = run;
  showState('done', `${run.index_id}: ${definition.name}`);
  drawChart(byId('chart'), { dates, levels });
  showFacts(byId('figures'), [
    ['Last level', `${levels.at(-1)} on ${dates.at(-1)} (${variant} return)`],
    ['Annualised return', percent(metrics.annualised_return)],
    ['Volatility', percent(metrics.volatility)],
    ['Largest drawdown', percent(metrics.max_drawdown)],
    ['Rebalances', String(rebalances.length)],
  ]);
  // The definition and its run report the same default.
  const shown = findings.filter(({ message }, k) => findings.findIndex((other) => other.message === message) === k);
  byId('warnings').replaceChildren(
    ...shown.map(({ severity, code, message }) => element('li', `${code}: ${message}`, { 'data-severity': severity })),
  );
  showHash(definition);
  Object.assign(byId('day'), { min: dates[0], max: dates.at(-1), value: rebalances.at(-1) ?? dates[0] });
  return showComposition();
}

/** Compares the hash of the result with that of the same definition in Node, if the definition is an unchanged example. */
function showHash(definition) {
  const { node, platform, hashes } = examples.built;
  const isExample = examples.indices.some((each) => JSON.stringify(each) === JSON.stringify(definition));
  const expected = isExample ? hashes[definition.id] : undefined;
  const line = byId('hash');
  line.replaceChildren('SHA-256 of every number of the result: ', element('code', run.hash));
  line.className = '';
  if (expected === undefined) return line.append('. Equal hashes mean identical bits, on every machine.');
  const isEqual = expected === run.hash;
  line.className = isEqual ? 'right' : 'wrong';
  const place = `Node ${node} on ${platform}, when this page was built`;
  return line.append(
    isEqual
      ? `. Bit for bit equal to the result of ${place}.`
      : `. It DIFFERS from the result of ${place}: ${expected}.`,
  );
}

async function showComposition() {
  const day = byId('day').value;
  if (run === undefined || day === '') return;
  try {
    const { assets, steps, resolved_date: resolved } = await call('preview', run.index_id, day);
    const included = assets.filter(({ included: isIncluded }) => isIncluded);
    const funnel = (steps ?? [])
      .map(({ rule_id: rule, remaining }) => `${rule ?? 'universe'} ${remaining}`)
      .join(' → ');
    byId('steps').textContent = `Decided on ${resolved}: ${funnel || `${included.length} holdings`}`;
    const head = element('tr');
    head.append(element('th', 'Security'), element('th', 'Name'), element('th', 'Sector'), element('th', 'Weight'));
    byId('weights').replaceChildren(head, ...included.map(createRow));
    const options = assets.map(({ identifier }) =>
      element('option', `${identifier} ${names.get(identifier)?.name ?? ''}`, { value: identifier }),
    );
    byId('security').replaceChildren(...options);
    await showExplanation();
  } catch ({ message }) {
    byId('steps').textContent = message;
    byId('weights').replaceChildren();
  }
}

function createRow({ identifier, weight, capped }) {
  const { name = '', sector = '' } = names.get(identifier) ?? {};
  const row = element('tr');
  const cell = element('td');
  const button = element('button', identifier, { type: 'button' });
  button.addEventListener('click', () => {
    byId('security').value = identifier;
    void showExplanation();
  });
  cell.append(button);
  row.append(cell, element('td', name), element('td', sector));
  row.append(element('td', `${percent(weight)}${capped ? ' (capped)' : ''}`, { class: 'number' }));
  return row;
}

const round = (value) => (typeof value === 'number' ? String(Number(value.toPrecision(8))) : String(value));

async function showExplanation() {
  const identifier = byId('security').value;
  if (identifier === '') return;
  try {
    showReasons(await call('explain', run.index_id, identifier, byId('day').value));
  } catch ({ message }) {
    byId('reasons').replaceChildren(element('p', message));
  }
}

function showReasons({
  identifier,
  included,
  excluded_by: rule,
  decision_date: decided,
  rebalance_date: effective,
  ...why
}) {
  const { rules = [], weighting, capping, datapoints = [], decided_weight: decision, held_weight: held } = why;
  const verdict = included
    ? 'is in the index'
    : `is not in the index${rule === null ? '' : `: the rule ${rule} excluded it`}`;
  const facts = [
    ['Decided', `${decided}, effective on ${effective}`],
    ...datapoints.map(({ field, value, to }) => [field, `${round(value)} on ${to}`]),
    ...rules.map(({ rule_id: id, test, value, rank, kept }) => [
      id,
      `${test}: ${round(value)}${rank === null ? '' : `, rank ${rank}`}; ${kept ? 'kept' : 'excluded'}`,
    ]),
  ];
  if (weighting)
    facts.push([
      'Raw weight',
      `${weighting.formula} = ${round(weighting.raw)} of ${round(weighting.raw_total)}: ${percent(weighting.uncapped_weight)}`,
    ]);
  if (capping?.cap)
    facts.push([
      'Cap',
      `${percent(capping.cap)}${capping.capped ? ', which limits the weight' : ''}; scale ${round(capping.scale)}`,
    ]);
  facts.push(['Decided weight', percent(decision)], ['Weight at the close', percent(held)]);
  const list = element('dl');
  showFacts(list, facts);
  byId('reasons').replaceChildren(element('p', `${identifier} ${verdict}.`), list);
}

async function verify(file) {
  const verdict = byId('verdict');
  verdict.replaceChildren(element('p', 'Computing every close again …'));
  try {
    const {
      ok,
      index_id: index,
      closes,
      faults,
      published_by: publisher,
    } = await call('verify', new Uint8Array(await file.arrayBuffer()));
    const title = ok
      ? `${index}: ${closes} closes are equal bit for bit. Published by version ${publisher}.`
      : `${faults.length} faults`;
    verdict.replaceChildren(
      element('p', title, { class: ok ? 'right' : 'wrong' }),
      ...faults.slice(0, 20).map(({ message }) => element('p', message)),
    );
  } catch ({ message }) {
    verdict.replaceChildren(element('p', message, { class: 'wrong' }));
  }
}

function showExample(id) {
  byId('document').value = JSON.stringify(
    examples.indices.find((each) => each.id === id),
    null,
    2,
  );
  return compute();
}

async function open() {
  examples = await (await fetch('examples.json')).json();
  const market = await call('open', examples);
  securities = market.securities;
  names = new Map(securities.map((security) => [security.identifier, security]));
  byId('market').textContent =
    `A synthetic market: ${securities.length} securities, ${market.start} to ${market.end}. Version ${market.version}.`;
  byId('example').replaceChildren(
    ...examples.indices.map(({ id, name }) => element('option', `${id}: ${name}`, { value: id })),
  );
  byId('example').addEventListener('change', ({ target }) => void showExample(target.value));
  let pause;
  byId('document').addEventListener('input', () => {
    clearTimeout(pause);
    pause = setTimeout(validate, 250);
  });
  byId('run').addEventListener('click', () => void compute());
  byId('day').addEventListener('change', () => void showComposition());
  byId('security').addEventListener('change', () => void showExplanation());
  byId('bundle').addEventListener('change', ({ target }) => target.files[0] && void verify(target.files[0]));
  byId('example').value = 'CAPPED-25';
  await showExample('CAPPED-25');
}

await open().catch((failure) => showState('failed', failure.message));
