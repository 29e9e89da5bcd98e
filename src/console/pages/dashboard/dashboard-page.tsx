import { useEffect, useRef, useState } from 'preact/hooks';
import { AddSelect } from '../../components/add-select.js';
import { Button } from '../../components/button.js';
import { EmptyState } from '../../components/empty-state.js';
import { Icon } from '../../components/icon.js';
import { Page } from '../../components/page.js';
import { addPin, pins, PINS_MAX, setPins, type Pin } from '../../state/dashboard.js';
import { partName } from '../../state/part.js';
import { addressOf } from '../../state/place.js';
import { useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { indexAddress } from '../../words/addresses.js';
import { countValues } from '../../words/numbers.js';
import './dashboard.css';

/** Page of charts, tables and figures that were pinned on other pages. */
export function DashboardPage() {
  const all = pins.value;
  const [dragged, setDragged] = useState<string | null>(null);
  const move = (id: string, to: number) => {
    const from = all.findIndex((one) => one.id === id);
    const one = all[from];
    if (one !== undefined) setPins(all.toSpliced(from, 1).toSpliced(Math.max(0, to), 0, one));
  };
  return (
    <Page
      title="Dashboard"
      subtitle={all.length === 0 ? undefined : `${countValues(all.length, 'part')}, kept in this browser`}
      actions={all.length < PINS_MAX && <AddPart />}
    >
      {all.length === 0 ? (
        <Empty />
      ) : (
        <ul class="dashboard">
          {all.map((one, k) => (
            <li
              key={one.id}
              class={`dashboard-pin wide-${one.width}`}
              onDragOver={(event) => dragged !== null && event.preventDefault()}
              onDrop={(event) => {
                event.preventDefault();
                if (dragged !== null) move(dragged, k);
                setDragged(null);
              }}
            >
              <header
                draggable
                onDragStart={(event) => {
                  event.dataTransfer?.setData('text/plain', one.part);
                  setDragged(one.id);
                }}
                onDragEnd={() => setDragged(null)}
              >
                <h2>
                  <a href={one.address}>{titleOf(one)}</a>{' '}
                  {!one.part.toLowerCase().includes(one.page.toLowerCase()) && <span class="quiet">{one.page}</span>}
                </h2>
                <PinButtons one={one} at={k} last={all.length - 1} onMove={(to) => move(one.id, to)} />
              </header>
              <PinFrame one={one} />
            </li>
          ))}
        </ul>
      )}
    </Page>
  );
}

/**
 * Parts of an index page that can be added from the dashboard. Part names equal the names of the charts and tables on
 * the index page.
 */
const PARTS = [
  { text: 'Level', tab: 'performance', part: (id: string) => `Level of ${id}`, width: 2 },
  { text: 'Drawdown', tab: 'performance', part: () => 'Drawdown', width: 1 },
  { text: 'Figures', tab: 'performance', part: () => partName('Figures from 2000-01-01 to 2000-01-01'), width: 2 },
  { text: 'Constituents', tab: 'constituents', part: (id: string) => `constituents of ${id}`, width: 1 },
  { text: 'Rolling risk', tab: 'risk', part: () => 'Rolling risk', width: 2 },
  { text: 'Rebalances', tab: 'rebalances', part: (id: string) => `rebalances of ${id}`, width: 2 },
] as const;

/** Starter set, as positions in `PARTS`. */
const STARTERS = [0, 2, 3, 1] as const;

const useRuns = () => useResource('backtests', (signal) => service.value.call('listBacktests', { signal }));

function addPart(id: string, at: number): void {
  const { tab, part, width } = PARTS[at]!; // `at` is a position in `PARTS`
  const address = addressOf(indexAddress(id), { tab: tab === 'performance' ? null : tab });
  addPin({ address, part: part(id), page: id, width });
}

/** Maximum number of runs compared in the overview. */
const OVERVIEW_RUNS = 4;

/** Pins the table of all indices and a comparison of the first runs. */
function addOverview(ids: readonly string[]): void {
  const compared = addressOf('/console/compare', { ids: ids.slice(0, OVERVIEW_RUNS).join(',') });
  addPin({ address: '/', part: 'indices', page: 'Indices', width: 3 });
  if (ids.length < 2) return;
  addPin({ address: compared, part: 'Levels compared', page: 'Compare', width: 2 });
  addPin({ address: compared, part: 'Drawdowns compared', page: 'Compare', width: 1 });
  addPin({ address: compared, part: 'returns by calendar year', page: 'Compare', width: 3 });
}

/** Renders an explanation of the page, and buttons that add starter sets for all indices and for one index. */
function Empty() {
  const ids = (useRuns().data?.backtests ?? []).map(({ index_id: id }) => id);
  return (
    <EmptyState
      title="Nothing is pinned yet"
      action={
        ids.length > 0 && (
          <>
            <Button kind="main" onClick={() => addOverview(ids)}>
              Start with an overview
            </Button>
            <AddSelect
              label="Start with an index"
              prompt="Start with an index"
              options={ids.map((id) => ({ value: id, text: id }))}
              onAdd={(id) => STARTERS.forEach((at) => addPart(id, at))}
            />
          </>
        )
      }
    >
      {ids.length > 0
        ? 'Start with all indices and a comparison of their runs, or with level, figures, constituents and drawdown of one index.'
        : 'Run an index first: its level, figures and constituents are then added here with one choice.'}{' '}
      To add a chart or table of another page, choose <strong>Pin to the dashboard</strong> in its menu (⋯) or under{' '}
      <strong>Views</strong> (the star above). Parts stay up to date and keep their range.
    </EmptyState>
  );
}

/** Renders a selector that adds a part of an index that has a run. */
function AddPart() {
  const options = (useRuns().data?.backtests ?? []).flatMap(({ index_id: id }) =>
    PARTS.map(({ text }, k) => ({ value: `${k} ${id}`, text: `${id}: ${text}` })),
  );
  if (options.length === 0) return null;
  return (
    <AddSelect
      label="Add to the dashboard"
      prompt="+ Add"
      options={options}
      onAdd={(value) => {
        const [k = '', id = ''] = value.split(' ');
        addPart(id, Number(k));
      }}
    />
  );
}

const WIDTHS = { 1: 'Narrow', 2: 'Medium', 3: 'Wide' } as const;

/** Returns the name of a part without dates, such as `Constituents of CORE` or `Figures`. */
const titleOf = ({ part }: Pin): string => {
  const text = part.replace(' from … to …', '');
  return text.charAt(0).toUpperCase() + text.slice(1);
};

interface PinButtonsProps {
  readonly one: Pin;
  readonly at: number;
  readonly last: number;
  onMove(to: number): void;
}

function PinButtons({ one, at, last, onMove }: PinButtonsProps) {
  const { part, width } = one;
  const change = (next: Pin['width']) =>
    setPins(pins.value.map((other) => (other.id === one.id ? { ...other, width: next } : other)));
  return (
    <span class="dashboard-acts">
      <Button kind="bare" aria-label={`Move ${part} back`} disabled={at === 0} onClick={() => onMove(at - 1)}>
        <Icon name="up" />
      </Button>
      <Button kind="bare" aria-label={`Move ${part} on`} disabled={at === last} onClick={() => onMove(at + 1)}>
        <Icon name="down" />
      </Button>
      <Button
        kind="bare"
        aria-label={`Width of ${part}: ${width} of 3 columns`}
        title="Change the width"
        onClick={() => change(width === 3 ? 1 : width === 2 ? 3 : 2)}
      >
        {WIDTHS[width]}
      </Button>
      <Button
        kind="bare"
        aria-label={`Remove ${part}`}
        onClick={() => setPins(pins.value.filter(({ id }) => id !== one.id))}
      >
        <Icon name="close" />
      </Button>
    </span>
  );
}

/** Height in pixels before the content is loaded, and maximum height, above which the content scrolls. */
const FIRST_HEIGHT = 220;
const HEIGHT_MAX = 640;

/**
 * Renders the pinned part in an iframe with the address and date range of its page. The frame is as high as its
 * content.
 */
function PinFrame({ one }: { readonly one: Pin }) {
  const frame = useRef<HTMLIFrameElement>(null);
  const [height, setHeight] = useState(FIRST_HEIGHT);
  const [loads, setLoads] = useState(0);
  useEffect(() => {
    const body = frame.current?.contentDocument?.getElementById('main');
    if (body == null) return undefined;
    const observer = new ResizeObserver(
      () => body.scrollHeight > 0 && setHeight(Math.min(HEIGHT_MAX, body.scrollHeight)),
    );
    observer.observe(body);
    return () => observer.disconnect();
  }, [loads]);
  const [path, query = ''] = one.address.split('?');
  const address = new URLSearchParams(query);
  address.set('part', one.part);
  return (
    <iframe
      ref={frame}
      title={`${one.part}, ${one.page}`}
      src={`${path}?${address.toString()}`}
      loading="lazy"
      style={{ height: `${height}px` }}
      onLoad={() => setLoads((before) => before + 1)}
    />
  );
}
