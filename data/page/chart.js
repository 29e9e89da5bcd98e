// Line chart of levels as SVG, with a readout of the session under the pointer.
const WIDTH = 800;
const HEIGHT = 320;
const LEFT = 56;
const BOTTOM = 24;

const create = (name, attributes, text) => {
  const made = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
};

/** Returns four to nine round values that cover a range. */
function listTicks(low, high) {
  const rough = (high - low) / 5 || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough);
  const ticks = [];
  for (let tick = Math.ceil(low / step) * step; tick <= high; tick += step) ticks.push(Number(tick.toPrecision(12)));
  return ticks;
}

/** Draws levels by date into a figure. */
export function drawChart(figure, { dates, levels }) {
  const [low, high] = [Math.min(...levels), Math.max(...levels)];
  const x = (t) => LEFT + ((WIDTH - LEFT) * t) / Math.max(dates.length - 1, 1);
  const y = (level) => 8 + (HEIGHT - BOTTOM - 16) * (1 - (level - low) / (high - low || 1));
  const label = `Levels from ${dates[0]} to ${dates.at(-1)}, between ${low.toFixed(2)} and ${high.toFixed(2)}`;
  const svg = create('svg', { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: 'img', 'aria-label': label });
  for (const tick of listTicks(low, high))
    svg.append(
      create('line', { class: 'grid', x1: LEFT, x2: WIDTH, y1: y(tick), y2: y(tick) }),
      create('text', { x: LEFT - 6, y: y(tick) + 4, 'text-anchor': 'end' }, String(tick)),
    );
  for (const [t, day] of dates.entries())
    if (t > 0 && day.slice(0, 4) !== dates[t - 1].slice(0, 4))
      svg.append(create('text', { x: x(t), y: HEIGHT - 6, 'text-anchor': 'middle' }, day.slice(0, 4)));
  const points = levels.map((level, t) => `${x(t).toFixed(1)},${y(level).toFixed(1)}`);
  const cursor = create('line', { class: 'cursor', y1: 0, y2: HEIGHT - BOTTOM, visibility: 'hidden' });
  svg.append(create('polyline', { class: 'level', points: points.join(' ') }), cursor);
  const caption = document.createElement('figcaption');
  const show = (t) => (caption.textContent = `${dates[t]}: ${levels[t]}`);
  show(dates.length - 1);
  svg.addEventListener('pointermove', ({ clientX }) => {
    const { left, width } = svg.getBoundingClientRect();
    const share = (((clientX - left) / width) * WIDTH - LEFT) / (WIDTH - LEFT);
    const t = Math.round(Math.min(Math.max(share, 0), 1) * (dates.length - 1));
    for (const end of ['x1', 'x2']) cursor.setAttribute(end, x(t));
    cursor.setAttribute('visibility', 'visible');
    show(t);
  });
  figure.replaceChildren(svg, caption);
}
